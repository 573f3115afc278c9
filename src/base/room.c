#include "base/room.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum {
  LEAST_PAGES = 2, /* of a slab */
  MOST_PAGES = 16,
  ALIGNMENT = 64,
};

typedef struct slab {
  struct slab* next;
  char* data;
  size_t size, used;
  size_t blocks; /* that are out */
} slab_t;

struct hone_room {
  hone_allocator_t interface; /* self points back here */
  const hone_allocator_t* base;
  pthread_mutex_t mutex;
  slab_t* slabs;
  size_t total;   /* bytes asked for so far */
  size_t holders; /* blocks that are out, and the owner until it destroys */
};

/* ---- slabs ---- */

static slab_t* slab_create(hone_room_t* room, size_t size) {
  slab_t* slab = hone_alloc(room->base, sizeof *slab);
  if (!slab) return NULL;
  *slab = (slab_t){.next = room->slabs, .size = size};
  slab->data = room->base->resize(room->base->self, NULL, 0, size);
  if (!slab->data) {
    hone_free(room->base, slab, sizeof *slab);
    return NULL;
  }
  return room->slabs = slab;
}

/* Drops a block of the slab, and with the last one the slab. */
static void slab_drop(hone_room_t* room, slab_t** link) {
  slab_t* slab = *link;
  if (--slab->blocks) return;
  *link = slab->next;
  hone_free(room->base, slab->data, slab->size);
  hone_free(room->base, slab, sizeof *slab);
}

static slab_t* find_space(hone_room_t* room, size_t size) {
  for (slab_t* slab = room->slabs; slab; slab = slab->next)
    if (slab->size - slab->used >= size) return slab;
  return NULL;
}

/* A quarter of what there is already, so that little stays empty. */
static size_t next_slab(const hone_room_t* room) {
  size_t pages = room->total / 4 / HONE_LARGE_PAGE;
  pages = pages < LEAST_PAGES ? LEAST_PAGES : pages > MOST_PAGES ? MOST_PAGES : pages;
  return pages * HONE_LARGE_PAGE;
}

/* What is large has a slab of whole pages by itself; others fill what it leaves of them. */
static size_t slab_for(const hone_room_t* room, size_t size) {
  size_t next = next_slab(room), pages = (size + HONE_LARGE_PAGE - 1) / HONE_LARGE_PAGE;
  return size <= next / 2 ? next : pages * HONE_LARGE_PAGE;
}

static void* take_from_slab(hone_room_t* room, size_t size) {
  slab_t* slab = find_space(room, size);
  if (!slab) slab = slab_create(room, slab_for(room, size));
  if (!slab) return NULL;
  void* block = slab->data + slab->used;
  slab->used += size;
  slab->blocks++;
  return block;
}

/* ---- blocks ---- */

/* What is small altogether is the base's; so is what would leave much of a slab empty or finds
 * none. */
static void* take(hone_room_t* room, size_t size) {
  void* block = NULL;
  bool has_end = size <= SIZE_MAX - HONE_LARGE_PAGE;
  size_t rounded = has_end ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : SIZE_MAX;
  room->total += has_end && room->total < SIZE_MAX / 2 ? rounded : 0;
  bool fills_slab =
      rounded >= LEAST_PAGES * (size_t)HONE_LARGE_PAGE || rounded <= next_slab(room) / 2;
  if (has_end && room->total >= HONE_LARGE_PAGE && fills_slab)
    block = take_from_slab(room, rounded);
  if (!block) block = room->base->resize(room->base->self, NULL, 0, size);
  room->holders += block != NULL;
  return block;
}

static void give(hone_room_t* room, void* block, size_t size) {
  slab_t** link = &room->slabs;
  uintptr_t at = (uintptr_t)block;
  while (*link && at - (uintptr_t)(*link)->data >= (*link)->size) link = &(*link)->next;
  if (*link)
    slab_drop(room, link);
  else
    hone_free(room->base, block, size);
  room->holders--;
}

/* Unlocks, and frees the room with its last holder. */
static void leave(hone_room_t* room) {
  bool is_last = room->holders == 0;
  pthread_mutex_unlock(&room->mutex);
  if (!is_last) return;
  pthread_mutex_destroy(&room->mutex);
  hone_free(room->base, room, sizeof *room);
}

static void* room_resize(void* self, void* old, size_t old_size, size_t new_size) {
  hone_room_t* room = self;
  pthread_mutex_lock(&room->mutex);
  void* fresh = new_size ? take(room, new_size) : NULL;
  bool failed = new_size && !fresh;
  if (old && fresh) memcpy(fresh, old, old_size < new_size ? old_size : new_size);
  if (old && !failed) give(room, old, old_size);
  leave(room);
  return fresh;
}

hone_status_t hone_room_create(const hone_allocator_t* base, hone_room_t** out_room) {
  *out_room = NULL;
  if (!base) base = hone_allocator_system();
  hone_room_t* room = hone_alloc(base, sizeof *room);
  if (!room) return hone_oom();
  room->interface = (hone_allocator_t){.self = room, .resize = room_resize};
  room->base = base;
  room->holders = 1;
  pthread_mutex_init(&room->mutex, NULL);
  *out_room = room;
  return NULL;
}

void hone_room_destroy(hone_room_t* room) {
  if (!room) return;
  pthread_mutex_lock(&room->mutex);
  room->holders--;
  leave(room);
}

const hone_allocator_t* hone_room_allocator(hone_room_t* room) { return &room->interface; }
