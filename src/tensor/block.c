/* block.c - blocks of a tape, whose results are held in 16 bits between the passes. */
#include "tensor/block.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/tape.h"

/* A result in 16 bits. */
typedef struct packed {
    cla_tensor *t;
    cla_memory memory;
} packed;

/* What the tape records for a block: the tensors to unpack. */
typedef struct contents {
    cla_pack pack;
    owned *before, *last; // the block's tensors are those from last to before
    size_t count;
    packed list[];
} contents;

cla_status cla_tape_begin_block(cla_tape *tape)
{
    assert(!tape->open);
    if (!tape->work) {
        CLA_TRY(cla_arena_new(&tape->work, tape->rt));
    }
    cla_arena_rewind(tape->work, 0);
    tape->before = tape->tensors;
    tape->open = true;
    tape->unpacked = false;
    return CLA_OK;
}

void cla_tape_close_block(cla_tape *tape)
{
    tape->open = tape->unpacked = false;
    if (tape->work) {
        cla_arena_rewind(tape->work, 0);
    }
}

static cla_tensor *root_of(cla_tensor *t)
{
    while (t->base) {
        t = t->base;
    }
    return t;
}

/* Points views to the memory that their base tensors have now. */
static void move_views(owned *last, const owned *before)
{
    for (owned *o = last; o != before; o = o->next) {
        if (o->tensor.base) {
            o->tensor.memory = root_of(&o->tensor)->memory;
        }
    }
}

/* Gives a result of the block memory that lasts until the reset. */
static cla_status keep(cla_tape *tape, cla_tensor *t)
{
    cla_memory own;
    const size_t bytes = (size_t)cla_size(t) * sizeof(float);
    CLA_TRY(cla_arena_take(tape->arena, &own, bytes));
    CLA_TRY(bytes ? cla_memory_copy(tape->rt, &own, 0, &t->memory, 0, bytes) : CLA_OK);
    t->memory = own;
    t->inner = false;
    return CLA_OK;
}

/* Packs or keeps every result of the block. */
static cla_status pack_all(cla_tape *tape, contents *c)
{
    for (owned *o = c->last; o != c->before; o = o->next) {
        cla_tensor *t = &o->tensor;
        if (!t->inner || t->base) {
            continue;
        }
        if (!t->wants_grad || !cla_size(t)) {
            CLA_TRY(keep(tape, t));
            continue;
        }
        packed *p = &c->list[c->count++];
        p->t = t;
        CLA_TRY(cla_arena_take(tape->arena, &p->memory, (size_t)cla_size(t) * 2));
        CLA_TRY(c->pack(tape->rt, &p->memory, &t->memory, cla_size(t), false));
    }
    return CLA_OK;
}

/* Unpacks the block's results, before its own backward steps. */
static cla_status unpack(cla_tape *tape, void *bytes)
{
    const contents *c = bytes;
    cla_arena_rewind(tape->work, 0);
    tape->unpacked = true;
    for (size_t i = 0; i < c->count; i++) {
        cla_tensor *t = c->list[i].t;
        const int64_t size = cla_size(t);
        CLA_TRY(cla_arena_take(tape->work, &t->memory, (size_t)size * sizeof(float)));
        CLA_TRY(c->pack(tape->rt, &t->memory, &c->list[i].memory, size, true));
    }
    move_views(c->last, c->before);
    return CLA_OK;
}

static size_t count_inner(const cla_tape *tape)
{
    size_t count = 0;
    for (const owned *o = tape->tensors; o != tape->before; o = o->next) {
        count += o->tensor.inner;
    }
    return count;
}

cla_status cla_tape_end_block(cla_tape *tape, cla_tensor *y, cla_pack pack)
{
    assert(tape->open);
    cla_tensor *root = root_of(y);
    const size_t size = sizeof(contents) + count_inner(tape) * sizeof(packed);
    contents *c = NULL;
    tape->open = false;
    CLA_TRY(cla_alloc(&c, 1, size));
    *c = (contents){ .pack = pack, .before = tape->before, .last = tape->tensors };
    cla_status status = root->inner ? keep(tape, root) : CLA_OK;
    status = status ? status : pack_all(tape, c);
    if (!status) {
        move_views(c->last, c->before);
        status =
            cla_tape_record(tape, unpack, c, size, (cla_tensor *[CLA_RESULTS]){ y });
    }
    free(c);
    return status;
}
