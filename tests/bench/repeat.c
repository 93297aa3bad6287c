/* repeat.c - commands that repeat a case, devices of two files, and loads. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "bench/command.h"
#include "bench/identity.h"
#include "bench/load.h"
#include "support/support.h"

/* The filter of a case matches its name and no other, whatever letters it has. */
Test(repeat, filters_match_one_name)
{
    for (int letter = 1; letter < 256; letter++) {
        const char name[] = { 'a', (char)letter, (char)letter, 'b', '\0' };
        const char longer[] = { 'a', (char)letter, (char)letter, 'b', 'b', '\0' };
        cla_text pattern = { 0 };
        regex_t re;
        TEST_OK(bench_command_filter(&pattern, name));
        cr_assert_eq(regcomp(&re, pattern.data, REG_EXTENDED), 0, "%s", pattern.data);
        cr_expect_eq(regexec(&re, name, 0, NULL, 0), 0, "letter %d", letter);
        cr_expect(letter == 'x' || regexec(&re, "axxb", 0, NULL, 0), "%d", letter);
        cr_expect_neq(regexec(&re, longer, 0, NULL, 0), 0, "letter %d", letter);
        cr_expect_neq(regexec(&re, "ab", 0, NULL, 0), 0, "letter %d", letter);
        regfree(&re);
        cla_text_free(&pattern);
    }
}

/* A shell makes the same words of the command again. */
Test(repeat, a_shell_reads_the_same_words)
{
    const bench_options given = { .suite = "softmax",
                                  .custom = "s * 'it' + \"$x\"",
                                  .filter = "left out",
                                  .json = "left out.json",
                                  .quick = true,
                                  .verify = true };
    const bench_repeat one = { .name = "a + b[h]",
                               .device = "my card",
                               .schedule = "group" };
    cla_text line = { 0 }, script = { 0 };
    char said[512] = "";
    setenv("CLATTN_GEMM", "clblast", 1);
    setenv("CLATTN_KERNEL_PATH", "a folder", 1);
    setenv("CLATTN_SCHEDULE", "tile", 1);
    TEST_OK(bench_command_repeat(&line, &given, &one));
    cr_assert(!strstr(line.data, "left out"));
    TEST_OK(cla_text_add(
        &script,
        "clattn() { for word; do printf '%%s\\n' \"$word\"; done; "
        "echo \"$CLATTN_GEMM $CLATTN_KERNEL_PATH $CLATTN_SCHEDULE\"; }; %s",
        line.data));
    FILE *shell = popen(script.data, "r");
    cr_assert(shell);
    said[fread(said, 1, sizeof said - 1, shell)] = '\0';
    cr_assert_eq(pclose(shell), 0);
    cr_assert_str_eq(said, "bench\n--device\nmy card\n--suite\nsoftmax\n--custom\n"
                           "s * 'it' + \"$x\"\n--filter\n^a \\+ b\\[h]$\n--quick\n"
                           "--verify\nclblast a folder group\n");
    cla_text_free(&line);
    cla_text_free(&script);
}

/* ---- devices ------------------------------------------------------------------- */

static bench_result row(const char *name, int index, const char *uuid,
                        const char *driver)
{
    return (bench_result){ .name = "c",
                           .provider = "tile",
                           .device = name,
                           .index = index,
                           .uuid = uuid,
                           .driver = driver,
                           .ms = { .median = 1 } };
}

/* Returns the place in b of the device of a's first row; -1: none. */
static int peer_of(bench_result *a, size_t a_count, bench_result *b, size_t b_count)
{
    const bench_results of_a = { .rows = a, .count = a_count };
    const bench_results of_b = { .rows = b, .count = b_count };
    bench_devices x = { 0 }, y = { 0 };
    TEST_OK(bench_devices_of(&x, &of_a));
    TEST_OK(bench_devices_of(&y, &of_b));
    bench_devices_match(&x, &y);
    const int peer = x.device[0].peer;
    bench_devices_fini(&x);
    bench_devices_fini(&y);
    return peer;
}

Test(repeat, devices_of_two_files)
{
    bench_result one = row("X", 0, "aa", "1");
    bench_result same[] = { row("Y", 0, "bb", "1"), row("X", 1, "aa", "2") };
    cr_assert_eq(peer_of(&one, 1, same, 2), 1); // moved, and with a new driver
    bench_result other[] = { row("X", 0, "bb", "1") };
    cr_assert_eq(peer_of(&one, 1, other, 1), -1); // an equal card
    bench_result renamed[] = { row("Z", 0, "aa", "1") };
    cr_assert_eq(peer_of(&one, 1, renamed, 1), 0); // by another driver
    bench_result old[] = { row("X", -1, NULL, NULL) };
    cr_assert_eq(peer_of(&one, 1, old, 1), 0); // of an older version
    cr_assert_eq(peer_of(old, 1, &one, 1), 0);
    bench_result second = row("X", 1, NULL, "1");
    bench_result two[] = { row("X", 0, NULL, "1"), row("X", 1, NULL, "1") };
    cr_assert_eq(peer_of(&second, 1, two, 2), 1); // the place tells equal cards apart
    cr_assert_eq(peer_of(two, 2, &second, 1), -1);
}

Test(repeat, rows_that_repeat)
{
    bench_result rows[] = { row("X", 0, NULL, "1"), row("X", 1, NULL, "1"),
                            row("X", 0, NULL, "1"), row("Y", 0, NULL, "1") };
    const bench_results t = { .path = "f", .rows = rows, .count = 4 };
    const bench_result *first = NULL;
    cr_assert(bench_repeated(&t, &first) == 1 && first == &rows[2]);
}

/* ---- load ---------------------------------------------------------------------- */

/* A CPU device loads all processors itself, a card one; before the run nothing does. */
Test(repeat, loads_that_disturb)
{
    const cla_device cpu = { .kind = CLA_DEVICE_CPU };
    const cla_device card = { .kind = CLA_DEVICE_GPU };
    bench_load l = bench_load_now(&cpu, true);
    const double processors = (double)l.processors;
    cr_assert(l.processors >= 1 && l.most == 1.5 * processors);
    cr_assert(bench_load_now(&card, true).most == 1 + 0.5 * processors);
    cr_assert(bench_load_now(NULL, false).most == 0.5 * processors);
    l.load = 9 * processors;
    cr_assert(bench_load_is_high(&l));
    l.load = -1; // unknown
    cr_assert(!bench_load_is_high(&l));
}
