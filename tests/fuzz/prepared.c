/* prepared.c - fuzz target: texts that were kept as numbers. */
#include <string.h>

#include "fuzz.h"
#include "text/bitext.h"

/* Uses every number of the pairs as batches do. */
static void walk(const cla_bitext *b, const size_t most[2])
{
    for (int64_t i = 0; i < b->count; i++) {
        FUZZ_CHECK(b->source_at[i] < b->source_at[i + 1] &&
                       b->target_at[i] < b->target_at[i + 1],
                   "pair %lld has an empty side", (long long)i);
    }
    for (int64_t i = 0; i < b->source_at[b->count]; i++) {
        FUZZ_CHECK(b->source[i] >= 0 && (size_t)b->source[i] < most[0], "source %lld",
                   (long long)i);
    }
    for (int64_t i = 0; i < b->target_at[b->count]; i++) {
        FUZZ_CHECK(b->target[i] >= 0 && (size_t)b->target[i] < most[1], "target %lld",
                   (long long)i);
    }
}

/* Keeps parts in a file and reads them again. */
static void keep(const cla_part *part, const size_t most[2])
{
    const char *path = fuzz_path("kept.prepared");
    cla_prepared p = { .lock = -1, .parts = CLA_BITEXT_PARTS };
    cla_bitext b = { 0 };
    FUZZ_CHECK(!cla_text_add(&p.path, "%s", path), "%s", cla_error());
    FUZZ_CHECK(!cla_prepared_keep(&p, part), "%s", cla_error());
    FUZZ_CHECK(!cla_prepared_read(&p, path), "as kept: %s", cla_error());
    for (int i = 0; i < CLA_BITEXT_PARTS; i++) {
        FUZZ_CHECK(p.part[i].size == part[i].size &&
                       memcmp(p.part[i].data, part[i].data, part[i].size) == 0,
                   "part %d differs", i);
    }
    if (fuzz_ok(cla_bitext_take(&b, p.part, most))) {
        walk(&b, most);
    }
    cla_bitext_free(&b);
    cla_prepared_close(&p);
}

/* The whole input is a file. Its first bytes are sizes of parts, which the rest is, and
 * how many pieces there are. */
void fuzz_prepared(const uint8_t *data, size_t size)
{
    enum { HEAD = CLA_BITEXT_PARTS + 2 };
    const char *path = fuzz_file("raw.prepared", data, size);
    cla_prepared raw = { .lock = -1, .parts = CLA_BITEXT_PARTS };
    cla_part part[CLA_BITEXT_PARTS];
    const cla_status status = cla_prepared_read(&raw, path);
    fuzz_ok(status);
    cla_prepared_close(&raw);
    if (size < HEAD) {
        return;
    }
    size_t at = HEAD;
    for (int i = 0; i < CLA_BITEXT_PARTS; i++) {
        const size_t left = size - at, want = data[i];
        part[i] = (cla_part){ data + at, want < left ? want : left };
        at += part[i].size;
    }
    keep(part, (const size_t[]){ data[HEAD - 2], data[HEAD - 1] });
}
