/* relative_spectrum.c - the table of a tagger: nothing beside its attention. */
#include "bench/kind.h"

cla_status bench_relative_spectrum(bench *b)
{
    static const bench_shape shapes[] = {
        { "H4 T60", "H=4 t=60" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "layers",
        .lines = { .kind = &relative_spectrum_kind },
        .shapes = shapes,
        .directions = BENCH_BACKWARD,
    };
    return bench_table_run(b, &table);
}
