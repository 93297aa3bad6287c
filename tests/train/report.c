/* report.c - lines of the log and of progress: lack of memory, scores, the time
 * left. */
#include "train/report.h"

#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "support/support.h"

enum { NEVER = 1 << 20 };

static int calls_left = NEVER; // Jansson's allocations until they fail

static void *json_block(size_t size)
{
    return calls_left-- > 0 ? malloc(size) : NULL;
}

/* Opens a report with a log in a folder of its own, which end() removes. */
static void begin(cla_report *r, char folder[32])
{
    snprintf(folder, 32, "/tmp/clattn-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    TEST_OK(cla_report_open(r, folder, false, 0, true));
}

static void end(cla_report *r, const char *folder)
{
    char path[64];
    cla_report_close(r);
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    unlink(path);
    rmdir(folder);
}

/* A line is complete, or the caller learns that there was no memory for it. */
Test(report, a_line_is_whole_or_out_of_memory)
{
    const cla_metrics m = { 2, { { "accuracy", 0.5 }, { "accuracy_oov", 0.25 } } };
    char folder[32], path[64], *text = NULL;
    size_t size = 0;
    cla_report r;
    begin(&r, folder);
    json_set_alloc_funcs(json_block, free);
    cla_status status = CLA_E_NOMEM;
    int n = 0;
    for (; status == CLA_E_NOMEM && n < 1000; n++) {
        calls_left = n;
        status = cla_report_metrics(&r, 3, 1, &m, 0, 3);
    }
    calls_left = NEVER;
    cr_assert_eq(status, CLA_OK);
    cr_assert_gt(n, 5);
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    TEST_OK(cla_file_read(path, &text, &size));
    char *time = strstr(text, ",\"time\":\"");
    cr_assert(time && strlen(time) == strlen(",\"time\":\"2026-01-31T23:59:59Z\"}\n"));
    cr_assert_str_eq(time + 28, "Z\"}\n");
    *time = '\0';
    cr_assert_str_eq(text, "{\"step\":3,\"epoch\":1,\"verdict\":\"new best\","
                           "\"accuracy\":0.5,\"accuracy_oov\":0.25");
    free(text);
    end(&r, folder);
}

/* A loss that is not finite is a numeric error, not one of the file. */
Test(report, a_loss_that_is_not_finite_is_numeric)
{
    const cla_metrics none = { 0 };
    char folder[32];
    cla_report r;
    begin(&r, folder);
    cr_assert_eq(cla_report_loss(&r, 3, 1, (double)NAN, 0.1, 5, &none), CLA_E_NUMERIC);
    cr_assert_eq(cla_report_loss(&r, 3, 1, (double)INFINITY, 0.1, 5, &none),
                 CLA_E_NUMERIC);
    end(&r, folder);
}

/* Unknown scores are left out. */
Test(report, lines_show_best_and_baseline)
{
    char text[128];
    cla_report r = { .baseline_name = "majority" };
    cla_report_scores(&r, text, sizeof text);
    cr_assert_str_eq(text, "");
    r.scored = true;
    r.best = 91.204;
    cla_report_scores(&r, text, sizeof text);
    cr_assert_str_eq(text, "  best 91.20");
    r.based = true;
    r.baseline = 85.3;
    cla_report_scores(&r, text, sizeof text);
    cr_assert_str_eq(text, "  best 91.20, majority 85.30");
}

/* 9,000 steps at 2 a second, on data of 50 steps an epoch: the limit of steps ends the
 * run long before 1,000 epochs. */
Test(report, first_limit_ends_the_run)
{
    const double done = cla_report_part(900.0 / 50, 1000, 900, 9000);
    cr_assert_float_eq(done, 0.1, 1e-12);
    cr_assert_float_eq(cla_report_left(450, 0, done), 4050, 1e-6);
    // no limit of steps, or one that the epochs come before
    cr_assert_float_eq(cla_report_part(18, 1000, 900, 0), 0.018, 1e-12);
    cr_assert_float_eq(cla_report_part(18, 20, 900, 9000), 0.9, 1e-12);
    cr_assert_eq(cla_report_part(21, 20, 900, 0), 1);
}

/* A resumed run had done three quarters before its clock started. */
Test(report, time_left_of_a_resumed_run)
{
    cr_assert_float_eq(cla_report_left(100, 0.75, 0.8), 400, 1e-9);
    cr_assert_eq(cla_report_left(100, 0.75, 0.75), 0); // no progress to estimate from
    cr_assert_eq(cla_report_left(100, 0.5, 1), 0);
}
