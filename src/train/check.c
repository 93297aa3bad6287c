/* check.c - checks every file of a model folder against its hash. */
#include "train/check.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "train/checkpoint.h"
#include "train/folder.h"
#include "train/integrity.h"

static const char config_name[] = "config.json", best_name[] = "best.ckpt.safetensors",
                  last_name[] = "last.ckpt.safetensors", state_end[] = ".safetensors";

typedef struct check {
    const char *dir;
    cla_check_say say;
    void *context;
    json_t *files; // hashes that config.json has; NULL: none
    int64_t best_step;
    int bad;
    cla_status first; // failure
} check;

/* Reports the result for one file; the text of a failure is cla_error(). */
static void tell(check *c, cla_status status, const char *verdict, const char *name,
                 const char *what)
{
    c->bad += status != CLA_OK;
    c->first = c->first ? c->first : status;
    c->say(c->context, status ? "BAD" : verdict, name, status ? cla_error() : what);
}

/* ---- config.json and the files that it names --------------------------------- */

static void check_config(check *c)
{
    cla_config settings = { 0 };
    char what[64] = "";
    const cla_status status = cla_folder_read(c->dir, &settings, &c->files);
    snprintf(what, sizeof what, "%zu settings", json_object_size(settings.values));
    tell(c, status, c->files ? "ok" : "no hash", config_name, what);
    cla_config_fini(&settings);
}

static void check_named(check *c)
{
    const char *name = NULL;
    json_t *hash = NULL;
    json_object_foreach(c->files, name, hash)
    {
        const char *said = json_string_value(hash);
        tell(c, cla_folder_compare(c->dir, name, hash), "ok", name, said ? said : "");
    }
}

/* ---- states ------------------------------------------------------------------ */

/* Checks a state. States of a run hold its progress; exports and averages do not. */
static cla_status check_state(check *c, const char *name, const char *path,
                              bool *sealed, cla_text *what)
{
    cla_st_file f;
    cla_progress p = { 0 };
    int64_t numbers = 0;
    CLA_TRY(cla_state_open(&f, path, true));
    const bool progress = cla_st_meta(&f, "epoch") != NULL;
    cla_status status = progress ? cla_checkpoint_progress(&f, path, &p) : CLA_OK;
    for (size_t i = 0; i < f.count; i++) {
        numbers += f.tensors[i].size;
    }
    *sealed = f.sealed;
    if (!status && strcmp(name, last_name) == 0) {
        c->best_step = p.best_step;
    }
    status = status ? status
                    : cla_text_add(what, "%lld numbers in %zu tensors",
                                   (long long)numbers, f.count);
    if (!status && progress) {
        status = cla_text_add(what, ", step %lld", (long long)p.step);
    }
    cla_st_close(&f);
    return status;
}

static void check_weights(check *c, const char *name)
{
    cla_text path = { 0 }, what = { 0 };
    bool sealed = false;
    cla_status status = cla_text_add(&path, "%s/%s", c->dir, name);
    status = status ? status : check_state(c, name, path.data, &sealed, &what);
    tell(c, status, sealed ? "ok" : "no hash", name, what.data ? what.data : "");
    cla_text_free(&path);
    cla_text_free(&what);
}

/* ---- the folder -------------------------------------------------------------- */

static void check_entry(check *c, const char *name)
{
    if (name[0] == '.' || strcmp(name, config_name) == 0 ||
        json_object_get(c->files, name)) {
        return;
    }
    if (cla_ends_in(name, state_end)) {
        check_weights(c, name);
    } else if (cla_ends_in(name, ".tmp")) {
        tell(c, CLA_OK, "not covered", name, "left by a process that was killed");
    } else {
        tell(c, CLA_OK, c->files ? "not covered" : "no hash", name, "");
    }
}

/* Reports missing weights: a model needs a state, and a run whose last state names a
 * best step needs the best state. */
static void check_missing(check *c)
{
    const bool best = cla_folder_holds(c->dir, best_name);
    if (c->best_step && !best) {
        tell(c,
             cla_fail(CLA_E_INPUT, "%s/%s: is missing: %s has it from step %lld",
                      c->dir, best_name, last_name, (long long)c->best_step),
             "", best_name, "");
    } else if (!best && !cla_folder_holds(c->dir, last_name)) {
        tell(c, cla_fail(CLA_E_INPUT, "%s: holds no weights", c->dir), "", best_name,
             "");
    }
}

cla_status cla_folder_check(const char *dir, cla_check_say say, void *context, int *bad)
{
    check c = { .dir = dir, .say = say, .context = context };
    char **names = NULL;
    size_t count = 0;
    *bad = 0;
    CLA_TRY(cla_folder_names(dir, &names, &count));
    check_config(&c);
    check_named(&c);
    for (size_t i = 0; i < count; i++) {
        check_entry(&c, names[i]);
    }
    check_missing(&c);
    cla_folder_list_free(&names, count);
    json_decref(c.files);
    *bad = c.bad;
    return c.first;
}
