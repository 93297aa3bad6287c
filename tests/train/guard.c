/* guard.c - errors that stop a run or its resumption: losses, progress, folders. */
#include "train/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "exchange/export.h"
#include "support/support.h"
#include "train/folder.h"
#include "train/integrity.h"

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/clattn-guard-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void drop_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(guard, .init = make_folder, .fini = drop_folder);

/* ---- system calls that fail -------------------------------------------------- */

static int flock_error, stat_error;

int flock(int fd, int operation)
{
    if (!flock_error) return (int)syscall(SYS_flock, fd, operation);
    errno = flock_error;
    return -1;
}

int lstat(const char *restrict path, struct stat *restrict info)
{
    if (!stat_error || !strstr(path, "best.ckpt")) {
        return fstatat(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
    }
    errno = stat_error;
    return -1;
}

Test(guard, tells_a_lock_that_is_held_from_one_that_fails)
{
    cla_folder f;
    flock_error = EWOULDBLOCK;
    TEST_FAILS(cla_folder_claim(&f, folder, false), CLA_E_USAGE, "another process");
    cla_folder_release(&f);
    flock_error = ENOLCK;
    TEST_FAILS(cla_folder_claim(&f, folder, false), CLA_E_IO, "lock: cannot be locked");
    cla_folder_release(&f);
    flock_error = 0;
    TEST_OK(cla_folder_claim(&f, folder, false));
    cla_folder_release(&f);
}

static const char *weights(void)
{
    static cla_text path;
    cla_text_free(&path);
    TEST_OK(cla_task_weights(&path, folder));
    return strrchr(path.data, '/') + 1;
}

/* The last state is used only where the best one does not exist. */
Test(guard, serves_no_other_state_for_one_that_cannot_be_read)
{
    cr_assert_str_eq(weights(), "last.ckpt.safetensors");
    stat_error = EIO;
    cr_assert_str_eq(weights(), "best.ckpt.safetensors");
    stat_error = EACCES;
    cr_assert_str_eq(weights(), "best.ckpt.safetensors");
    stat_error = ENOENT;
    cr_assert_str_eq(weights(), "last.ckpt.safetensors");
}

/* ---- losses ------------------------------------------------------------------ */

/* Returns the step at which the guard stops a run with losses[i] times[i] times, or
 * 0. */
static int64_t steps_until(cla_progress *p, const double *losses, const int *times)
{
    for (int i = 0; times[i]; i++) {
        for (int n = 0; n < times[i]; n++) {
            p->step++;
            const cla_status status = cla_guard_loss(p, losses[i]);
            cr_assert(!status || status == CLA_E_NUMERIC);
            if (status) return p->step;
        }
    }
    return 0;
}

Test(guard, stops_after_twenty_high_losses_in_a_row)
{
    cla_progress p = { 0 };
    cr_assert_eq(steps_until(&p, (double[]){ 3, 1e9 }, (int[]){ 1, 50, 0 }), 21);
    cr_assert_not_null(strstr(cla_error(), "it began with 3"));
    p = (cla_progress){ 0 };
    cr_assert_eq(
        steps_until(&p, (double[]){ 3, 30, 29.9, 30 }, (int[]){ 1, 19, 1, 19, 0 }), 0);
    cr_assert_eq(p.high, 19);
    p = (cla_progress){ 0 }; // a warm start: its first loss is no measure
    cr_assert_eq(steps_until(&p, (double[]){ 0.01, 5, 10 }, (int[]){ 1, 99, 20, 0 }),
                 120);
    p = (cla_progress){ .step = 7 }; // a state without a first loss
    cr_assert_eq(steps_until(&p, (double[]){ 2, 20 }, (int[]){ 1, 20, 0 }), 28);
}

/* ---- progress ---------------------------------------------------------------- */

static cla_status read_progress(const char *key, const char *text, cla_progress *p)
{
    static const char *const keys[] = { "step",  "epoch",     "next",
                                        "stale", "best_step", "finished" };
    static const char *const values[] = { "9", "2", "4", "1", "6", "0" };
    char path[96];
    cla_st_file f;
    const float x = 1;
    const cla_st_tensor tensor = { .name = "x", .rank = 0, .data = &x };
    json_t *meta =
        json_pack("{ssssssss}", "best", "4059000000000000", "loss_sum",
                  "4008000000000000", "loss_weight", "4000000000000000", "tuning", "");
    for (int i = 0; i < 6; i++) {
        json_object_set_new(meta, keys[i], json_string(values[i]));
    }
    if (key) json_object_set_new(meta, key, json_string(text));
    snprintf(path, sizeof path, "%s/last.ckpt.safetensors", folder);
    TEST_OK(cla_st_save(path, &tensor, 1, meta));
    json_decref(meta);
    TEST_OK(cla_st_open(&f, path));
    const cla_status status = cla_checkpoint_progress(&f, path, p);
    cla_st_close(&f);
    return status;
}

Test(guard, reads_progress)
{
    cla_progress p;
    TEST_OK(read_progress(NULL, NULL, &p));
    cr_assert(p.step == 9 && p.epoch == 2 && p.next == 4 && p.stale == 1 &&
              p.best_step == 6 && !p.finished);
    cr_assert(p.best == 100 && p.loss_sum == 3 && p.loss_weight == 2);
    cr_assert(p.first_loss == 0 && p.high == 0); // a state of an older version
    TEST_OK(read_progress("first_loss", "4008000000000000", &p));
    cr_assert_eq(p.first_loss, 3);
}

Test(guard, refuses_progress_that_no_run_has)
{
    static const struct {
        const char *key, *text, *says;
    } lies[] = {
        { "next", "-8", "next is -8, must be 0 to" },
        { "next", "-9223372036854775808", "next is -9223372036854775808" },
        { "next", "9223372036854775808", "next is 9223372036854775808" },
        { "step", "9223372036854775807", "step is 9223372036854775807" },
        { "step", "-1", "step is -1" },
        { "step", "4294967296", "must be 0 to 4294967295" },
        { "step", "1e3", "step is 1e3" },
        { "step", " 1", "step is  1" },
        { "step", "", "step is , must" },
        { "step", "1", "none can be larger" },
        { "epoch", "-1", "epoch is -1" },
        { "epoch", "10", "none can be larger" },
        { "stale", "10", "none can be larger" },
        { "best_step", "10", "none can be larger" },
        { "finished", "2", "finished is 2, must be 0 to 1" },
        { "high", "-1", "high is -1" },
        { "best", "7ff8000000000000", "best is 7ff8000000000000" },
        { "best", "40590000000000000", "best is 4059" },
        { "best", "100", "best is 100, must be the bits" },
        { "loss_sum", "7ff0000000000000", "loss_sum is inf" },
        { "loss_weight", "bff0000000000000", "loss_weight -1" },
        { "first_loss", "fff0000000000000", "first_loss -inf" },
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        cla_progress p;
        TEST_FAILS(read_progress(lies[i].key, lies[i].text, &p), CLA_E_INPUT,
                   lies[i].says);
    }
}

/* ---- export ------------------------------------------------------------------ */

/* An export that is stopped before its first file leaves nothing. */
Test(guard, an_export_that_is_stopped_leaves_nothing)
{
    char run[96], out[96], path[128];
    const volatile int signal = 15;
    int64_t numbers = 0;
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    TEST_OK(cla_folder_make(run));
    snprintf(path, sizeof path, "%s/config.json", run);
    TEST_OK(cla_file_write(path, "{\"model\": \"tagger\"}", 19));
    TEST_FAILS(
        cla_export(run, &(cla_export_options){ .signal = &signal }, out, &numbers),
        CLA_E_IO, "stopped by a signal");
    cr_assert_neq(access(out, F_OK), 0);
}

/* ---- claiming a folder --------------------------------------------------------- */

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool exists(const char *name)
{
    struct stat info;
    return lstat(path_of(name), &info) == 0;
}

static void claim(const char *name)
{
    cla_folder f;
    TEST_OK(cla_folder_claim(&f, path_of(name), false));
    cla_folder_release(&f);
}

/* "[a]" is a glob pattern that matches the other folder, "a". */
Test(guard, a_claim_cleans_its_own_folder_alone)
{
    TEST_OK(cla_folder_make(path_of("a")));
    TEST_OK(cla_folder_make(path_of("[a]")));
    TEST_OK(cla_file_write(path_of("a/x.1-1.tmp"), "x", 1));
    TEST_OK(cla_file_write(path_of("[a]/x.1-1.tmp"), "x", 1));
    claim("[a]");
    cr_expect(exists("a/x.1-1.tmp"));
    cr_expect_not(exists("[a]/x.1-1.tmp"));
}

Test(guard, a_claim_removes_temporary_files_alone)
{
    static const char *const kept[] = { "a/x.tmp", "a/x.1.tmp", "a/x.1-1.tmp.txt",
                                        "a/.1-1.tmp", "a/x.a-1.tmp" };
    TEST_OK(cla_folder_make(path_of("a/folder.1-1.tmp")));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        TEST_OK(cla_file_write(path_of(kept[i]), "x", 1));
    }
    TEST_OK(cla_file_write(path_of("a/last.ckpt.safetensors.123-4.tmp"), "x", 1));
    claim("a");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        cr_expect(exists(kept[i]), "%s", kept[i]);
    }
    cr_expect(exists("a/folder.1-1.tmp"));
    cr_expect_not(exists("a/last.ckpt.safetensors.123-4.tmp"));
}
