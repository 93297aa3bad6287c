/* conv_band.c - launches over bands of rows of maps. */
#include "ops/conv_band.h"

#include "ops/product_group.h"

enum {
    TILE_ROWS = 48, // rows of a work-item, cl/conv_band_tile.cl
    SPARE = 64,     // floats that vectors may reach past a band
};

size_t cla_conv_blocks(int64_t n, int64_t by)
{
    return n > 0 ? (size_t)((n + by - 1) / by) : 0;
}

size_t cla_conv_columns(const conv_walk *w, conv_band m, int64_t rows)
{
    return cla_conv_blocks(rows * (m.line - 2 * m.edge), w->wg);
}

conv_walk cla_conv_walk_begin(cla_runtime *rt, const conv_call *call, bool tile)
{
    return (conv_walk){
        .rt = rt,
        .call = call,
        .tile = tile,
        .wg = cla_tuned(rt, "conv_attention_2d", "WG", 128),
        .m = { .heads = call->base.heads, .kh = call->kh, .kw = call->kw },
    };
}

cla_status cla_conv_bands(const conv_walk *w, cla_memory *band, int count,
                          int64_t pairs)
{
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_conv_work(w->rt, CLA_WORK_BAND + i, &band[i],
                              pairs * w->m.size + SPARE));
    }
    return CLA_OK;
}

static cla_status run_tile(const conv_walk *w, cla_launch *launch, const char *kernel)
{
    const conv_tile t = cla_conv_tile(w->rt, w->call);
    launch->file = "conv_band_tile";
    launch->kernel = kernel;
    launch->define[0] = (cla_define){ "WIDTH", w->call->base.width };
    launch->define[1] = (cla_define){ "VEC", t.vec };
    launch->define[2] = (cla_define){ "MR", t.block };
    launch->define[3] = (cla_define){ "ROWS", TILE_ROWS };
    launch->groups[1] = 1;
    launch->groups[2] = (size_t)w->pairs;
    return launch->groups[0] ? cla_enqueue(w->rt, launch) : CLA_OK;
}

cla_status cla_conv_run(const conv_walk *w, cla_launch *launch, const char *kernel)
{
    launch->file = launch->file ? launch->file : "conv_rows";
    launch->kernel = kernel;
    launch->define[0] = (cla_define){ "WG", w->wg };
    launch->local[0] = (size_t)w->wg;
    launch->groups[1] = launch->groups[1] ? launch->groups[1] : 1;
    launch->groups[2] = (size_t)w->pairs;
    return launch->groups[0] && launch->groups[1] ? cla_enqueue(w->rt, launch) : CLA_OK;
}

double cla_conv_flops(const conv_walk *w, int64_t rows)
{
    return 2.0 * (double)w->pairs * (double)rows * w->call->base.longest_q *
           w->call->base.width;
}

static cla_arg offsets_of(const conv_walk *w)
{
    return cla_mem(&w->call->base.q_rows->device_offsets);
}

conv_tokens cla_conv_tokens(const conv_walk *w, const cla_tensor *x,
                            const cla_tensor *y, float scale, int mode)
{
    return (conv_tokens){
        .width = w->call->base.width,
        .x_at = (int32_t)x->offset,
        .x_stride = (int32_t)x->stride,
        .y_at = (int32_t)y->offset,
        .y_stride = (int32_t)y->stride,
        .scale = scale,
        .mode = mode,
    };
}

/* ---- products ------------------------------------------------------------------ */

bool cla_conv_wide(const conv_band *m, const conv_tokens *r)
{
    const int32_t all = m->line | m->edge | m->size | r->width | r->x_at | r->x_stride |
                        r->y_at | r->y_stride;
    return all % 4 == 0;
}

cla_status cla_conv_tiles(const conv_walk *w, cla_launch *launch, const char *kernel,
                          int64_t rows, int64_t columns, bool wide)
{
    launch->file = "conv_attention_2d";
    launch->kernel = kernel;
    launch->groups[0] = (size_t)cla_tiles_across(columns);
    launch->groups[1] = (size_t)cla_tiles_down(rows);
    launch->groups[2] = (size_t)w->pairs;
    cla_tile_launch(w->rt, launch, 0, wide);
    return launch->groups[0] && rows > 0 ? cla_enqueue(w->rt, launch) : CLA_OK;
}

/* Packs y for a product by a tile kernel: as panels, or as padded rows. */
static cla_status pack(const conv_walk *w, int work, cla_memory *packed, int32_t *size,
                       const cla_tensor *y, float scale, bool panels)
{
    const conv_tile t = cla_conv_tile(w->rt, w->call);
    const conv_tokens r = cla_conv_tokens(w, y, y, scale, GRAD_WRITE);
    *size = t.tall * t.pad;
    CLA_TRY(cla_conv_work(w->rt, work, packed, w->pairs * *size + SPARE));
    cla_launch launch = {
        .groups = { 1 },
        .args = { cla_mem(packed), cla_buf(y), offsets_of(w),
                  cla_bytes(&w->m, sizeof w->m), cla_bytes(&r, sizeof r),
                  cla_i32(*size) },
    };
    return run_tile(w, &launch, panels ? "conv_pack_panels" : "conv_pack_rows");
}

static cla_status score_tile(const conv_walk *w, const cla_memory *band, conv_band m,
                             const cla_tensor *x, const cla_tensor *y, float scale)
{
    cla_memory rows, panels;
    int32_t rows_size = 0, panels_size = 0;
    CLA_TRY(pack(w, CLA_WORK_ROWS, &rows, &rows_size, x, 1, false));
    CLA_TRY(pack(w, CLA_WORK_PANELS, &panels, &panels_size, y, scale, true));
    cla_launch launch = {
        .groups = { cla_conv_blocks(m.last - m.first, TILE_ROWS) },
        .args = { cla_mem(band), cla_mem(&rows), cla_mem(&panels), offsets_of(w),
                  cla_bytes(&m, sizeof m), cla_i32(rows_size), cla_i32(panels_size) },
        .flops = cla_conv_flops(w, m.last - m.first),
    };
    return run_tile(w, &launch, "conv_score");
}

cla_status cla_conv_score(const conv_walk *w, const cla_memory *band, conv_band m,
                          const cla_tensor *x, const cla_tensor *y, float scale)
{
    const int32_t T = w->call->base.longest_q;
    m.last = m.last < T ? m.last : T;
    if (w->tile) {
        return score_tile(w, band, m, x, y, scale);
    }
    const conv_tokens r = cla_conv_tokens(w, x, y, scale, GRAD_WRITE);
    cla_launch launch = {
        .args = { cla_mem(band), cla_buf(x), cla_buf(y), offsets_of(w),
                  cla_bytes(&m, sizeof m), cla_bytes(&r, sizeof r) },
        .flops = cla_conv_flops(w, m.last - m.first),
    };
    return cla_conv_tiles(w, &launch, "conv_score", m.last - m.first, T,
                          cla_conv_wide(&m, &r));
}

cla_status cla_conv_mix(const conv_walk *w, const cla_tensor *out,
                        const cla_memory *strip, conv_band m, const cla_tensor *y,
                        float scale, int mode)
{
    if (!out) {
        return CLA_OK;
    }
    if (!w->tile) {
        const conv_product by_rows[3] = { { out, y, scale, mode } };
        return cla_conv_three(w, strip, NULL, m, by_rows);
    }
    const conv_tokens r = cla_conv_tokens(w, out, y, scale, mode);
    cla_memory rows;
    int32_t size = 0;
    CLA_TRY(pack(w, CLA_WORK_ROWS, &rows, &size, y, 1, false));
    cla_launch launch = {
        .groups = { cla_conv_blocks(m.last - m.first, TILE_ROWS) },
        .args = { cla_buf(out), cla_mem(strip), cla_mem(&rows), offsets_of(w),
                  cla_bytes(&m, sizeof m), cla_bytes(&r, sizeof r), cla_i32(size) },
        .flops = cla_conv_flops(w, m.last - m.first),
    };
    return run_tile(w, &launch, "conv_mix");
}

cla_status cla_conv_spread(const conv_walk *w, const cla_tensor *out,
                           const cla_memory *strip, conv_band m, const cla_tensor *y,
                           float scale, int mode)
{
    if (!out || m.last <= m.first) {
        return CLA_OK;
    }
    const int32_t T = w->call->base.longest_q;
    if (!w->tile) {
        const conv_product by_columns[3] = { { 0 }, { out, y, scale, mode } };
        return cla_conv_three(w, strip, NULL, m, by_columns);
    }
    const conv_tokens r = cla_conv_tokens(w, out, y, scale, mode);
    cla_memory rows, sums;
    int32_t size = 0;
    CLA_TRY(pack(w, CLA_WORK_ROWS, &rows, &size, y, 1, false));
    CLA_TRY(cla_conv_work(w->rt, CLA_WORK_PANELS, &sums, w->pairs * size + SPARE));
    cla_launch launch = {
        .groups = { cla_conv_blocks(T, TILE_ROWS) },
        .args = { cla_buf(out), cla_mem(strip), cla_mem(&rows), cla_mem(&sums),
                  offsets_of(w), cla_bytes(&m, sizeof m), cla_bytes(&r, sizeof r),
                  cla_i32(size) },
        .flops = cla_conv_flops(w, m.last - m.first),
    };
    return run_tile(w, &launch, "conv_spread");
}

/* Queues those of the products that bits of `which` choose. */
static cla_status run_three(const conv_walk *w, const cla_memory *map,
                            const cla_memory *strip, conv_band m,
                            const conv_product p[3], int which)
{
    const int32_t T = w->call->base.longest_q;
    const int64_t rows[] = { m.last - m.first, T, T };
    conv_three s = { .m = m };
    conv_tokens *const r[] = { &s.q, &s.k, &s.v };
    int64_t tiles[3] = { 0 };
    int products = 0;
    bool wide = true;
    for (int i = 0; i < 3; i++) {
        if (p[i].out && which >> i & 1) {
            *r[i] = cla_conv_tokens(w, p[i].out, p[i].y, p[i].scale, p[i].mode);
            wide = wide && cla_conv_wide(&m, r[i]);
            tiles[i] = cla_tiles_down(rows[i]);
            products++;
        }
    }
    s.q_tiles = (int)tiles[0];
    s.k_tiles = (int)tiles[1];
    cla_launch launch = {
        .args = { cla_buf(p[0].out), cla_buf(p[1].out), cla_buf(p[2].out), cla_mem(map),
                  cla_mem(strip), cla_buf(p[0].y), cla_buf(p[1].y), cla_buf(p[2].y),
                  offsets_of(w), cla_bytes(&s, sizeof s) },
        .flops = products * cla_conv_flops(w, m.last - m.first),
    };
    return cla_conv_tiles(w, &launch, "conv_products",
                          (tiles[0] + tiles[1] + tiles[2]) * CLA_TILE_ROWS,
                          w->call->base.width, wide);
}

cla_status cla_conv_three(const conv_walk *w, const cla_memory *map,
                          const cla_memory *strip, conv_band m, const conv_product p[3])
{
    if (!cla_conv_overlap(p[0].out, p[1].out) &&
        !cla_conv_overlap(p[0].out, p[2].out) &&
        !cla_conv_overlap(p[1].out, p[2].out)) {
        return run_three(w, map, strip, m, p, 7);
    }
    for (int i = 0; i < 3; i++) { // one adds to what another one writes
        CLA_TRY(run_three(w, map, strip, m, p, 1 << i));
    }
    return CLA_OK;
}

/* ---- rows of maps -------------------------------------------------------------- */

/* Queues a kernel over the rows of m. Without w->tile, each row has TEAM work-items if
 * by_row is set, else each number has one. */
static cla_status run_rows(const conv_walk *w, cla_launch *launch, conv_band m,
                           const char *kernel, bool by_row)
{
    const int64_t rows = m.last - m.first;
    if (w->tile) {
        launch->groups[0] = cla_conv_blocks(rows, TILE_ROWS);
        return run_tile(w, launch, kernel);
    }
    launch->groups[0] = by_row ? cla_conv_blocks(rows, w->wg / CLA_CONV_TEAM)
                               : cla_conv_columns(w, m, rows);
    return cla_conv_run(w, launch, kernel);
}

cla_status cla_conv_softmax(const conv_walk *w, const cla_memory *band, conv_band m,
                            bool known)
{
    const cla_attention_call *c = &w->call->base;
    cla_launch launch = { .args = { cla_mem(band), cla_buf(c->lse), offsets_of(w),
                                    cla_bytes(&m, sizeof m),
                                    cla_i32(c->q->shape[0]) } };
    return run_rows(w, &launch, m, known ? "conv_weigh" : "conv_softmax", !known);
}

cla_status cla_conv_activate(const conv_walk *w, const cla_memory *band, conv_band m)
{
    cla_launch launch = { .args = { cla_mem(band), cla_buf(w->call->b), offsets_of(w),
                                    cla_bytes(&m, sizeof m),
                                    cla_i32(w->call->activation) } };
    return run_rows(w, &launch, m, "conv_activate", false);
}

cla_status cla_conv_slope(const conv_walk *w, const cla_memory *slopes,
                          const cla_memory *strip, conv_band m)
{
    cla_launch launch = { .args = { cla_mem(slopes), cla_mem(strip), offsets_of(w),
                                    cla_bytes(&m, sizeof m),
                                    cla_i32(w->call->activation) } };
    return run_rows(w, &launch, m, "conv_slope", false);
}

cla_status cla_conv_softmax_back(const conv_walk *w, const cla_memory *strip,
                                 const cla_memory *map, conv_band m)
{
    cla_launch launch = { .args = { cla_mem(strip), cla_mem(map), offsets_of(w),
                                    cla_bytes(&m, sizeof m) } };
    return run_rows(w, &launch, m, "conv_softmax_back", true);
}
