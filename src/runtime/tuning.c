/* tuning.c - constants that were measured best on a device.
 *
 * The file is JSON: { "device | driver": { "matmul_tile": { "MR": 6 } } }. A missing
 * file is none; a damaged one is named in a warning and not used, and so is a value
 * outside its constant's range. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "runtime/internal.h"

enum { POWER_OF_TWO = 0 };

/* A constant and its values: from least to most, multiples of step or powers of two. */
typedef struct constant {
    const char *name, *key; // kernel file and define
    int least, most, step;
} constant;

/* Every constant that cla_tuned() answers. The kernels compute rightly with each of
 * these values; outside them they do not (a group whose reductions need a power of two,
 * rows that a register tile must divide) or never end. */
static const constant constants[] = {
    { "attention", "BOTH", 0, 256, 1 },
    { "attention", "QUADS", 1, 2, 1 },
    { "attention", "ROWS", 32, 128, POWER_OF_TWO },
    { "attention", "UNROLL", 1, 16, POWER_OF_TWO },
    { "attention_backward_tile", "ITEMS", 0, 1024, 1 },
    { "attention_backward_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "band_attention", "ROWS", 32, 64, POWER_OF_TWO },
    { "band_attention", "UNROLL", 1, 16, POWER_OF_TWO },
    { "band_attention_2d", "ROWS", 32, 64, POWER_OF_TWO },
    { "band_attention_2d", "UNROLL", 1, 16, POWER_OF_TWO },
    { "band_attention_2d_tile", "KEYS", 48, 128, 16 },
    { "band_attention_2d_tile", "QUERIES", 16, 32, 16 },
    { "band_attention_tile", "KEYS", 48, 128, 16 },
    { "band_attention_tile", "QUERIES", 16, 32, 16 },
    { "clblast_direct", "KWID", 1, 64, POWER_OF_TWO },
    { "clblast_direct", "MDIMAD", 1, 64, POWER_OF_TWO },
    { "clblast_direct", "MDIMCD", 1, 64, POWER_OF_TWO },
    { "clblast_direct", "NDIMBD", 1, 64, POWER_OF_TWO },
    { "clblast_direct", "NDIMCD", 1, 64, POWER_OF_TWO },
    { "clblast_direct", "PADA", 0, 1, 1 },
    { "clblast_direct", "PADB", 0, 1, 1 },
    { "clblast_direct", "VWMD", 1, 16, POWER_OF_TWO },
    { "clblast_direct", "VWND", 1, 16, POWER_OF_TWO },
    { "clblast_direct", "WGD", 8, 256, POWER_OF_TWO },
    { "clblast_gemm", "GEMMK", 0, 1, 1 },
    { "clblast_gemm", "KREG", 1, 16, POWER_OF_TWO },
    { "clblast_gemm", "KWG", 1, 256, POWER_OF_TWO },
    { "clblast_gemm", "KWI", 1, 64, POWER_OF_TWO },
    { "clblast_gemm", "MDIMA", 1, 64, POWER_OF_TWO },
    { "clblast_gemm", "MDIMC", 1, 64, POWER_OF_TWO },
    { "clblast_gemm", "MWG", 8, 256, POWER_OF_TWO },
    { "clblast_gemm", "NDIMB", 1, 64, POWER_OF_TWO },
    { "clblast_gemm", "NDIMC", 1, 64, POWER_OF_TWO },
    { "clblast_gemm", "NWG", 8, 256, POWER_OF_TWO },
    { "clblast_gemm", "SA", 0, 1, 1 },
    { "clblast_gemm", "SB", 0, 1, 1 },
    { "clblast_gemm", "STRM", 0, 1, 1 },
    { "clblast_gemm", "STRN", 0, 1, 1 },
    { "clblast_gemm", "VWM", 1, 16, POWER_OF_TWO },
    { "clblast_gemm", "VWN", 1, 16, POWER_OF_TWO },
    { "clblast_routine", "XGEMM_MIN_INDIRECT_SIZE", 0, INT_MAX, 1 },
    { "conv_attention_2d", "FFT_SIDE", 1, 1024, 1 },
    { "conv_attention_2d", "WG", 64, 256, POWER_OF_TWO },
    { "conv_attention_2d_tile", "MR", 2, 6, 2 },
    { "custom_attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "gaussian_attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "masked_softmax", "WG", 32, 256, POWER_OF_TWO },
    { "masked_softmax_tile", "ROWS", 1, 256, 1 },
    { "matmul", "CLBLAST_FROM", 0, INT_MAX, 1 },
    { "matmul_group", "ITEMS", 1, 65536, 1 },
    { "matmul_group", "SIDE", 32, 128, POWER_OF_TWO },
    { "matmul_group", "UNROLL", 1, 16, POWER_OF_TWO },
    { "matmul_tile", "COLUMNS", 1, 65536, 1 },
    { "matmul_tile", "DEPTH", 1, 4096, 1 },
    { "matmul_tile", "MR", 1, 16, 1 },
    { "matmul_tile", "ROWS", 1, 4096, 1 },
    { "position_attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "relative_attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
};

static const constant *find_constant(const char *name, const char *key)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        const constant *c = &constants[i];
        if (strcmp(c->name, name) == 0 && strcmp(c->key, key) == 0) return c;
    }
    return NULL;
}

/* The reason why value is none of the constant's, in this thread's error text. */
static cla_status check_value(const char *name, const char *key, const json_t *value)
{
    const constant *c = find_constant(name, key);
    if (!c) return cla_fail(CLA_E_USAGE, "there is no constant %s %s", name, key);

    const json_int_t n = json_integer_value(value); // 0 for what is no whole number
    const bool on_step = c->step ? n % c->step == 0 : n > 0 && (n & (n - 1)) == 0;
    if (json_is_integer(value) && n >= c->least && n <= c->most && on_step) {
        return CLA_OK;
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    char step[48] = "a whole number";
    if (c->step > 1) snprintf(step, sizeof step, "a multiple of %d", c->step);
    if (c->step == POWER_OF_TWO) snprintf(step, sizeof step, "a power of two");
    cla_fail(CLA_E_USAGE, "%s %s is %.40s, must be %s from %d to %d", name, key,
             text ? text : "out of memory", step, c->least, c->most);
    free(text);
    return CLA_E_USAGE;
}

static cla_status device_key(const cla_runtime *rt, cla_text *key)
{
    return cla_text_add(key, "%s | %s | %s", rt->device.platform_name, rt->device.name,
                        rt->device.driver);
}

static cla_status find_path(cla_runtime *rt)
{
    const char *path = getenv("CLATTN_TUNING");
    if (path && *path) {
        return cla_strdup(&rt->tuning_path, path);
    }
    char *folder = NULL;
    if (!cla_data_folder(&folder)) {
        return CLA_OK;
    }
    cla_text text = { 0 };
    const cla_status status = cla_text_add(&text, "%s/tuning.json", folder);
    free(folder);
    rt->tuning_path = text.data;
    return status;
}

/* All devices' constants, an empty object where there is no (good) file. */
static json_t *read_all(const cla_runtime *rt)
{
    json_error_t error = { 0 };
    json_t *all = NULL;
    if (rt->tuning_path && access(rt->tuning_path, F_OK) == 0) {
        all = json_load_file(rt->tuning_path, 0, &error);
        if (!json_is_object(all)) {
            cla_log(CLA_LOG_WARN, "tuning: %s:%d: %s; using built-in constants",
                    rt->tuning_path, error.line,
                    *error.text ? error.text : "not an object");
            json_decref(all);
            all = NULL;
        }
    }
    return all ? all : json_object();
}

static cla_status set_value(cla_runtime *rt, const char *name, const char *key,
                            json_t *value)
{
    CLA_TRY(check_value(name, key, value));
    json_t *group = json_object_get(rt->tuning, name);
    if (!group) {
        group = json_object();
        if (json_object_set_new(rt->tuning, name, group)) {
            return cla_fail(CLA_E_NOMEM, "tuning: out of memory");
        }
    }
    return json_object_set(group, key, value)
               ? cla_fail(CLA_E_NOMEM, "tuning: out of memory")
               : CLA_OK;
}

static void warn_refused(const cla_runtime *rt)
{
    cla_log(CLA_LOG_WARN, "tuning: %s: %s; not used", rt->tuning_path, cla_error());
}

/* Whether an entry of the file has entries of its own; NULL is none. */
static bool is_object(const cla_runtime *rt, const char *name, const json_t *entry)
{
    if (entry && !json_is_object(entry)) {
        cla_fail(CLA_E_USAGE, "%s is not an object", name);
        warn_refused(rt);
    }
    return json_is_object(entry);
}

/* Copies a kernel file's constants that are in their ranges; names the others. */
static void take_group(cla_runtime *rt, const char *name, json_t *values)
{
    const char *key;
    json_t *value;
    json_object_foreach(values, key, value)
    {
        if (set_value(rt, name, key, value)) warn_refused(rt);
    }
}

cla_status cla_tuning_init(cla_runtime *rt)
{
    CLA_TRY(find_path(rt));
    cla_text text = { 0 };
    CLA_TRY(device_key(rt, &text));
    json_t *all = read_all(rt), *values;
    json_t *mine = json_object_get(all, text.data);
    const char *name;
    rt->tuning = json_object();
    if (!is_object(rt, text.data, mine)) mine = NULL;
    json_object_foreach(mine, name, values)
    {
        if (is_object(rt, name, values)) take_group(rt, name, values);
    }
    json_decref(all);
    cla_text_free(&text);
    return rt->tuning ? CLA_OK : cla_fail(CLA_E_NOMEM, "tuning: out of memory");
}

int cla_tuned(cla_runtime *rt, const char *name, const char *key, int fallback)
{
    assert(find_constant(name, key));
    const json_t *value = json_object_get(json_object_get(rt->tuning, name), key);
    return json_is_integer(value) ? (int)json_integer_value(value)
                                  : cla_class_constant(rt, name, key, fallback);
}

cla_status cla_tuning_set(cla_runtime *rt, const char *name, const char *key, int value)
{
    json_t *number = json_integer(value);
    const cla_status status = number ? set_value(rt, name, key, number)
                                     : cla_fail(CLA_E_NOMEM, "tuning: out of memory");
    json_decref(number);
    return status;
}

void cla_tuning_clear(cla_runtime *rt, const char *name, const char *key)
{
    json_object_del(json_object_get(rt->tuning, name), key);
}

static cla_status write_all(const cla_runtime *rt, json_t *all)
{
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_SORT_KEYS);
    if (!text) {
        return cla_fail(CLA_E_NOMEM, "tuning: out of memory");
    }
    char *slash = NULL;
    char *folder = NULL;
    cla_status status = cla_strdup(&folder, rt->tuning_path);
    if (!status && (slash = strrchr(folder, '/')) && slash != folder) {
        *slash = 0;
        status = cla_folder_make(folder);
    }
    status = status ? status : cla_file_write(rt->tuning_path, text, strlen(text));
    free(folder);
    free(text);
    return status;
}

cla_status cla_tuning_save(cla_runtime *rt, const char **path)
{
    if (!rt->tuning_path) {
        return cla_fail(CLA_E_IO, "tuning: no home folder; CLATTN_TUNING names a file");
    }
    cla_text key = { 0 };
    CLA_TRY(device_key(rt, &key));
    json_t *all = read_all(rt);
    cla_status status = json_object_set(all, key.data, rt->tuning)
                            ? cla_fail(CLA_E_NOMEM, "tuning: out of memory")
                            : write_all(rt, all);
    json_decref(all);
    cla_text_free(&key);
    *path = rt->tuning_path;
    return status;
}

void cla_tuning_hash(const cla_runtime *rt, char hash[17])
{
    char *text = json_dumps(rt->tuning, JSON_COMPACT | JSON_SORT_KEYS);
    const uint64_t h = text ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    snprintf(hash, 17, "%016llx", (unsigned long long)h);
}
