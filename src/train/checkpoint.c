/* checkpoint.c - the state of a run in one safetensors file. */
#include "train/checkpoint.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/quantise.h"
#include "base/text.h"
#include "train/integrity.h"
#include "train/weights.h"

/* Names and host copies of all saved tensors. */
typedef struct bundle {
    cla_st_tensor *tensors;
    char (*names)[96];
    size_t count;
} bundle;

static void free_bundle(bundle *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free((void *)b->tensors[i].data);
    }
    free(b->tensors);
    free(b->names);
}

/* Adds one parameter's part of a block as the tensor prefix/name. */
static cla_status add(bundle *b, const cla_params *params, const cla_memory *block,
                      const cla_param *p, const char *prefix)
{
    const int64_t size = cla_size(p->tensor);
    float *host = NULL;
    CLA_TRY(cla_alloc(&host, (size_t)size + 1, sizeof *host));
    cla_st_tensor *t = &b->tensors[b->count];
    snprintf(b->names[b->count], sizeof *b->names, "%s%s%s", prefix, *prefix ? "/" : "",
             p->name);
    *t = (cla_st_tensor){ b->names[b->count], CLA_ST_F32, p->rank, { 0 }, size, host };
    memcpy(t->shape, p->shape, (size_t)p->rank * sizeof *p->shape);
    b->count++;
    return cla_memory_read(params->rt, block, p->offset, host, (size_t)size * 4);
}

static cla_status gather(bundle *b, const cla_params *params, const cla_optim *optim)
{
    const size_t room = params->count * (1 + OPTIM_MOMENTS) + 1;
    CLA_TRY(cla_alloc(&b->tensors, room, sizeof *b->tensors));
    CLA_TRY(cla_alloc(&b->names, room, sizeof *b->names));
    for (size_t i = 0; i < params->count; i++) {
        CLA_TRY(add(b, params, &params->values, &params->list[i], ""));
    }
    char name[OPTIM_NAME];
    for (int m = 0; optim && cla_optim_moment_name(optim, m, name); m++) {
        for (size_t i = 0; i < params->count; i++) {
            CLA_TRY(add(b, params, &optim->moment[m], &params->list[i], name));
        }
    }
    return CLA_OK;
}

/* ---- progress as text -------------------------------------------------------- */

/* The integers of the progress: key, offset and valid range. */
static const struct whole {
    const char *key;
    size_t place;
    int64_t high;  // the largest value; the smallest is 0
    bool may_lack; // states of older versions lack the key
} wholes[] = {
    { "step", offsetof(cla_progress, step), UINT32_MAX, false },
    { "epoch", offsetof(cla_progress, epoch), 1 << 20, false },
    { "next", offsetof(cla_progress, next), INT64_C(1) << 40, false },
    { "stale", offsetof(cla_progress, stale), UINT32_MAX, false },
    { "best_step", offsetof(cla_progress, best_step), UINT32_MAX, false },
    { "high", offsetof(cla_progress, high), 1 << 20, true },
};

static const struct number {
    const char *key;
    size_t place;
    bool may_lack;
} reals[] = {
    { "best", offsetof(cla_progress, best), false },
    { "loss_sum", offsetof(cla_progress, loss_sum), false },
    { "loss_weight", offsetof(cla_progress, loss_weight), false },
    { "first_loss", offsetof(cla_progress, first_loss), true },
};

enum { WHOLES = sizeof wholes / sizeof *wholes, REALS = sizeof reals / sizeof *reals };

static cla_status put(json_t *meta, const char *key, const char *text)
{
    return json_object_set_new(meta, key, json_string(text))
               ? cla_fail(CLA_E_NOMEM, "checkpoint: out of memory")
               : CLA_OK;
}

static cla_status put_int(json_t *meta, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return put(meta, key, text);
}

/* Stores the bits of a double as hexadecimal digits, so that nothing is rounded. */
static cla_status put_double(json_t *meta, const char *key, double value)
{
    uint64_t bits = 0;
    char text[32];
    memcpy(&bits, &value, sizeof bits);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)bits);
    return put(meta, key, text);
}

static cla_status put_progress(json_t *meta, const cla_progress *p, const char *tuning)
{
    for (int i = 0; i < WHOLES; i++) {
        const void *at = (const char *)p + wholes[i].place;
        CLA_TRY(put_int(meta, wholes[i].key, *(const int64_t *)at));
    }
    CLA_TRY(put_int(meta, "finished", p->finished));
    for (int i = 0; i < REALS; i++) {
        const void *at = (const char *)p + reals[i].place;
        CLA_TRY(put_double(meta, reals[i].key, *(const double *)at));
    }
    return put(meta, "tuning", tuning);
}

cla_status cla_checkpoint_save(const char *path, const cla_params *params,
                               const cla_optim *optim, const cla_progress *progress)
{
    bundle b = { 0 };
    char tuning[17];
    CLA_TRY(cla_tuning_hash(params->rt, tuning));
    json_t *meta = json_object();
    cla_status status = put_progress(meta, progress, tuning);
    status = status ? status : gather(&b, params, optim);
    status = status ? status : cla_st_save(path, b.tensors, b.count, meta);
    free_bundle(&b);
    json_decref(meta);
    return status;
}

/* ---- loading ----------------------------------------------------------------- */

/* Finds the text of a key; *text is NULL when it is missing and may be. */
static cla_status get_text(const cla_st_file *f, const char *path, const char *key,
                           bool may_lack, const char **text)
{
    *text = cla_st_meta(f, key);
    return *text || may_lack
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: no checkpoint of a run ('%s' is missing)",
                          path, key);
}

static cla_status get_int(const cla_st_file *f, const char *path,
                          const struct whole *entry, int64_t *value)
{
    const char *text = NULL;
    *value = 0;
    CLA_TRY(get_text(f, path, entry->key, entry->may_lack, &text));
    if (!text) return CLA_OK;
    return cla_parse_int(text, value) && *value >= 0 && *value <= entry->high
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: %s is %.40s, must be 0 to %lld", path,
                          entry->key, text, (long long)entry->high);
}

static cla_status get_double(const cla_st_file *f, const char *path,
                             const struct number *entry, double *value)
{
    const char *text = NULL;
    *value = 0;
    CLA_TRY(get_text(f, path, entry->key, entry->may_lack, &text));
    if (!text) return CLA_OK;
    const bool digits = strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
    const uint64_t bits = digits ? strtoull(text, NULL, 16) : 0;
    memcpy(value, &bits, sizeof bits);
    return digits && !isnan(*value)
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: %s is %.40s, must be the bits of a number in 16 "
                          "hexadecimal digits",
                          path, entry->key, text);
}

/* Checks the numbers against each other and the sums for finite values. */
static cla_status check_progress(const char *path, const cla_progress *p)
{
    if (p->best_step > p->step || p->stale > p->step || p->epoch > p->step) {
        return cla_fail(CLA_E_INPUT,
                        "%s: step is %lld, but epoch is %lld, best_step %lld, stale "
                        "%lld: none can be larger",
                        path, (long long)p->step, (long long)p->epoch,
                        (long long)p->best_step, (long long)p->stale);
    }
    return isfinite(p->loss_sum) && isfinite(p->loss_weight) && p->loss_weight >= 0 &&
                   isfinite(p->first_loss)
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: loss_sum is %g, loss_weight %g, first_loss %g: must be "
                          "finite, the weight at least 0",
                          path, p->loss_sum, p->loss_weight, p->first_loss);
}

cla_status cla_checkpoint_progress(const cla_st_file *f, const char *path,
                                   cla_progress *p)
{
    static const struct whole finished = { "finished", 0, 1, false };
    int64_t flag = 0;
    *p = (cla_progress){ 0 };
    for (int i = 0; i < WHOLES; i++) {
        void *at = (char *)p + wholes[i].place;
        CLA_TRY(get_int(f, path, &wholes[i], at));
    }
    for (int i = 0; i < REALS; i++) {
        void *at = (char *)p + reals[i].place;
        CLA_TRY(get_double(f, path, &reals[i], at));
    }
    CLA_TRY(get_int(f, path, &finished, &flag));
    p->finished = flag;
    return check_progress(path, p);
}

/* Finds the file's tensor prefix/name for a parameter and checks its type and shape. */
static cla_status match(const cla_st_file *f, const char *path, const cla_param *p,
                        const char *prefix, const cla_st_tensor **out)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "/" : "", p->name);
    const cla_st_tensor *t = cla_st_find(f, name);
    if (!t) {
        return cla_fail(CLA_E_INPUT, "%s: tensor '%s' is missing", path, name);
    }
    bool same = t->dtype != CLA_ST_I32 && t->rank == p->rank;
    for (int i = 0; i < p->rank && same; i++) {
        same = t->shape[i] == p->shape[i];
    }
    *out = t;
    if (same && t->dtype == CLA_ST_I8) {
        const cla_st_tensor *scale = NULL;
        bool by_rows = false;
        return *prefix ? cla_fail(CLA_E_INPUT, "%s: tensor '%s' has 8 bits", path, name)
                       : cla_st_scale(f, path, t, &scale, &by_rows);
    }
    return same ? CLA_OK
                : cla_fail(CLA_E_INPUT,
                           "%s: tensor '%s' has %lld numbers in %d axes, the "
                           "model's is %s",
                           path, name, (long long)t->size, t->rank,
                           cla_shape_text(p->tensor));
}

/* Writes a moment of the optimiser; cla_weights_write writes parameters. */
static cla_status write_moment(const cla_st_tensor *t, const cla_params *params,
                               const cla_memory *block, size_t offset)
{
    float *numbers = NULL;
    CLA_TRY(cla_alloc(&numbers, (size_t)t->size + 1, sizeof *numbers));
    cla_st_floats(t, numbers);
    const cla_status status =
        cla_memory_write(params->rt, block, offset, numbers, (size_t)t->size * 4);
    free(numbers);
    return status;
}

/* Checks (write false) or copies one set of tensors, and gives their memory back; found
 * counts them. */
static cla_status walk(const cla_st_file *f, const char *path, cla_params *params,
                       const cla_memory *block, const char *prefix, bool write,
                       size_t *found)
{
    for (size_t i = 0; i < params->count; i++) {
        const cla_st_tensor *t = NULL;
        CLA_TRY(match(f, path, &params->list[i], prefix, &t));
        assert(t);
        (*found)++;
        if (write) {
            const cla_param *p = &params->list[i];
            CLA_TRY(block == &params->values
                        ? cla_weights_write(params, p, f, path, t)
                        : write_moment(t, params, block, p->offset));
            cla_st_release(t);
        }
    }
    return CLA_OK;
}

static cla_status walk_all(const cla_st_file *f, const char *path, cla_params *params,
                           cla_optim *optim, bool write)
{
    size_t found = 0;
    CLA_TRY(walk(f, path, params, &params->values, "", write, &found));
    char name[OPTIM_NAME];
    for (int m = 0; optim && cla_optim_moment_name(optim, m, name); m++) {
        CLA_TRY(walk(f, path, params, &optim->moment[m], name, write, &found));
    }
    if (optim && found < f->count) {
        return cla_fail(CLA_E_INPUT,
                        "%s: %zu tensors, the model and optimiser have %zu", path,
                        f->count, found);
    }
    return CLA_OK;
}

static cla_status warn_of_tuning(const cla_st_file *f, const char *path,
                                 const cla_params *params)
{
    char tuning[17];
    CLA_TRY(cla_tuning_hash(params->rt, tuning));
    const char *saved = cla_st_meta(f, "tuning");
    if (saved && strcmp(saved, tuning) != 0) {
        cla_log(CLA_LOG_WARN,
                "%s was written under tuning %s, this is %s: results may differ "
                "in the last bits",
                path, saved, tuning);
    }
    return CLA_OK;
}

static cla_status load(const cla_st_file *f, const char *path, cla_params *params,
                       cla_optim *optim)
{
    CLA_TRY(walk_all(f, path, params, optim, false));
    const cla_status status = walk_all(f, path, params, optim, true);
    cla_params_changed(params);
    return status;
}

cla_status cla_checkpoint_take(const cla_st_file *file, const char *path,
                               cla_params *params)
{
    return load(file, path, params, NULL);
}

cla_status cla_checkpoint_load(const char *path, cla_params *params, cla_optim *optim,
                               cla_progress *progress)
{
    cla_st_file f;
    cla_progress p = { 0 };
    CLA_TRY(cla_state_open(&f, path, optim != NULL));
    cla_status status = progress ? cla_checkpoint_progress(&f, path, &p) : CLA_OK;
    status = status ? status : load(&f, path, params, optim);
    if (!status && progress) {
        *progress = p;
        status = warn_of_tuning(&f, path, params);
    }
    cla_st_close(&f);
    return status;
}
