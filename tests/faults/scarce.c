/* scarce.c - functions that could hide a failed allocation and silently change a run:
 * each allocation fails once, and the result is the right one or CLA_E_NOMEM.
 *
 * The linker puts the functions below in front of the allocator's; Jansson uses the
 * first of them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "nn/param.h"
#include "runtime/runtime.h"
#include "support/support.h"
#include "text/msmarco.h"
#include "train/folder.h"
#include "train/report.h"

/* ---- allocations that fail ---------------------------------------------------- */

static int left = -1; // calls until one fails; negative: none fails

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

/* Calls `work` with its first allocation failing, then its second, until none fails.
 * `work` returns a status other than CLA_OK and CLA_E_NOMEM for a wrong result. */
static void starve(cla_status (*work)(void *), void *state)
{
    bool reached = true;
    int failed = 0;
    json_set_alloc_funcs(__wrap_malloc, free);
    for (int n = 0; reached; n++) {
        left = n;
        const cla_status status = work(state);
        reached = left < 0;
        left = -1;
        failed += status == CLA_E_NOMEM;
        cr_assert(!status || (status == CLA_E_NOMEM && reached),
                  "allocation %d failed: status %d, %s", n, status, cla_error());
    }
    cr_assert_gt(failed, 0);
}

/* ---- functions under test ------------------------------------------------------ */

static char dir[] = "/tmp/clattn-scarce-XXXXXX";

static const char *at(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void begin(void)
{
    cr_assert_not_null(mkdtemp(dir));
}

static void end(void)
{
    static const char *const names[] = { "log.jsonl", "config.json", "lock" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unlink(at(names[i]));
    }
    rmdir(dir);
}

typedef struct hashed {
    cla_runtime *rt;
    char want[17];
} hashed;

static cla_status hash(void *state)
{
    const hashed *h = state;
    char got[17];
    CLA_TRY(cla_tuning_hash(h->rt, got));
    return strcmp(got, h->want) == 0
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "hash %s, must be %s", got, h->want);
}

Test(scarce, hash_of_the_tuning)
{
    cla_runtime *rt = test_runtime();
    hashed h = { .rt = rt };
    TEST_OK(cla_tuning_hash(rt, h.want));
    starve(hash, &h);
    cla_runtime_free(&rt);
}

static cla_status claim(void *state)
{
    cla_folder folder;
    (void)state;
    const cla_status status = cla_folder_claim(&folder, dir, true);
    cla_folder_release(&folder);
    return status;
}

Test(scarce, a_folder_with_a_run, .init = begin, .fini = end)
{
    TEST_OK(cla_file_write(at("config.json"), "{}\n", 3));
    starve(claim, NULL);
}

static const char lines[] = "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":2.25}\n";
static const char later[] = "{\"step\":3,\"loss\":2}\n{\"step\":4,\"lo";

static cla_status check_lines(const char *want)
{
    char *data = NULL;
    size_t size = 0;
    CLA_TRY(cla_file_read(at("log.jsonl"), &data, &size));
    const bool same = size == strlen(want) && memcmp(data, want, size) == 0;
    const cla_status status =
        same ? CLA_OK : cla_fail(CLA_E_INPUT, "log.jsonl is %s", data);
    free(data);
    return status;
}

static cla_status open_log(void *state)
{
    char all[sizeof lines + sizeof later];
    cla_report report = { 0 };
    const int n = left;
    (void)state;
    left = -1;
    snprintf(all, sizeof all, "%s%s", lines, later);
    CLA_TRY(cla_file_write(at("log.jsonl"), all, strlen(all)));
    left = n;
    const cla_status status = cla_report_open(&report, dir, true, 2, true);
    const int rest = left;
    left = -1;
    cla_report_close(&report);
    const cla_status checked = check_lines(status ? all : lines);
    left = rest;
    return checked ? checked : status;
}

Test(scarce, lines_of_the_log, .init = begin, .fini = end)
{
    starve(open_log, NULL);
}

typedef struct drawn {
    cla_runtime *rt;
    float want[12];
    bool known;
} drawn;

/* Draws a matrix [3,4] as taggers do. */
static cla_status draw(void *state)
{
    drawn *d = state;
    cla_params params = { 0 };
    cla_tensor *w = NULL;
    float got[12];
    const cla_init init = { CLA_INIT_GLOROT_NORMAL, 0, 3, 4 };
    cla_status status =
        cla_param_add(&params, &w, init, 2, (int64_t[]){ 3, 4 }, "matrix");
    status = status ? status : cla_params_build(&params, d->rt, 42);
    status = status ? status : cla_tensor_download(w, got);
    if (!status && d->known && memcmp(got, d->want, sizeof got) != 0) {
        status = cla_fail(CLA_E_INPUT, "other values");
    }
    if (!status) {
        memcpy(d->want, got, sizeof got);
    }
    cla_params_free(&params);
    return status;
}

Test(scarce, initial_values)
{
    drawn d = { 0 };
    TEST_OK(cla_runtime_new(&d.rt, NULL)); // no guards: parameters are parts of a block
    TEST_OK(draw(&d));
    d.known = true;
    starve(draw, &d);
    cla_runtime_free(&d.rt);
}

typedef struct converted {
    json_t *line, *want;
} converted;

static cla_status convert(void *state)
{
    const converted *c = state;
    json_t *question = NULL;
    const char *what = NULL;
    const cla_status status = cla_msmarco_question(&question, c->line, &what);
    const bool same = status || !c->want || json_equal(question, c->want);
    json_decref(question);
    return what || !same ? cla_fail(CLA_E_INPUT, "%s", what ? what : "parts are lost")
                         : status;
}

Test(scarce, question_of_msmarco)
{
    static const char text[] =
        "{\"query\":\"Where is it?\",\"query_id\":7,\"answers\":[\"on a hill\"],"
        "\"passages\":[{\"passage_text\":\"It is on a hill.\",\"is_selected\":1}]}";
    const char *what = NULL;
    converted c = { .line = json_loads(text, 0, NULL) };
    cr_assert_not_null(c.line);
    TEST_OK(cla_msmarco_question(&c.want, c.line, &what));
    starve(convert, &c);
    json_decref(c.line);
    json_decref(c.want);
}

typedef struct said {
    const char *text, *want;
} said;

static cla_status say(void *state)
{
    const said *s = state;
    json_t *string = cli_json_text(s->text);
    const bool same = string && strcmp(json_string_value(string), s->want) == 0;
    const cla_status status =
        !string ? cla_fail(CLA_E_NOMEM, "out of memory")
        : same  ? CLA_OK
                : cla_fail(CLA_E_INPUT, "the text is %s", json_string_value(string));
    json_decref(string);
    return status;
}

Test(scarce, text_of_json)
{
    starve(say, &(said){ "\xC3\x9C", "\xC3\x9C" });
    starve(say, &(said){ "\xC3\x9C\xFF.", "???." }); // not UTF-8
}
