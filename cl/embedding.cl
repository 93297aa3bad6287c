/* embedding.cl - looks up rows of a table by id; and the table's gradient, for which
 * rows are brought into the order of their entries first.
 *
 * Layout: table, dtable [V,D]; ids [N]; y, dy [N,D]; sorted [tiles,256] of entry and
 * row; order [N]; runs [N] of place and length.
 * Work-group: forward, WG items along the columns of a run of rows; embedding_sort, the
 * rows of a tile; embedding_merge, rows by parts of the tiles; embedding_backward,
 * columns by slices of the rows of an entry.
 * Defines: WG, which is 1 on CPU devices, forward; WEIGHTS, the table's number format;
 * PANEL, entries of a panel if the table is in those of matmul_tile.cl, else 0; BYTES,
 * 1 if it is in those of matmul_bytes.cl.
 * Local: 4 KiB.
 * Numerics: f32 sums of an order that follows from the ids: the same bits every time.
 * Writes: y, sorted, order and runs whole; in dtable only the entries that ids name, so
 * it is cleared before. */
#include "bytes_args.h"
#include "embedding_args.h"
#include "weights.clh"

#ifndef WG
#define WG 64
#endif
#ifndef PANEL
#define PANEL 0
#endif
#ifndef BYTES
#define BYTES 0
#endif

/* Return the place of an entry in the table, and that of its element c from there. */
#if BYTES
#define ENTRY(id, columns) PANEL_OF_BYTES(id, columns)
#define ELEMENT(id, c)     BYTE_OF_PANEL((id) % BYTES_PANEL, c)
#elif PANEL
#define ENTRY(id, columns) \
    ((size_t)((id) / PANEL) * PANEL * (columns) + (size_t)((id) % PANEL))
#define ELEMENT(id, c) ((size_t)(c)*PANEL)
#else
#define ENTRY(id, columns) ((size_t)(id) * (columns))
#define ELEMENT(id, c)     ((size_t)(c))
#endif

// y[n] = scale table[ids[n]], times factor[ids[n]] if the table has 8 bits; zeros for
// an id outside the table
WORK_GROUP(WG, 1, 1)
kernel void embedding_forward(global float *restrict y,
                              global const weight *restrict table,
                              global const int *restrict ids,
                              global const float *restrict factor, embedding_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        const int id = ids[row], known = id >= 0 && id < s.entries;
        global float *to = y + (size_t)row * s.columns;
        global const weight *from = table + ENTRY(known ? id : 0, s.columns);
        const float scale = WEIGHT_SCALED(s.scale, factor, known ? id : 0);
        for (int c = LANE(0); c < s.columns; c += WG) {
            to[c] = known ? scale * WEIGHT_AT(from, ELEMENT(known ? id : 0, c)) : 0.0f;
        }
    }
}

/* ---- the gradient --------------------------------------------------------------- */

#define PAST 0x80000000u // in the place of an entry, for rows past the end

/* Returns the entry that row n names; the one behind the last if it names none. */
INLINE uint entry_of(global const int *ids, int n, embedding_shape s)
{
    const int id = n < s.rows ? ids[n] : 0;
    const uint named = (uint)(id >= 0 && id < s.entries ? id : s.entries);
    return n < s.rows ? named : PAST;
}

// sorted = entry and row of each row, the rows of a tile in the order of their entries,
// and those of an entry in their own
WORK_GROUP(EMBEDDING_TILE, 1, 1)
kernel void embedding_sort(global uint2 *restrict sorted,
                           global const int *restrict ids, embedding_shape s)
{
    local uint entries[EMBEDDING_TILE];
    const int lane = LANE(0), n = GROUP(0) * EMBEDDING_TILE + lane;
    const uint entry = entry_of(ids, n, s);
    entries[lane] = entry;
    barrier(CLK_LOCAL_MEM_FENCE);
    int place = 0;
    for (int m = 0; m < EMBEDDING_TILE; m++) {
        place += entries[m] < entry + (m < lane);
    }
    sorted[GROUP(0) * EMBEDDING_TILE + place] = (uint2)(entry, (uint)n);
}

/* Returns how many rows of a sorted tile have entries below one. */
INLINE int rows_below(global const uint2 *tile, uint entry)
{
    int n = 0;
    for (int step = EMBEDDING_TILE / 2; step > 0; step /= 2) {
        n += tile[n + step - 1].x < entry ? step : 0;
    }
    return n + (tile[n].x < entry);
}

// order = all rows in the order of their entries; runs = for each of them its place
// among the rows of its entry, and their number
WORK_GROUP(EMBEDDING_MERGED *EMBEDDING_PARTS, 1, 1)
kernel void embedding_merge(global int *restrict order, global int2 *restrict runs,
                            global const uint2 *restrict sorted, embedding_shape s)
{
    local int4 counts[EMBEDDING_MERGED * EMBEDDING_PARTS];
    const int lane = LANE(0), part = lane / EMBEDDING_MERGED;
    const int at = GROUP(0) * EMBEDDING_MERGED + lane % EMBEDDING_MERGED;
    const int tiles = (s.rows + EMBEDDING_TILE - 1) / EMBEDDING_TILE;
    const int own = at / EMBEDDING_TILE;
    const uint entry = sorted[at].x;
    int4 count = (int4)(0); // rows of lower entries; of this one in front; of this one
    for (int tile = part; tile < tiles; tile += EMBEDDING_PARTS) {
        global const uint2 *rows = sorted + tile * EMBEDDING_TILE;
        const int from = rows_below(rows, entry);
        const int same = rows_below(rows, entry + 1u) - from;
        const int front = tile < own ? same : at % EMBEDDING_TILE - from;
        count += (int4)(from, tile > own ? 0 : front, same, 0);
    }
    counts[lane] = count;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part == 0 && entry != PAST) {
        for (int i = 1; i < EMBEDDING_PARTS; i++) {
            count += counts[lane + i * EMBEDDING_MERGED];
        }
        order[count.x + count.y] = (int)sorted[at].y;
        runs[count.x + count.y] = count.yz;
    }
}

/* dtable[v] += scale sum over n with ids[n] = v of dy[n]. An entry has as many groups
 * as rows; each has some of its columns. The items of a group share many rows in
 * slices, whose sums are added in order. */
WORK_GROUP(EMBEDDING_WG, 1, 1)
kernel void embedding_backward(global float *restrict dtable,
                               global const float *restrict dy,
                               global const int *restrict ids,
                               global const int *restrict order,
                               global const int2 *restrict runs, embedding_shape s)
{
    local float sums[EMBEDDING_WG];
    const int id = ids[order[GROUP(0)]], lane = LANE(0);
    const int place = runs[GROUP(0)].x, rows = runs[GROUP(0)].y;
    const int columns = id >= 0 && id < s.entries ? s.columns : 0;
    int slices = 1;
    while (slices < EMBEDDING_SLICES && slices * 8 < rows) {
        slices *= 2;
    }
    const int width = EMBEDDING_WG / slices, slice = lane / width;
    const int each = (rows + slices - 1) / slices, start = GROUP(0) - place;
    const int first = start + slice * each;
    const int last = start + min((slice + 1) * each, rows);
    for (int block = place; TOGETHER(block < (columns + width - 1) / width);
         block += rows) {
        const int c = block * width + lane % width;
        float sum = 0.0f;
        for (int i = first; i < last && c < columns; i++) {
            sum += dy[(size_t)order[i] * s.columns + c];
        }
        sums[lane] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slice == 0 && c < columns) {
            for (int i = 1; i < slices; i++) {
                sum += sums[lane + i * width];
            }
            dtable[(size_t)id * s.columns + c] += s.scale * sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
