/* stream.c - fuzz target: the text of a language model, its pieces and back. */
#include <string.h>

#include "fuzz.h"
#include "tasks/language/language.h"

/* Checks that each piece has a number, and that characters and bytes come back. */
static void check(const language *t, const language_text *text)
{
    cla_text back = { 0 };
    cla_ids again = { 0 };
    FUZZ_CHECK(text->ids.count >= 2 && text->bytes >= 0, "%zu pieces, %g bytes",
               text->ids.count, text->bytes);
    for (size_t i = 0; i < text->ids.count; i++) {
        FUZZ_CHECK(text->ids.id[i] >= 0 && text->ids.id[i] < cla_language_count(t),
                   "piece %zu is %d", i, (int)text->ids.id[i]);
    }
    FUZZ_CHECK(!cla_language_decode(t, text->ids.id, text->ids.count, &back), "%s",
               cla_error());
    if (!t->documents && t->pieces != LANGUAGE_BPE) { // words lose their blanks
        FUZZ_CHECK(!cla_language_encode(t, back.data, back.size, &again), "%s",
                   cla_error());
        FUZZ_CHECK(again.count == text->ids.count &&
                       memcmp(again.id, text->ids.id, again.count * sizeof *again.id) ==
                           0,
                   "%zu pieces become %zu", text->ids.count, again.count);
    }
    cla_text_free(&back);
    cla_ids_free(&again);
}

/* The first byte chooses the pieces, documents and the held-out part. */
void fuzz_stream(const uint8_t *data, size_t size)
{
    const int options = size ? *data : 0;
    const char *path = fuzz_file("stream.txt", data + !!size, size - !!size);
    language t = { .data = path,
                   .train_name = "train",
                   .dev_name = "dev",
                   .test_name = "test",
                   .sentencepiece = "",
                   .pieces = options % 3,
                   .documents = options & 4,
                   .hold_out = options & 8 ? 0.4 : 0,
                   .split = options & 16,
                   .merges = 20 };
    language_text dev = { .bytes = 0 };
    if (fuzz_ok(cla_language_read_training(&t, NULL, CLA_TASK_NEW))) {
        check(&t, &t.train);
        if (fuzz_ok(cla_language_read_split(&t, path, "dev", &dev)) && !t.hold_out) {
            FUZZ_CHECK(dev.ids.count == t.train.ids.count, "%zu pieces, then %zu",
                       t.train.ids.count, dev.ids.count);
        }
    }
    cla_language_text_free(&dev);
    cla_language_text_free(&t.train);
    cla_subwords_free(&t.subwords);
}
