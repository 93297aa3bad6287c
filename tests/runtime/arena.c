/* arena.c - pieces of device memory: what steps and later arenas get again. */
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"
#include "support/support.h"

/* Opens an arena on a runtime that chooses its kernels for this class of devices. */
static cla_arena *arena_of(const char *class, cla_runtime **rt)
{
    cla_arena *arena = NULL;
    setenv("CLATTN_CLASS", class, 1);
    TEST_OK(cla_runtime_new(rt, NULL));
    unsetenv("CLATTN_CLASS");
    TEST_OK(cla_arena_new(&arena, *rt));
    return arena;
}

/* Steps of one shape get the same pieces; memory grows in the first step only. */
Test(arena, reuses_pieces)
{
    cla_runtime *rt = NULL;
    cla_arena *arena = arena_of("cpu", &rt);
    cla_memory first[3] = { { 0 } }, again[3];
    const size_t sizes[3] = { 3000000, 0, 4000000 }; // two blocks in the first step
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 3; i++) {
            TEST_OK(cla_arena_take(arena, step == 1 ? &first[i] : &again[i], sizes[i]));
        }
        if (step < 2) {
            cla_arena_rewind(arena, 0);
        }
    }
    cr_assert_eq(memcmp(first, again, sizeof first), 0);
    const uint64_t peak = cla_runtime_peak_bytes(rt);
    const size_t mark = cla_arena_mark(arena);
    cla_memory extra = { 0 };
    TEST_OK(cla_arena_take(arena, &extra, 128));
    cla_arena_rewind(arena, mark);
    cr_assert_eq(cla_runtime_peak_bytes(rt), peak);
    cla_arena_free(&arena);
    cr_assert_eq(rt->in_use_bytes, 0);
    cla_runtime_free(&rt);
}

/* Takes pieces of these sizes in a new step and returns their buffers. */
static void take_all(cla_arena *arena, const size_t sizes[3], void *buffers[3])
{
    cla_arena_rewind(arena, 0);
    for (int i = 0; i < 3; i++) {
        cla_memory piece = { 0 };
        TEST_OK(cla_arena_take(arena, &piece, sizes[i]));
        cr_assert_eq(piece.bytes, sizes[i]);
        buffers[i] = piece.mem;
    }
}

/* On GPUs steps of other shapes get the same buffers, too. A buffer that is too small
 * is replaced; the others stay. */
Test(arena, keeps_buffers_on_gpus)
{
    cla_runtime *rt = NULL;
    cla_arena *arena = arena_of("gpu", &rt);
    const size_t large[3] = { 3000000, 100, 4000000 }, small[3] = { 70000, 4, 80000 };
    const size_t larger[3] = { 3500000, 0, 4000000 };
    void *first[3], *again[3];
    take_all(arena, large, first);
    take_all(arena, small, again);
    cr_assert_eq(memcmp(first, again, sizeof first), 0);
    take_all(arena, large, again);
    cr_assert_eq(memcmp(first, again, sizeof first), 0);
    const uint64_t peak = cla_runtime_peak_bytes(rt);
    take_all(arena, larger, again);
    cr_assert_eq(memcmp(&first[1], &again[1], 2 * sizeof *first), 0);
    cr_assert_eq(cla_runtime_peak_bytes(rt), peak + 500000);
    cla_arena_free(&arena);
    cr_assert_eq(rt->in_use_bytes, 0);
    cla_runtime_free(&rt);
}

/* Buffers kept for later pieces are freed before a request for memory is refused. */
Test(arena, gives_back_before_it_refuses)
{
    cla_runtime *rt = NULL;
    cla_arena *arena = arena_of("gpu", &rt);
    const size_t even[3] = { 3000000, 3000000, 3000000 }, head[3] = { 9000000, 4, 4 };
    void *buffers[3];
    cla_memory refused = { 0 };
    rt->device.memory_bytes = rt->in_use_bytes + 10000000;
    take_all(arena, even, buffers);
    take_all(arena, head, buffers);
    take_all(arena, even, buffers);
    cla_arena_rewind(arena, 0);
    cr_assert_eq(cla_arena_take(arena, &refused, 20000000), CLA_E_NOMEM);
    take_all(arena, even, buffers);
    cla_arena_free(&arena);
    cr_assert_eq(rt->in_use_bytes, 0);
    cla_runtime_free(&rt);
}

/* Buffers of an arena that has ended serve the next one, without a higher peak, and go
 * when memory is short. */
static void check_spares(const char *class)
{
    cla_runtime *rt = NULL;
    cla_arena *arena = arena_of(class, &rt);
    const size_t sizes[3] = { 3000000, 70000, 5000000 };
    void *buffers[3];
    cla_memory large = { 0 };
    for (int turn = 0; turn < 3; turn++) {
        take_all(arena, sizes, buffers);
        const uint64_t used = rt->in_use_bytes;
        cla_arena_free(&arena);
        cr_assert(rt->in_use_bytes == 0 && rt->spares.bytes >= used);
        TEST_OK(cla_arena_new(&arena, rt));
    }
    const uint64_t kept = rt->spares.bytes, peak = cla_runtime_peak_bytes(rt);
    take_all(arena, sizes, buffers);
    cr_assert(rt->in_use_bytes + rt->spares.bytes == kept && peak >= kept);
    cr_assert_eq(cla_runtime_peak_bytes(rt), peak);
    cla_arena_free(&arena);
    rt->device.memory_bytes = kept + 10;
    TEST_OK(cla_memory_new(&large, rt, 1000));
    cr_assert_eq(rt->spares.bytes, 0);
    cla_memory_free(&large, rt);
    cla_runtime_free(&rt);
}

Test(arena, buffers_serve_the_next_arena)
{
    check_spares("cpu");
    check_spares("gpu");
}

/* Checks that the pieces of a step do not overlap. */
static void check_apart(const char *class)
{
    enum { PIECES = 40 };
    cla_runtime *rt = NULL;
    cla_arena *arena = arena_of(class, &rt);
    for (int step = 0; step < 2; step++) {
        cla_memory m[PIECES];
        uint32_t word = 0;
        for (uint32_t i = 0; i < PIECES; i++) {
            TEST_OK(
                cla_arena_take(arena, &m[i], 4 * (size_t)(1 + (i * 7919) % 300000)));
            TEST_OK(cla_memory_fill(rt, &m[i], i));
        }
        for (uint32_t i = 0; i < PIECES; i++) {
            TEST_OK(cla_memory_read(rt, &m[i], 0, &word, 4));
            cr_assert_eq(word, i);
            TEST_OK(cla_memory_read(rt, &m[i], m[i].bytes - 4, &word, 4));
            cr_assert_eq(word, i);
        }
        cla_arena_rewind(arena, 0);
    }
    cla_arena_free(&arena);
    cla_runtime_free(&rt);
}

Test(arena, pieces_are_apart)
{
    check_apart("cpu");
    check_apart("gpu");
}
