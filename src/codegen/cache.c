#include "codegen/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

enum {
  FILE_NAME_SIZE = 64,
  KEY_DIGITS = 32,
  STRAY_AGE_S = 3600, /* a file of a writer may be this old before it counts as left over */
};

static const char entry_suffix[] = ".entry", stray_mark[] = ".entry.tmp-";

/* What an entry's file starts with; the data follow. */
typedef struct entry_header {
  char magic[8];
  hone_cache_key_t key;
  uint64_t size, data_hash;
  uint64_t header_hash; /* of all before it */
} entry_header_t;

static const char magic[8] = {'h', 'o', 'n', 'e', 'k', 'c', '0', '1'};

struct hone_cache {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  const char* name; /* for messages */
  const char* folder;
  uint64_t limit;
  atomic_bool complained; /* about a folder that cannot be used */
  pthread_mutex_t lock;
  bool measured; /* `bytes` is known */
  uint64_t bytes;
};

/* ---- where ---- */

typedef struct kind {
  const char *name, *usual;
  uint64_t limit;
} kind_t;

static const kind_t kinds[] = {
    [HONE_CACHE_KERNELS] = {"kernel cache", "hone/kernels", HONE_CACHE_LIMIT},
    [HONE_CACHE_ENGINES] = {"engine cache", "hone/engines", HONE_ENGINE_CACHE_LIMIT},
};

/* What a variable says; NULL: nothing. */
static const char* said(const char* variable) {
  const char* value = getenv(variable);
  return value && *value ? value : NULL;
}

bool hone_cache_is_on(hone_cache_kind_t kind) {
  const char* value = said("HONE_ENGINE_CACHE");
  return kind != HONE_CACHE_ENGINES || !value || strcmp(value, "off") != 0;
}

static const char* usual_folder(hone_cache_kind_t kind, hone_arena_t* arena) {
  const char* path = kind == HONE_CACHE_ENGINES ? said("HONE_ENGINE_CACHE") : NULL;
  if (path && hone_cache_is_on(kind)) return hone_arena_strdup(arena, path);
  path = said("HONE_CACHE");
  if (path && kind == HONE_CACHE_ENGINES) return hone_path_join(arena, path, "engines");
  if (path) return hone_arena_strdup(arena, path);
  path = said("XDG_CACHE_HOME");
  if (path && *path == '/') return hone_path_join(arena, path, kinds[kind].usual);
  path = said("HOME");
  const char* home = hone_path_join(arena, path ? path : "/tmp", ".cache");
  return home ? hone_path_join(arena, home, kinds[kind].usual) : NULL;
}

hone_status_t hone_cache_open(const hone_allocator_t* allocator, hone_cache_kind_t kind,
                              const char* folder, uint64_t limit, hone_cache_t** out_cache) {
  *out_cache = NULL;
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_cache_t* cache = hone_arena_alloc(arena, sizeof *cache);
  const char* path = folder ? hone_arena_strdup(arena, folder) : usual_folder(kind, arena);
  if (!cache || !path) {
    hone_arena_destroy(arena);
    return hone_oom();
  }
  cache->allocator = allocator;
  cache->arena = arena;
  cache->name = kinds[kind].name;
  cache->folder = path;
  cache->limit = limit ? limit : kinds[kind].limit;
  pthread_mutex_init(&cache->lock, NULL);
  *out_cache = cache;
  return NULL;
}

void hone_cache_close(hone_cache_t* cache) {
  if (!cache) return;
  pthread_mutex_destroy(&cache->lock);
  hone_arena_destroy(cache->arena);
}

const char* hone_cache_folder(const hone_cache_t* cache) { return cache->folder; }

static void complain(hone_cache_t* cache, const char* what, const char* why) {
  if (atomic_exchange(&cache->complained, true)) return;
  hone_log_write(HONE_LOG_WARNING, "%s %s: %s: %s; going on without it", cache->name, cache->folder,
                 what, why);
}

/* Whoever can write to the folder can put code into this process. */
static bool is_trusted(hone_cache_t* cache, int folder) {
  struct stat info;
  if (fstat(folder, &info)) return false;
  bool mine = info.st_uid == geteuid() || info.st_uid == 0;
  if (mine && !(info.st_mode & S_IWOTH)) return true;
  complain(cache, "not used", "others may write to it");
  return false;
}

/* The folder's descriptor; -1 when there is none (or it cannot be used). */
static int open_folder(hone_cache_t* cache) {
  int folder = open(cache->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno != ENOENT) complain(cache, "cannot be opened", strerror(errno));
  if (folder >= 0 && !is_trusted(cache, folder)) {
    close(folder);
    return -1;
  }
  return folder;
}

/* The same, making it and the folders above it. */
static int make_folder(hone_cache_t* cache) {
  char path[PATH_MAX];
  size_t length = strlen(cache->folder);
  if (length >= sizeof path) return -1;
  memcpy(path, cache->folder, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i]) continue;
    char after = path[i];
    path[i] = 0;
    if (mkdir(path, 0700) && errno != EEXIST && errno != EISDIR) {
      complain(cache, "cannot be made", strerror(errno));
      return -1;
    }
    path[i] = after;
  }
  return open_folder(cache);
}

static void entry_name(hone_cache_key_t key, char* name) {
  snprintf(name, FILE_NAME_SIZE, "%016" PRIx64 "%016" PRIx64 "%s", key.high, key.low, entry_suffix);
}

static bool has_key(const char* name) { return strspn(name, "0123456789abcdef") == KEY_DIGITS; }

static bool is_entry(const char* name) {
  return has_key(name) && strcmp(name + KEY_DIGITS, entry_suffix) == 0;
}

static bool is_stray(const char* name) {
  return has_key(name) && strncmp(name + KEY_DIGITS, stray_mark, sizeof stray_mark - 1) == 0;
}

/* ---- keys and entries ---- */

hone_cache_key_t hone_cache_key(int count, const void* const* parts, const size_t* sizes) {
  XXH128_hash_t hash = {0, 0};
  for (int i = 0; i < count; i++) {
    XXH128_hash_t part = XXH3_128bits_withSeed(parts[i], sizes[i], (XXH64_hash_t)i);
    uint64_t joined[] = {hash.low64, hash.high64, part.low64, part.high64, sizes[i]};
    hash = XXH3_128bits(joined, sizeof joined);
  }
  return (hone_cache_key_t){hash.low64, hash.high64};
}

static entry_header_t make_header(hone_cache_key_t key, const void* data, size_t size) {
  entry_header_t header = {.key = key, .size = size, .data_hash = XXH3_64bits(data, size)};
  memcpy(header.magic, magic, sizeof magic);
  header.header_hash = XXH3_64bits(&header, offsetof(entry_header_t, header_hash));
  return header;
}

static bool read_all(int fd, void* data, size_t size) {
  for (char* at = data; size;) {
    ssize_t got = read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= (size_t)got;
  }
  return true;
}

typedef enum entry_state { ENTRY_FOUND, ENTRY_DAMAGED, ENTRY_NO_MEMORY } entry_state_t;

static entry_state_t read_entry(int fd, hone_cache_key_t key, const hone_allocator_t* allocator,
                                char** out_data, size_t* out_size) {
  struct stat info;
  entry_header_t header, expected;
  if (fstat(fd, &info) || !S_ISREG(info.st_mode) || info.st_size < (off_t)sizeof header)
    return ENTRY_DAMAGED;
  size_t size = (size_t)info.st_size - sizeof header;
  char* data = hone_alloc(allocator, size ? size : 1);
  if (!data) return ENTRY_NO_MEMORY;
  bool whole = read_all(fd, &header, sizeof header) && read_all(fd, data, size);
  if (whole) expected = make_header(key, data, size);
  if (!whole || memcmp(&header, &expected, sizeof header) != 0 || size == 0) {
    hone_free(allocator, data, size ? size : 1);
    return ENTRY_DAMAGED;
  }
  *out_data = data;
  *out_size = size;
  return ENTRY_FOUND;
}

static int open_entry(int folder, const char* name) {
  return openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static void remove_damaged(hone_cache_t* cache, int folder, const char* name) {
  hone_log_write(HONE_LOG_WARNING, "%s %s: %s is damaged: removed", cache->name, cache->folder,
                 name);
  unlinkat(folder, name, 0);
}

static void mark_used(int fd) { futimens(fd, NULL); }

bool hone_cache_get(hone_cache_t* cache, hone_cache_key_t key, const hone_allocator_t* allocator,
                    char** out_data, size_t* out_size) {
  char name[FILE_NAME_SIZE];
  *out_data = NULL;
  *out_size = 0;
  int folder = open_folder(cache);
  if (folder < 0) return false;
  entry_name(key, name);
  bool found = false;
  int fd = open_entry(folder, name);
  if (fd >= 0) {
    entry_state_t state = read_entry(fd, key, allocator, out_data, out_size);
    found = state == ENTRY_FOUND;
    if (found) mark_used(fd);
    close(fd);
    if (state == ENTRY_DAMAGED) remove_damaged(cache, folder, name);
  }
  close(folder);
  return found;
}

bool hone_cache_map(hone_cache_t* cache, hone_cache_key_t key, hone_file_map_t* out_map) {
  char name[FILE_NAME_SIZE];
  *out_map = (hone_file_map_t){NULL, 0};
  int folder = open_folder(cache);
  if (folder < 0) return false;
  entry_name(key, name);
  int fd = open_entry(folder, name);
  close(folder);
  if (fd < 0) return false;
  hone_status_t status = hone_file_map_fd(fd, name, out_map);
  if (!status) mark_used(fd);
  close(fd);
  bool found = !status;
  hone_status_free(status);
  return found;
}

void hone_cache_drop(hone_cache_t* cache, hone_cache_key_t key) {
  char name[FILE_NAME_SIZE];
  int folder = open_folder(cache);
  if (folder < 0) return;
  entry_name(key, name);
  remove_damaged(cache, folder, name);
  close(folder);
}

/* A new file beside `name`, whose own name goes to `aside`. Numbers of processes are no names:
 * containers that share the folder may have the same. */
static int create_aside(int folder, const char* name, char aside[2 * FILE_NAME_SIZE]) {
  enum { ATTEMPTS = 100 };
  static atomic_uint serial;
  int fd = -1;
  for (int i = 0; i < ATTEMPTS && fd < 0; i++) {
    snprintf(aside, 2 * FILE_NAME_SIZE, "%s.tmp-%ld-%u", name, (long)getpid(),
             atomic_fetch_add(&serial, 1));
    fd = openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST && errno != EINTR) break;
  }
  return fd;
}

/* Writes the file aside and gives it its name. */
static bool write_entry(int folder, hone_cache_key_t key, int count, const hone_piece_t* pieces) {
  char name[FILE_NAME_SIZE], aside[2 * FILE_NAME_SIZE];
  entry_name(key, name);
  int fd = create_aside(folder, name, aside);
  if (fd < 0) return false;
  int error = hone_pieces_write(fd, count, pieces);
  if (close(fd) && !error) error = errno;
  if (!error && renameat(folder, aside, folder, name)) error = errno;
  if (error) unlinkat(folder, aside, 0);
  errno = error;
  return !error;
}

/* ---- the size limit ---- */

typedef struct cache_file {
  char name[2 * FILE_NAME_SIZE];
  struct timespec used;
  uint64_t size;
  bool stray;
} cache_file_t;

typedef struct listing {
  const hone_allocator_t* allocator;
  cache_file_t* files;
  size_t count, capacity;
  uint64_t entries, bytes;
} listing_t;

static bool listing_add(listing_t* listing, const cache_file_t* file) {
  if (listing->count == listing->capacity) {
    size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
    cache_file_t* files = hone_realloc(listing->allocator, listing->files,
                                       listing->capacity * sizeof *files, capacity * sizeof *files);
    if (!files) return false;
    listing->files = files;
    listing->capacity = capacity;
  }
  listing->files[listing->count++] = *file;
  listing->entries += !file->stray;
  listing->bytes += file->size;
  return true;
}

static void listing_free(listing_t* listing) {
  hone_free(listing->allocator, listing->files, listing->capacity * sizeof *listing->files);
}

/* Fills in what is known of a file; false when it is not one of the cache's. */
static bool look_at(int folder, const char* name, cache_file_t* out) {
  struct stat info;
  bool stray = is_stray(name);
  if ((!stray && !is_entry(name)) || strlen(name) >= sizeof out->name) return false;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode)) return false;
  *out = (cache_file_t){.used = info.st_mtim, .size = (uint64_t)info.st_size, .stray = stray};
  memcpy(out->name, name, strlen(name) + 1);
  return true;
}

/* All files of the cache. False when memory is out; what was found is there. */
static bool list_files(int folder, listing_t* listing) {
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? NULL : fdopendir(copy);
  if (!stream) {
    if (copy >= 0) close(copy);
    return true;
  }
  bool ok = true;
  for (struct dirent* entry; ok && (entry = readdir(stream));) {
    cache_file_t file;
    if (look_at(folder, entry->d_name, &file)) ok = listing_add(listing, &file);
  }
  closedir(stream);
  return ok;
}

static int oldest_first(const void* a, const void* b) {
  const cache_file_t *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
  if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* Removes files left over by dead writers, then the entries used longest ago,
 * down to nine tenths of the limit. The newest entry stays. */
static void evict(hone_cache_t* cache, int folder) {
  listing_t listing = {.allocator = cache->allocator};
  list_files(folder, &listing);
  uint64_t bytes = listing.bytes, goal = cache->limit - cache->limit / 10;
  bool over = bytes > cache->limit;
  int64_t old = (int64_t)time(NULL) - STRAY_AGE_S;
  if (listing.count) qsort(listing.files, listing.count, sizeof *listing.files, oldest_first);
  for (size_t i = 0; i < listing.count; i++) {
    const cache_file_t* file = &listing.files[i];
    bool goes =
        file->stray ? file->used.tv_sec < old : over && bytes > goal && i + 1 < listing.count;
    if (goes && unlinkat(folder, file->name, 0) == 0) bytes -= file->size;
  }
  cache->bytes = bytes;
  listing_free(&listing);
}

static void put(hone_cache_t* cache, int folder, hone_cache_key_t key, int count,
                const hone_piece_t* pieces) {
  if (!write_entry(folder, key, count, pieces)) {
    complain(cache, "cannot be written", strerror(errno));
    return;
  }
  pthread_mutex_lock(&cache->lock);
  for (int i = 0; i < count; i++) cache->bytes += pieces[i].size;
  if (!cache->measured || cache->bytes > cache->limit) evict(cache, folder);
  cache->measured = true;
  pthread_mutex_unlock(&cache->lock);
}

void hone_cache_put(hone_cache_t* cache, hone_cache_key_t key, const void* data, size_t size) {
  int folder = make_folder(cache);
  if (folder < 0) return;
  const entry_header_t header = make_header(key, data, size);
  const hone_piece_t pieces[] = {{&header, sizeof header}, {data, size}};
  put(cache, folder, key, 2, pieces);
  close(folder);
}

static bool has_space(int folder, uint64_t size) {
  struct statvfs disk;
  return fstatvfs(folder, &disk) || size <= (uint64_t)disk.f_bavail * disk.f_frsize / 10;
}

void hone_cache_put_pieces(hone_cache_t* cache, hone_cache_key_t key, int count,
                           const hone_piece_t* pieces) {
  uint64_t size = 0;
  for (int i = 0; i < count; i++) size += pieces[i].size;
  int folder = size <= cache->limit / 2 ? make_folder(cache) : -1;
  if (folder < 0) return;
  if (has_space(folder, size)) put(cache, folder, key, count, pieces);
  close(folder);
}

/* ---- for people ---- */

hone_status_t hone_cache_info(hone_cache_t* cache, hone_cache_info_t* out_info) {
  *out_info = (hone_cache_info_t){.limit = cache->limit};
  int folder = open_folder(cache);
  if (folder < 0) return NULL;
  listing_t listing = {.allocator = cache->allocator};
  bool ok = list_files(folder, &listing);
  out_info->entries = listing.entries;
  out_info->bytes = listing.bytes;
  out_info->strays = listing.count - listing.entries;
  listing_free(&listing);
  close(folder);
  return ok ? NULL : hone_oom();
}

hone_status_t hone_cache_clear(hone_cache_t* cache, uint64_t* out_removed) {
  uint64_t removed = 0;
  int error = 0, folder = open_folder(cache);
  if (out_removed) *out_removed = 0;
  if (folder < 0) return NULL;
  listing_t listing = {.allocator = cache->allocator};
  bool ok = list_files(folder, &listing);
  for (size_t i = 0; i < listing.count; i++) {
    if (unlinkat(folder, listing.files[i].name, 0) == 0)
      removed += !listing.files[i].stray;
    else if (errno != ENOENT)
      error = errno;
  }
  listing_free(&listing);
  close(folder);
  if (out_removed) *out_removed = removed;
  if (!ok) return hone_oom();
  return error ? hone_file_error(error, cache->folder, "remove files of") : NULL;
}
