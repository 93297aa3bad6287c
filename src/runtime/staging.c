/* staging.c - transfers for which the host does not wait.
 *
 * A write copies its numbers into a ring and queues the transfer from there, so the
 * caller may reuse its memory at once, and the device does not wait for the host. The
 * queue is in order: the pieces of the ring become free in the order of their use. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/foreign.h"
#include "base/platform.h"
#include "runtime/internal.h"

enum { RING_BYTES = 4 << 20, MOST_PIECES = 256, LINE = CLA_HOST_LINE };

typedef struct piece {
    cl_event event; // of the transfer from it
    size_t begin;
} piece;

struct cla_staging {
    cla_host_block head;
    piece pieces[MOST_PIECES]; // a queue
    int first, count;
    size_t next; // byte behind the newest piece
    _Alignas(LINE) char ring[RING_BYTES];
};

/* A result on its way to the host. */
struct cla_late {
    cla_host_block head;
    cl_event event;
    size_t bytes;
    _Alignas(LINE) char data[];
};

/* ---- blocks ------------------------------------------------------------------ */

void *cla_host_block_new(size_t bytes, size_t cleared)
{
    void *memory = cla_os_aligned(LINE, bytes);
    if (memory) {
        memset(memory, 0, cleared);
    } else {
        cla_fail(CLA_E_NOMEM, "host memory: %zu bytes for a transfer", bytes);
    }
    return memory;
}

void cla_host_block_keep(cla_host_block *b)
{
    static _Atomic(cla_host_block *) given_up;
    b->next = atomic_load(&given_up);
    while (!atomic_compare_exchange_weak(&given_up, &b->next, b)) {
    }
}

/* ---- events ------------------------------------------------------------------ */

cla_status cla_event_ended(cla_runtime *rt, cl_command_queue queue, cl_event event,
                           int64_t *waits, bool *ended)
{
    cl_int state = CL_QUEUED;
    cl_int code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                 &state, NULL);
    *ended = code || state <= CL_COMPLETE;
    if (!*ended && waits) {
        *waits += rt->profile.on;
        *ended = true;
        code = clFlush(queue);
        code = code ? code : clWaitForEvents(1, &event);
        cla_foreign_enter(NULL);
    }
    code = code ? code : state < 0 ? state : CL_SUCCESS;
    return code ? cla_cl_fail(code, "an earlier transfer") : CLA_OK;
}

/* ---- writes ------------------------------------------------------------------ */

/* Frees the oldest piece if its transfer has ended, or waits for that and counts it.
 * Gives whether it is free. */
static cla_status retire(cla_runtime *rt, int64_t *waits, bool *freed)
{
    cla_staging *s = rt->staging;
    cl_event event = s->pieces[s->first].event;
    const cla_status status = cla_event_ended(rt, rt->queue, event, waits, freed);
    if (*freed) {
        clReleaseEvent(event);
        s->first = (s->first + 1) % MOST_PIECES;
        s->count--;
    }
    return status;
}

/* Finds room for bytes between the newest piece and the oldest. */
static bool find_room(cla_staging *s, size_t bytes)
{
    if (s->count == MOST_PIECES) {
        return false;
    }
    if (s->count == 0) {
        s->next = 0;
        return true;
    }
    const size_t oldest = s->pieces[s->first].begin;
    if (s->next <= oldest) { // the pieces go round the end of the ring
        return s->next + bytes <= oldest;
    }
    if (s->next + bytes <= RING_BYTES) {
        return true;
    }
    s->next = bytes <= oldest ? 0 : s->next;
    return bytes <= oldest;
}

cla_status cla_staging_take(cla_runtime *rt, size_t bytes, void **at)
{
    *at = NULL;
    if (rt->watched || bytes > RING_BYTES / 2) {
        return CLA_OK;
    }
    if (!rt->staging) {
        rt->staging =
            cla_host_block_new(sizeof *rt->staging, offsetof(cla_staging, ring));
    }
    if (!rt->staging) {
        return CLA_E_NOMEM;
    }
    cla_staging *s = rt->staging;
    bool freed = true;
    while (s->count && freed) {
        CLA_TRY(retire(rt, NULL, &freed));
    }
    while (!find_room(s, bytes)) {
        CLA_TRY(retire(rt, &rt->waits.ring, &freed));
    }
    *at = s->ring + s->next;
    return CLA_OK;
}

void cla_staging_queued(cla_runtime *rt, size_t bytes, void *event)
{
    cla_staging *s = rt->staging;
    if (!event) { // a driver that gives none has to end the transfer now
        clFinish(rt->queue);
        return;
    }
    s->pieces[(s->first + s->count++) % MOST_PIECES] = (piece){ event, s->next };
    s->next += (bytes + LINE - 1) / LINE * LINE;
}

void cla_staging_fini(cla_runtime *rt, bool idle)
{
    cla_staging *s = rt->staging;
    for (int i = 0; s && i < s->count; i++) {
        clReleaseEvent(s->pieces[(s->first + i) % MOST_PIECES].event);
    }
    if (s && !idle) {
        cla_host_block_keep(&s->head);
    } else {
        cla_os_aligned_free(s);
    }
    rt->staging = NULL;
}

/* ---- results ----------------------------------------------------------------- */

static cla_status queue_read(cla_runtime *rt, const cla_memory *from, size_t offset,
                             cla_late *late)
{
    if (rt->record || rt->watched) {
        return cla_memory_read(rt, from, offset, late->data, late->bytes);
    }
    CLA_TRY(cla_runtime_check(rt));
    CLA_TRY(cla_memory_usual(from));
    const cl_int code =
        clEnqueueReadBuffer(rt->queue, from->mem, CL_FALSE, offset, late->bytes,
                            late->data, 0, NULL, &late->event);
    return code ? cla_cl_fail(code, "reading %zu bytes from the device", late->bytes)
                : cla_profile_shared(rt, "(read)", late->bytes, late->event);
}

cla_status cla_memory_read_later(cla_runtime *rt, const cla_memory *from, size_t offset,
                                 size_t bytes, cla_late **late)
{
    *late = cla_host_block_new(sizeof **late + bytes, sizeof **late);
    if (!*late) {
        return CLA_E_NOMEM;
    }
    (*late)->bytes = bytes;
    return queue_read(rt, from, offset, *late);
}

cla_status cla_memory_arrive(cla_runtime *rt, cla_late **late, void *host)
{
    cla_late *l = *late;
    *late = NULL;
    if (!l) {
        return CLA_OK;
    }
    bool ended = true;
    cla_status status = CLA_OK;
    if (l->event) {
        status =
            cla_event_ended(rt, rt->queue, l->event, &rt->waits.late_reads, &ended);
        clReleaseEvent(l->event);
    }
    if (status) {
        cla_host_block_keep(&l->head);
        return status;
    }
    memcpy(host, l->data, l->bytes);
    cla_os_aligned_free(l);
    return CLA_OK;
}
