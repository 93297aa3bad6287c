/* held.c - inference holds the weights of each task once. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/support.h"
#include "train/checkpoint.h"
#include "train/loop.h"

/* ---- data ---------------------------------------------------------------------- */

#define WORD(n, form, tag) #n "\t" form "\t_\t" tag "\t_\t_\t_\t_\t_\t_\n"
static const char treebank[] = WORD(1, "le", "DET") WORD(2, "chat", "NOUN")
    WORD(3, "dort", "VERB") "\n" WORD(1, "la", "DET") WORD(2, "ville", "NOUN")
        WORD(3, "rit", "VERB") "\n";
static const char passages[] =
    "{\"data\": [{\"title\": \"t\", \"paragraphs\": [{\"context\": \"Ann sold red figs "
    "on day 4.\", \"qas\": [{\"id\": \"a\", \"question\": \"Who sold red figs?\", "
    "\"answers\": [{\"answer_start\": 0, \"text\": \"Ann\"}]}, {\"id\": \"b\", "
    "\"question\": \"What did Ann sell?\", \"answers\": [{\"answer_start\": 9, "
    "\"text\": \"red figs\"}]}]}]}]}\n";
#define POEM(lines) "tang\tpoet\ttitle\t" lines "\n"
#define POEMS                                           \
    POEM("春眠不覺曉|處處聞啼鳥|夜來風雨聲|花落知多少") \
    POEM("床前明月光|疑是地上霜|舉頭望明月|低頭思故鄉")
static const char poems[] = POEMS POEMS; // twice, so that pairs of letters are words

/* Of each task: what its files hold, and a network that is wide beside its words and
 * tags, which fill few panels. */
static const struct toy {
    const char *task;
    struct {
        const char *name, *text;
    } file[4];
    const char *set[8];
} toys[] = {
    { "tagger",
      { { "train.conllu", treebank },
        { "dev.conllu", treebank },
        { "test.conllu", treebank } },
      { "word_dim=64", "layers=2", "attention=conv2d", "batch=2" } },
    { "translator",
      { { "train.en", "a dog\na cat\n" },
        { "train.de", "ein hund\neine katze\n" },
        { "dev.en", "a dog\n" },
        { "dev.de", "ein hund\n" } },
      { "source=en", "target=de", "dim=128", "heads=2", "inner=512", "layers=2",
        "merges=9" } },
    { "reader",
      { { "train.json", passages }, { "dev.json", passages } },
      { "network=match_lstm", "word_dim=32", "hidden=64", "min_count=1", "batch=2" } },
    { "lm",
      { { "train.txt", "a dog runs.\na cat sleeps.\n" },
        { "dev.txt", "a dog sleeps.\n" } },
      { "dim=128", "heads=2", "layers=2", "context=8", "batch=2",
        "pieces=characters" } },
    { "poet",
      { { "train.tsv", poems }, { "val.tsv", poems }, { "test.tsv", poems } },
      { "hidden=64", "word_count=2", "word_ratio=2", "vector_epochs=1", "batch=4" } },
};

enum { TOYS = sizeof toys / sizeof *toys, SETTINGS = 8, FILES = 4 };

static const struct toy *toy_of(const char *task)
{
    for (int i = 0; i < TOYS; i++) {
        if (strcmp(toys[i].task, task) == 0) {
            return &toys[i];
        }
    }
    cr_assert_fail("%s: no data in tests/tasks/held.c", task);
    return NULL;
}

/* ---- runs ---------------------------------------------------------------------- */

typedef struct fixture {
    char root[32], run[48];
    cla_runtime *rt;
} fixture;

static void set(cla_config *s, const char *key, const char *value)
{
    char text[96];
    snprintf(text, sizeof text, "%s=%s", key, value);
    TEST_OK(cla_config_set(s, text));
}

static void train(fixture *f, const struct toy *toy)
{
    cla_config s = { .values = json_object(), .known = json_object() };
    cla_train_result result = { 0 };
    const cla_train_options options = { .out = f->run,
                                        .quiet = true,
                                        .parallel = { .size = 1 } };
    TEST_OK(cla_strdup(&s.path, "test"));
    set(&s, "model", toy->task);
    set(&s, "data", f->root);
    set(&s, "steps", "1");
    for (int i = 0; i < SETTINGS && toy->set[i]; i++) {
        TEST_OK(cla_config_set(&s, toy->set[i]));
    }
    TEST_OK(cla_train(f->rt, &s, &options, &result));
    cla_config_fini(&s);
}

static void make(fixture *f, const struct toy *toy)
{
    *f = (fixture){ .root = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->root));
    snprintf(f->run, sizeof f->run, "%s/run", f->root);
    for (int i = 0; i < FILES && toy->file[i].name; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", f->root, toy->file[i].name);
        TEST_OK(cla_file_write(path, toy->file[i].text, strlen(toy->file[i].text)));
    }
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    cla_runtime_set_schedule(f->rt, CLA_SCHEDULE_TILE);
    train(f, toy);
}

static void unmake(fixture *f)
{
    char command[64];
    cla_runtime_free(&f->rt);
    snprintf(command, sizeof command, "rm -r %s", f->root);
    cr_assert_eq(system(command), 0);
}

/* The memory of a model's weights. */
typedef struct held {
    size_t plain, all; // bytes of the elements; of all that is kept for them
    int turned;
} held;

static held weigh(const cla_params *params)
{
    held h = { .all = params->values.bytes };
    for (size_t i = 0; i < params->count; i++) {
        const cla_tensor *t = params->list[i].tensor;
        h.plain += (size_t)cla_size(t) * cla_width(t->dtype);
        h.turned += t->turned.order.other;
        for (size_t k = 0; k < sizeof t->form / sizeof *t->form; k++) {
            h.all += t->form[k].memory.part ? 0 : t->form[k].memory.bytes;
        }
    }
    return h;
}

/* Evaluates the trained model twice. Gives its memory then, and writes its state to
 * `state` in the run's folder. */
static cla_metrics use(const fixture *f, bool may_turn, held *h, const char *state)
{
    cla_task *task = NULL;
    cla_metrics metrics = { 0 };
    char path[80];
    TEST_OK(cla_task_load(&task, f->rt, f->run,
                          &(cla_model_options){ .weights = CLA_WEIGHTS_FLOAT32 }));
    for (size_t i = 0; i < task->params.count && !may_turn; i++) {
        task->params.list[i].tensor->turned.back = INT_MAX;
    }
    for (int i = 0; i < 2; i++) {
        metrics = (cla_metrics){ 0 };
        TEST_OK(task->kind->evaluate(task, NULL, task->kind->dev_split, &metrics));
    }
    *h = weigh(&task->params);
    snprintf(path, sizeof path, "%s/%s", f->run, state);
    TEST_OK(cla_checkpoint_save(path, &task->params, NULL, &(cla_progress){ 0 }));
    cla_task_close(&task);
    return metrics;
}

static void check_same_files(const fixture *f, const char *a, const char *b)
{
    const char *const names[] = { a, b };
    char *data[2], path[80];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", f->run, names[i]);
        TEST_OK(cla_file_read(path, &data[i], &size[i]));
    }
    cr_assert(size[0] == size[1] && !memcmp(data[0], data[1], size[0]),
              "the state has other numbers after inference");
    free(data[0]);
    free(data[1]);
}

/* Panels take the place of the elements: at most a tenth of memory more, for those that
 * fill up. Scores and the state are the same as with panels beside the elements. */
Test(held, weights_of_each_task_once)
{
    for (size_t i = 0; cla_tasks[i]; i++) {
        fixture f;
        held once, beside;
        make(&f, toy_of(cla_tasks[i]->name));
        const cla_metrics got = use(&f, true, &once, "a");
        const cla_metrics want = use(&f, false, &beside, "b");
        printf("%s: %zu bytes of weights, %zu held, %zu with panels beside\n",
               cla_tasks[i]->name, once.plain, once.all, beside.all);
        cr_assert(once.turned > 1 && !beside.turned, "%s: %d turned",
                  cla_tasks[i]->name, once.turned);
        cr_assert(once.all <= once.plain + once.plain / 10, "%s: %zu bytes for %zu",
                  cla_tasks[i]->name, once.all, once.plain);
        cr_assert_gt(beside.all, once.all);
        cr_assert_eq(got.count, want.count);
        for (int k = 0; k < got.count; k++) {
            cr_assert(!memcmp(&got.row[k].value, &want.row[k].value, sizeof(double)),
                      "%s: %s is %g, was %g", cla_tasks[i]->name, got.row[k].name,
                      got.row[k].value, want.row[k].value);
        }
        check_same_files(&f, "a", "b");
        unmake(&f);
    }
}
