/* source.c - kernel text: embedded in the library, or read from CLATTN_KERNEL_PATH. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "runtime/internal.h"
#include "runtime/kernels.h"

enum { INCLUDES = 16 };

typedef struct flattener {
    const cla_runtime *rt;
    const char *generated;
    cla_text *out;
    char included[INCLUDES][KERNEL_NAME];
    int count;
} flattener;

static cla_status read_file(const flattener *f, const char *name, char **text)
{
    const cla_runtime *rt = f->rt;
    if (f->generated && strcmp(name, "generated.clh") == 0) {
        return cla_strdup(text, f->generated);
    }
    if (rt->kernel_path) {
        cla_text path = { 0 };
        size_t size = 0;
        CLA_TRY(cla_text_add(&path, "%s/%s", rt->kernel_path, name));
        const cla_status status = cla_file_read(path.data, text, &size);
        cla_text_free(&path);
        return status ? cla_fail_within(status, "CLATTN_KERNEL_PATH") : CLA_OK;
    }
    for (const cla_kernel_file *k = cla_kernel_files; k->name; k++) {
        if (strcmp(k->name, name) == 0) {
            return cla_strdup(text, (const char *)k->text);
        }
    }
    return cla_fail(CLA_E_USAGE, "runtime: no kernel file '%s'", name);
}

/* Gives the file named by an #include line, or returns false. Functions that read to
 * the end of the text would take longer, on every line, than the rest of the work. */
static bool include_name(const char *line, size_t size, char name[KERNEL_NAME])
{
    static const char word[] = "#include \"";
    const size_t begin = sizeof word - 1;
    if (size <= begin || memcmp(line, word, begin) != 0) {
        return false;
    }
    const char *end = memchr(line + begin, '"', size - begin);
    const size_t length = end ? (size_t)(end - line) - begin : 0;
    if (length == 0 || length >= KERNEL_NAME) {
        return false;
    }
    memcpy(name, line + begin, length);
    name[length] = '\0';
    return true;
}

static bool first_time(flattener *f, const char *name)
{
    for (int i = 0; i < f->count; i++) {
        if (strcmp(f->included[i], name) == 0) {
            return false;
        }
    }
    if (f->count < INCLUDES) {
        snprintf(f->included[f->count++], KERNEL_NAME, "%s", name);
    }
    return true;
}

// NOLINTBEGIN(misc-no-recursion): as deep as files include each other; limited
static cla_status flatten(flattener *f, const char *name, int depth);

/* Adds the replacement of an #include line: file other if it is new, and a #line. */
static cla_status flatten_include(flattener *f, const char *name, int number,
                                  const char *other, int depth)
{
    if (first_time(f, other)) CLA_TRY(flatten(f, other, depth + 1));
    return cla_text_add(f->out, "#line %d \"%s\"\n", number + 1, name);
}

static cla_status flatten_lines(flattener *f, const char *name, const char *text,
                                int depth)
{
    CLA_TRY(cla_text_add(f->out, "#line 1 \"%s\"\n", name));
    int number = 1;
    size_t left = strlen(text);
    for (const char *line = text; left; number++) {
        const char *end = memchr(line, '\n', left);
        const size_t size = end ? (size_t)(end - line) + 1 : left;
        char other[KERNEL_NAME];
        const bool include = include_name(line, size, other);
        CLA_TRY(include ? flatten_include(f, name, number, other, depth)
                        : cla_text_append(f->out, line, size));
        line += size;
        left -= size;
    }
    return cla_text_append(f->out, "\n", 1);
}

/* Adds the lines of a file; an #include line is replaced by the file it names. */
static cla_status flatten(flattener *f, const char *name, int depth)
{
    if (depth > INCLUDES) {
        return cla_fail(CLA_E_USAGE, "runtime: kernel file '%s' includes itself", name);
    }
    char *text = NULL;
    CLA_TRY(read_file(f, name, &text));
    assert(text);
    const cla_status status = flatten_lines(f, name, text, depth);
    free(text);
    return status;
}
// NOLINTEND(misc-no-recursion)

cla_status cla_source_get(const cla_runtime *rt, const char *file,
                          const char *generated, cla_text *out)
{
    flattener f = { .rt = rt, .generated = generated, .out = out };
    char name[KERNEL_NAME];
    snprintf(name, sizeof name, "%s.cl", file);
    CLA_TRY(flatten(&f, "prelude.cl", 0));
    return flatten(&f, name, 0);
}
