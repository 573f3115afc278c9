/* Room for many blocks that live about as long as one another, as the weights of a program do:
 * from some megabytes on they lie side by side in pieces of memory that are whole large pages, so
 * that reading them needs few translations of addresses. */
#ifndef HONE_BASE_ROOM_H
#define HONE_BASE_ROOM_H

#include "hone/allocator.h"

typedef struct hone_room hone_room_t;

/* `base` NULL: the system's. */
HONE_MUST_USE hone_status_t hone_room_create(const hone_allocator_t* base, hone_room_t** out_room);
/* Blocks that are out stay good: what is left of the room goes with the last of them. */
void hone_room_destroy(hone_room_t* room);
/* From any thread. */
const hone_allocator_t* hone_room_allocator(hone_room_t* room);

#endif
