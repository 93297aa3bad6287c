/* prepared.c - texts as numbers in files: kept, found, damaged, made by one of many. */
#include "text/prepared.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/platform.h"

#define OK(expr) cr_assert_eq(expr, CLA_OK, "%s", cla_error())

enum { TEXT = CLA_PREPARED_LEAST, NUMBERS = 1000 };

typedef struct fixture {
    char folder[32], text[64];
    const char *texts[1];
    int32_t numbers[NUMBERS];
    cla_part part[2];
} fixture;

static void write_text(const fixture *f, size_t size, char letter)
{
    char *text = malloc(size);
    cr_assert_not_null(text);
    memset(text, letter, size);
    OK(cla_file_write(f->text, text, size));
    free(text);
}

static void make(fixture *f)
{
    *f = (fixture){ .folder = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->folder));
    snprintf(f->text, sizeof f->text, "%s/text", f->folder);
    f->texts[0] = f->text;
    for (int i = 0; i < NUMBERS; i++) {
        f->numbers[i] = 7 * i;
    }
    f->part[0] = (cla_part){ "word", 4 };
    f->part[1] = (cla_part){ f->numbers, sizeof f->numbers };
    write_text(f, TEXT, 'x');
}

static void unmake(fixture *f)
{
    OK(cla_folder_remove(f->folder));
}

static void open_as(const fixture *f, const char *settings, cla_prepared *p)
{
    const cla_prepared_of of = { f->text, settings, f->texts, 1, 2 };
    OK(cla_prepared_open(p, &of));
}

static void keep(const fixture *f)
{
    cla_prepared p;
    open_as(f, "a", &p);
    cr_assert_not(p.found);
    OK(cla_prepared_keep(&p, f->part));
    cla_prepared_close(&p);
}

static bool found(const fixture *f, const char *settings)
{
    cla_prepared p;
    open_as(f, settings, &p);
    const bool there = p.found;
    if (there) {
        cr_assert_eq(p.part[0].size, 4);
        cr_assert_eq(p.part[1].size, sizeof f->numbers);
        cr_assert(memcmp(p.part[0].data, "word", 4) == 0);
        cr_assert(memcmp(p.part[1].data, f->numbers, sizeof f->numbers) == 0);
        cr_assert_eq((uintptr_t)p.part[1].data % 64, 0);
    }
    cla_prepared_close(&p);
    return there;
}

/* Gives the path of the one file of prepared data. */
static void find(const fixture *f, char path[160])
{
    char **names = NULL;
    size_t count = 0, files = 0;
    OK(cla_folder_names(f->folder, &names, &count));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], "text") != 0) {
            snprintf(path, 160, "%s/%s", f->folder, names[i]);
            files++;
        }
    }
    cr_assert_eq(files, 1);
    cla_folder_list_free(&names, count);
}

Test(prepared, is_found_again)
{
    fixture f;
    char path[160];
    make(&f);
    keep(&f);
    find(&f, path); // no lock, no temporary file
    cr_assert(found(&f, "a"));
    cr_assert_not(found(&f, "b"), "of other settings");
    cr_assert(found(&f, "a"));
    write_text(&f, TEXT, 'y');
    cr_assert_not(found(&f, "a"), "of another text of the same size");
    keep(&f);
    cr_assert(found(&f, "a"));
    unmake(&f);
}

/* No byte of a file but its padding may differ, and none may be missing. */
Test(prepared, damage_is_found)
{
    fixture f;
    char path[160], *data = NULL;
    size_t size = 0;
    make(&f);
    keep(&f);
    find(&f, path);
    OK(cla_file_read(path, &data, &size));
    for (size_t at = 0; at < size; at += at < 320 ? 1 : 97) {
        data[at] ^= 4;
        OK(cla_file_write(path, data, size));
        cr_assert_not(found(&f, "a"), "byte %zu of %zu", at, size);
        data[at] ^= 4;
    }
    for (size_t less = 0; less < size; less += 513) {
        OK(cla_file_write(path, data, less));
        cr_assert_not(found(&f, "a"), "%zu of %zu bytes", less, size);
    }
    OK(cla_file_write(path, data, size));
    cr_assert(found(&f, "a"));
    free(data);
    unmake(&f);
}

/* Data that is whole and yet not what it should be is made again. */
Test(prepared, refused_data_is_made_again)
{
    fixture f;
    cla_prepared p;
    make(&f);
    keep(&f);
    open_as(&f, "a", &p);
    cr_assert(p.found);
    cla_fail(CLA_E_INPUT, "holds no pairs");
    OK(cla_prepared_refuse(&p));
    cr_assert_not(p.found);
    OK(cla_prepared_keep(&p, f.part));
    cla_prepared_close(&p);
    cr_assert(found(&f, "a"));
    unmake(&f);
}

Test(prepared, not_for_short_texts_and_pipes)
{
    fixture f;
    make(&f);
    write_text(&f, TEXT - 1, 'x');
    keep(&f);
    cr_assert_not(found(&f, "a"));
    cr_assert_eq(unlink(f.text), 0);
    cr_assert_eq(mkfifo(f.text, 0600), 0);
    cr_assert_not(found(&f, "a")); // returns at once
    unmake(&f);
}

/* Without the right to write beside the text, it is split at each start. */
Test(prepared, folder_that_cannot_be_written)
{
    fixture f;
    make(&f);
    cr_assert_eq(chmod(f.folder, 0500), 0);
    if (geteuid() != 0) { // root may write anyway
        keep(&f);
        cr_assert_not(found(&f, "a"));
    }
    cr_assert_eq(chmod(f.folder, 0700), 0);
    unmake(&f);
}

/* One process makes the data; the others wait and find it. */
Test(prepared, one_process_makes_it)
{
    enum { OTHERS = 3 };
    fixture f;
    cla_prepared p;
    pid_t child[OTHERS];
    make(&f);
    open_as(&f, "a", &p);
    cr_assert_not(p.found);
    for (int i = 0; i < OTHERS; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            cla_os_close(p.lock); // a copy of a descriptor holds its lock, too
            _exit(found(&f, "a") ? 0 : 1);
        }
    }
    usleep(200000);
    for (int i = 0; i < OTHERS; i++) {
        cr_assert_eq(waitpid(child[i], NULL, WNOHANG), 0, "it did not wait");
    }
    OK(cla_prepared_keep(&p, f.part));
    cla_prepared_close(&p);
    for (int i = 0; i < OTHERS; i++) {
        int status = -1;
        waitpid(child[i], &status, 0);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    unmake(&f);
}

/* If a process is killed while it makes the data, others do not wait for it. */
Test(prepared, killed_maker_is_no_obstacle)
{
    fixture f;
    int status = 0;
    make(&f);
    const pid_t child = fork();
    if (child == 0) {
        cla_prepared p;
        open_as(&f, "a", &p);
        _exit(p.found);
    }
    waitpid(child, &status, 0);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    keep(&f);
    cr_assert(found(&f, "a"));
    unmake(&f);
}
