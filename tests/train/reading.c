/* reading.c - a reader's data, and a tiny one that learns some questions by heart. */
#include "train/reading.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/support.h"
#include "train/step.h"

enum { PASSAGES = 16, QUESTIONS = 32 };

/* Sixteen passages with two questions each. */
static void write_data(const char *folder)
{
    static const char *const who[] = { "Ann", "Bob", "Eve", "Tom" };
    static const char *const what[] = { "red figs", "ripe plums", "green peas", "rye" };
    cla_text json = { 0 };
    char path[256];
    TEST_OK(cla_text_add(&json, "{\"data\": [{\"title\": \"t\", \"paragraphs\": ["));
    for (int i = 0; i < PASSAGES; i++) {
        const char *name = who[i % 4], *food = what[(i / 4 + i) % 4];
        TEST_OK(cla_text_add(
            &json,
            "%s{\"context\": \"%s%s sold %s on day %d.\", \"qas\": ["
            "{\"id\": \"a%d\", \"question\": \"What did %s sell?\", \"answers\": "
            "[{\"answer_start\": %d, \"text\": \"%s\"}]}, "
            "{\"id\": \"b%d\", \"question\": \"Who sold %s?\", \"answers\": "
            "[{\"answer_start\": %d, \"text\": \"%s\"}]}]}",
            i ? ", " : "", i % 3 ? "" : "So ", name, food, i, i, name, (i % 3 ? 9 : 12),
            food, i, food, (i % 3 ? 0 : 3), name));
    }
    TEST_OK(cla_text_add(&json, "]}]}"));
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.json", folder, i ? "dev" : "train");
        TEST_OK(cla_file_write(path, json.data, json.size));
    }
    cla_text_free(&json);
}

static cla_task *open_reader(cla_runtime *rt, cla_config *settings, const char *folder,
                             const char *const *extra)
{
    static const char *const small[] = { "model=reader",   "word_dim=12", "trait_dim=4",
                                         "hidden=12",      "min_count=1", "batch=8",
                                         "optimiser=adam", "lr=0.02" };
    cla_task *task = NULL;
    char data[256];
    *settings = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&settings->path, "test"));
    snprintf(data, sizeof data, "data=%s", folder);
    TEST_OK(cla_config_set(settings, data));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        TEST_OK(cla_config_set(settings, small[i]));
    }
    for (; *extra; extra++) {
        TEST_OK(cla_config_set(settings, *extra));
    }
    TEST_OK(cla_task_open(&task, rt, settings, NULL, CLA_TASK_NEW));
    return task;
}

/* Some epochs; the mean loss of the last one. */
static double train(cla_task *task, cla_config *settings, int epochs)
{
    cla_stepper s;
    cla_parallel parallel = { .size = 1 };
    int64_t order[QUESTIONS], step = 0;
    double sum = 0;
    TEST_OK(cla_stepper_configure(&s, task->kind, settings));
    TEST_OK(cla_stepper_init(&s, task, &parallel));
    for (int e = 0; e < epochs; e++) {
        sum = 0;
        TEST_OK(cla_stepper_order(&s, order, e));
        for (int64_t at = 0, n = 0; at < QUESTIONS; at += n) {
            cla_step_result result = { .stop = false };
            n = cla_stepper_take(&s, at);
            TEST_OK(cla_stepper_step(&s, order + at, n, step++, &result));
            sum += result.loss * (double)n / QUESTIONS;
        }
    }
    cla_stepper_fini(&s);
    return sum;
}

typedef struct scene {
    char folder[32];
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
} scene;

static void begin(scene *s, const char *const *extra)
{
    *s = (scene){ .folder = "/tmp/clattn-reading-XXXXXX" };
    cr_assert_not_null(mkdtemp(s->folder));
    write_data(s->folder);
    TEST_OK(cla_runtime_new(&s->rt, NULL));
    s->task = open_reader(s->rt, &s->settings, s->folder, extra);
}

static void end(scene *s)
{
    char path[64];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.json", s->folder, i ? "dev" : "train");
        unlink(path);
    }
    rmdir(s->folder);
    cla_task_close(&s->task);
    cla_config_fini(&s->settings);
    cla_runtime_free(&s->rt);
}

Test(reading, learns_questions_by_heart)
{
    static const char *const extra[] = { NULL };
    cla_metrics m = { 0 };
    scene s;
    begin(&s, extra);
    cr_assert_eq(s.task->examples, QUESTIONS);
    const double loss = train(s.task, &s.settings, 40);
    cr_assert_lt(loss, 0.1, "the loss is %g", loss);
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    cr_assert_str_eq(m.row[0].name, "f1");
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(m.row[i].value, 100, "%s is %g", m.row[i].name, m.row[i].value);
    }
    cr_assert_eq(m.row[3].value, QUESTIONS);
    end(&s);
}

Test(reading, learns_by_heart_with_bidaf)
{
    static const char *const extra[] = { "network=bidaf", "depth=2", "ham_q2c=true",
                                         NULL };
    cla_metrics m = { 0 };
    scene s;
    begin(&s, extra);
    const double loss = train(s.task, &s.settings, 40);
    cr_assert_lt(loss, 0.1, "the loss is %g", loss);
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    cr_assert_eq(m.row[0].value, 100, "%s is %g", m.row[0].name, m.row[0].value);
    end(&s);
}

/* Each question once an epoch; lengths in a batch fall; epochs differ. */
Test(reading, epochs_have_each_question_once)
{
    static const char *const extra[] = { "batch=5", NULL };
    int64_t order[2][QUESTIONS];
    bool seen[QUESTIONS] = { false };
    scene s;
    begin(&s, extra);
    const reading *t = (const reading *)s.task;
    for (int e = 0; e < 2; e++) {
        TEST_OK(s.task->kind->order(s.task, order[e], e));
    }
    for (int i = 0; i < QUESTIONS; i++) {
        const int64_t at = order[0][i];
        cr_assert(at >= 0 && at < QUESTIONS && !seen[at]);
        seen[at] = true;
        cr_assert(i % 5 == 0 || reading_length(&t->train, order[0][i - 1]) >=
                                    reading_length(&t->train, at));
    }
    cr_assert(memcmp(order[0], order[1], sizeof order[0]) != 0);
    end(&s);
}

/* The n best differ, fall, and keep to the limit. */
Test(reading, answers_keep_to_the_limit)
{
    enum { BEST = 4 };
    static const char *const extra[] = { "answer_limit=2", NULL };
    cla_answer out[QUESTIONS * BEST];
    size_t found[QUESTIONS];
    scene s;
    begin(&s, extra);
    reading *t = (reading *)s.task;
    TEST_OK(reading_answers(t, &t->train, BEST, out, found));
    for (int i = 0; i < QUESTIONS; i++) {
        cr_assert_eq(found[i], BEST);
        for (int k = 0; k < BEST; k++) {
            const cla_answer *a = &out[i * BEST + k];
            cr_assert(a->first <= a->last && a->last < a->first + 2 && a->score < 0);
            cr_assert(a->last < reading_length(&t->train, i));
            cr_assert(k == 0 || a->score <= a[-1].score);
        }
    }
    end(&s);
}

/* Vectors from a file are there from the start, and stay where frozen. */
Test(reading, begins_from_given_vectors)
{
    char path[64], setting[80];
    const char *const extra[] = { setting, "freeze=true", "word_dim=3", "lower=true",
                                  NULL };
    static const char vectors[] = "2 3\nsold 1 2 3\nnowhere 4 5 6\n";
    snprintf(path, sizeof path, "/tmp/clattn-vectors-%ld", (long)getpid());
    snprintf(setting, sizeof setting, "vectors=%s", path);
    TEST_OK(cla_file_write(path, vectors, sizeof vectors - 1));
    scene s;
    begin(&s, extra);
    reading *t = (reading *)s.task;
    train(s.task, &s.settings, 1);
    float *table = calloc(t->words.count * 3, sizeof *table);
    TEST_OK(cla_tensor_download(t->model.words, table));
    const float *sold = table + 3 * cla_vocab_find(&t->words, "sold");
    cr_assert(sold[0] == 1 && sold[1] == 2 && sold[2] == 3);
    cr_assert_eq(cla_vocab_find(&t->words, "nowhere"), -1);
    free(table);
    unlink(path);
    end(&s);
}
