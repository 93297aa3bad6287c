/* arena.c - device memory for a step: pieces that are released together.
 *
 * On CPU devices pieces are cut from blocks. Steps of one shape request the same pieces
 * in the same order, so the sub-buffers of the last step are kept and reused. If a step
 * needed several blocks, the next step begins with one in their place.
 *
 * On GPUs each piece is a buffer, which serves the piece of the same number in later
 * steps and is replaced when it does not fit. Sub-buffers are expensive there: a
 * release takes 0.2 ms on NVIDIA's driver 580, as long as 40 launches, and batches of
 * text have another shape in each step. */
#include <string.h>

#include "runtime/internal.h"

enum { FIRST_BLOCK_BYTES = 1 << 22, LARGE_BLOCK_BYTES = 1 << 26 };
enum { LEAST_BUFFER_BYTES = 1 << 16 }; // of a piece, so that small ones need not grow

typedef struct block {
    cla_memory memory;
    size_t used;
} block;

typedef struct piece {
    cla_memory memory;
    size_t block, offset, room; // place in a block; room: bytes taken, 0: no block
} piece;

struct cla_arena {
    cla_runtime *rt;
    block *blocks;
    size_t block_count, block_cap;
    size_t current; // block that the next piece is cut from
    piece *pieces;
    size_t taken; // pieces in use
    size_t kept;  // pieces whose buffers exist, >= taken
    size_t piece_cap;
};

cla_status cla_arena_new(cla_arena **out, cla_runtime *rt)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->rt = rt;
    return CLA_OK;
}

/* Returns whether each piece must be a new buffer, to be poisoned or watched. */
static bool is_guarded(const cla_arena *arena)
{
    return arena->rt->guard || arena->rt->watched;
}

static void release_piece(cla_arena *arena, piece *p)
{
    if (p->room) {
        clReleaseMemObject(p->memory.mem);
    } else { // a buffer of its own
        cla_spare_give(&p->memory, arena->rt);
    }
    *p = (piece){ 0 };
}

static void drop_kept(cla_arena *arena)
{
    while (arena->kept > arena->taken) {
        release_piece(arena, &arena->pieces[--arena->kept]);
    }
}

static void free_blocks(cla_arena *arena)
{
    for (size_t i = 0; i < arena->block_count; i++) {
        cla_spare_give(&arena->blocks[i].memory, arena->rt);
    }
    arena->block_count = 0;
}

void cla_arena_free(cla_arena **arena)
{
    if (!arena || !*arena) {
        return;
    }
    (*arena)->taken = 0;
    drop_kept(*arena);
    free_blocks(*arena);
    free((*arena)->blocks);
    free((*arena)->pieces);
    free(*arena);
    *arena = NULL;
}

static bool has_room(const block *b, size_t size)
{
    return b->memory.bytes - b->used >= size;
}

static size_t capacity(const cla_arena *arena)
{
    size_t total = 0;
    for (size_t i = 0; i < arena->block_count; i++) {
        total += arena->blocks[i].memory.bytes;
    }
    return total;
}

/* Returns the size of the next block. Small blocks double; large arenas grow by a
 * quarter, since half a gigabyte too much means a smaller batch. */
static size_t next_bytes(const cla_arena *arena)
{
    const size_t quarter = capacity(arena) / 4;
    const size_t n = arena->block_count;
    const size_t twice =
        n ? 2 * arena->blocks[n - 1].memory.bytes : (size_t)FIRST_BLOCK_BYTES;
    const size_t little = twice < LARGE_BLOCK_BYTES ? twice : LARGE_BLOCK_BYTES;
    return quarter > little ? quarter : little;
}

/* Sets current to a block with room for size bytes: the next one, or a new one. */
static cla_status find_block(cla_arena *arena, size_t size)
{
    while (arena->current < arena->block_count &&
           !has_room(&arena->blocks[arena->current], size)) {
        arena->current++;
    }
    const size_t n = arena->block_count;
    if (arena->current < n) {
        return CLA_OK;
    }
    size_t bytes = next_bytes(arena);
    const uint64_t limit = arena->rt->device.max_buffer_bytes;
    bytes = bytes > limit ? limit : bytes;
    bytes = bytes < size ? size : bytes;
    CLA_TRY(cla_grow(&arena->blocks, &arena->block_cap, n + 1, sizeof *arena->blocks));
    arena->blocks[n] = (block){ { 0 }, 0 };
    CLA_TRY(cla_spare_take(&arena->blocks[n].memory, arena->rt, bytes, SIZE_MAX));
    arena->block_count++;
    return CLA_OK;
}

static cla_status cut(cla_arena *arena, piece *p, size_t bytes, size_t room)
{
    CLA_TRY(find_block(arena, room));
    block *b = &arena->blocks[arena->current];
    const cl_buffer_region region = { b->used, bytes ? bytes : 4 };
    cl_int code = CL_SUCCESS;
    cl_mem mem = clCreateSubBuffer(b->memory.mem, CL_MEM_READ_WRITE,
                                   CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code) {
        return cla_cl_fail(code, "arena: sub-buffer of %zu bytes", bytes);
    }
    *p = (piece){
        { .mem = mem, .bytes = bytes, .part = true }, arena->current, b->used, room
    };
    b->used += room;
    return CLA_OK;
}

/* Takes this place's piece of the last step again; returns false unless it fits
 * exactly. */
static bool reuse(cla_arena *arena, size_t bytes)
{
    if (arena->taken == arena->kept) {
        return false;
    }
    piece *p = &arena->pieces[arena->taken];
    if (!p->room || p->memory.bytes != bytes ||
        p->offset != arena->blocks[p->block].used) {
        drop_kept(arena);
        return false;
    }
    arena->current = p->block;
    arena->blocks[p->block].used += p->room;
    return true;
}

/* Makes a buffer for the next piece. If memory is short, frees the buffers that are
 * kept for later pieces. */
static cla_status new_buffer(cla_arena *arena, size_t bytes)
{
    piece *p = &arena->pieces[arena->taken];
    const size_t most = bytes + bytes / 4;
    if (cla_spare_take(&p->memory, arena->rt, bytes, most) == CLA_OK) {
        return CLA_OK;
    }
    drop_kept(arena);
    return cla_memory_new(&p->memory, arena->rt, bytes);
}

/* Returns whether to keep a too large buffer: if memory is ample, or little is lost. */
static bool may_waste(const cla_runtime *rt, size_t has, size_t bytes)
{
    const bool ample = rt->in_use_bytes <= rt->device.memory_bytes / 2;
    return ample || has <= LEAST_BUFFER_BYTES || has - bytes <= bytes / 4;
}

/* Takes this place's buffer of an earlier step, or replaces it by one that fits. */
static cla_status take_buffer(cla_arena *arena, size_t bytes)
{
    piece *p = &arena->pieces[arena->taken];
    const bool kept = arena->kept > arena->taken;
    if (kept && p->memory.bytes >= bytes &&
        may_waste(arena->rt, p->memory.bytes, bytes)) {
        return CLA_OK;
    }
    if (kept) {
        release_piece(arena, p);
    } else {
        *p = (piece){ 0 };
    }
    CLA_TRY(new_buffer(arena, bytes < LEAST_BUFFER_BYTES ? LEAST_BUFFER_BYTES : bytes));
    arena->kept += arena->kept == arena->taken;
    return CLA_OK;
}

static cla_status take_guarded(cla_arena *arena, size_t bytes)
{
    piece *p = &arena->pieces[arena->taken];
    drop_kept(arena); // those from before guards were switched on
    *p = (piece){ 0 };
    CLA_TRY(cla_memory_new(&p->memory, arena->rt, bytes));
    arena->kept++;
    return CLA_OK;
}

/* Replaces several blocks by one, so that this step runs without any growth. */
static void join_blocks(cla_arena *arena)
{
    const size_t total = capacity(arena);
    if (arena->block_count < 2 || total > arena->rt->device.max_buffer_bytes) {
        return;
    }
    drop_kept(arena);
    free_blocks(arena);
    arena->current = 0;
    if (cla_spare_take(&arena->blocks[0].memory, arena->rt, total, SIZE_MAX) ==
        CLA_OK) {
        arena->blocks[0].used = 0;
        arena->block_count = 1;
    } // without it the step grows as the first one did
}

static cla_status take_cut(cla_arena *arena, size_t bytes)
{
    if (!arena->taken) {
        join_blocks(arena);
    }
    if (!reuse(arena, bytes)) {
        piece *p = &arena->pieces[arena->taken];
        const size_t align = arena->rt->align;
        const size_t room = ((bytes ? bytes : 4) + align - 1) / align * align;
        *p = (piece){ 0 };
        CLA_TRY(cut(arena, p, bytes, room));
        arena->kept++;
    }
    return CLA_OK;
}

cla_status cla_arena_take(cla_arena *arena, cla_memory *out, size_t bytes)
{
    CLA_TRY(cla_grow(&arena->pieces, &arena->piece_cap, arena->taken + 1,
                     sizeof *arena->pieces));
    CLA_TRY(is_guarded(arena)                   ? take_guarded(arena, bytes)
            : arena->rt->class == CLA_CLASS_CPU ? take_cut(arena, bytes)
                                                : take_buffer(arena, bytes));
    *out = arena->pieces[arena->taken++].memory;
    out->bytes = bytes;
    return CLA_OK;
}

size_t cla_arena_mark(const cla_arena *arena)
{
    return arena->taken;
}

void cla_arena_rewind(cla_arena *arena, size_t mark)
{
    while (arena->taken > mark) {
        const piece *p = &arena->pieces[--arena->taken];
        if (p->room) {
            arena->blocks[p->block].used = p->offset;
            arena->current = p->block;
        } else if (is_guarded(arena)) {
            drop_kept(arena);
        }
    }
}
