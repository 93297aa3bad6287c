/* serve_detect.c - the language of a text, by libexttextcat: the only file that has
 * it. It compares the n-grams of a text with those of each language. */
#include <stdio.h>
#include <string.h>
#include <textcat.h>

#include "base/file.h"
#include "base/platform.h"
#include "cli/serve.h"

enum { MOST_BYTES = 4096 }; // of a text that are looked at

struct serve_detector {
    void *handle;
};

/* Returns whether a fingerprint's name such as "de--utf8" is that of a code "de". */
static bool is_of(const char *name, const char *code)
{
    const size_t size = strcspn(code, "-_");
    return size && strncmp(name, code, size) == 0 && name[size] == '-';
}

static bool is_source(const serve_models *m, const char *name)
{
    for (int i = 0; i < m->count; i++) {
        const serve_model *t = &m->item[i];
        for (size_t k = 0; k < t->source_count; k++) {
            if (is_of(name, t->targets[k])) {
                return true;
            }
        }
        if (!t->source_count && is_of(name, t->source)) {
            return true;
        }
    }
    return false;
}

/* Appends the lines of libexttextcat's list whose language some translator reads. */
static cla_status choose_lines(const serve_models *m, cla_text *out)
{
    char *all = NULL, *next = NULL;
    size_t size = 0;
    CLA_TRY(cla_file_read(CLATTN_TEXTCAT "/fpdb.conf", &all, &size));
    cla_status status = cla_text_append(out, "", 0);
    for (char *line = strtok_r(all, "\r\n", &next); line && !status;
         line = strtok_r(NULL, "\r\n", &next)) {
        const char *name = line + strcspn(line, " \t");
        name += strspn(name, " \t");
        status = *line != '#' && is_source(m, name) ? cla_text_add(out, "%s\n", line)
                                                    : CLA_OK;
    }
    free(all);
    return status;
}

/* Reads the fingerprints that a list names. The library takes the list from a file. */
static cla_status open_list(serve_detector *d, const cla_text *list)
{
    char folder[1024], path[1040];
    snprintf(folder, sizeof folder, "%s/clattn-XXXXXX", cla_os_temporary());
    if (!cla_os_make_unique(folder)) {
        return cla_fail(CLA_E_IO, "cannot make a folder in %s", cla_os_temporary());
    }
    snprintf(path, sizeof path, "%s/list", folder);
    cla_status status = cla_file_write(path, list->data, list->size);
    if (!status) {
        d->handle = special_textcat_Init(path, CLATTN_TEXTCAT "/");
        status = d->handle ? CLA_OK
                           : cla_fail(CLA_E_IO,
                                      "cannot read fingerprints in " CLATTN_TEXTCAT);
    }
    cla_os_remove(path);
    cla_os_remove_folder(folder);
    return status;
}

cla_status serve_detector_new(serve_detector **out, const serve_models *m)
{
    cla_text list = { 0 };
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    cla_status status = choose_lines(m, &list);
    status = status || list.size ? status
                                 : cla_fail(CLA_E_INPUT, "libexttextcat knows none of "
                                                         "the models' languages");
    status = status ? status : open_list(*out, &list);
    cla_text_free(&list);
    if (status) {
        serve_detector_free(out);
        return status;
    }
    textcat_SetProperty((*out)->handle, TCPROP_MINIMUM_DOCUMENT_SIZE, 1);
    return CLA_OK;
}

void serve_detector_free(serve_detector **detector)
{
    if (*detector && (*detector)->handle) {
        textcat_Done((*detector)->handle);
    }
    free(*detector);
    *detector = NULL;
}

json_t *serve_detect(const serve_detector *d, const char *text, size_t size)
{
    json_t *list = json_array();
    candidate_t *found = textcat_GetClassifyFullOutput(d->handle);
    const int n =
        found ? textcat_ClassifyFull(d->handle, text,
                                     size < MOST_BYTES ? size : MOST_BYTES, found)
              : 0;
    for (int i = 0; i < n; i++) {
        json_array_append_new(list,
                              json_pack("{s:i,s:s%}", "confidence", 100 / n, "language",
                                        found[i].name, strcspn(found[i].name, "-")));
    }
    if (found) {
        textcat_ReleaseClassifyFullOutput(d->handle, found);
    }
    return list;
}
