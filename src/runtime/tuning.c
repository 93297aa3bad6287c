/* tuning.c - constants that were measured best on a device.
 *
 * The file is JSON: { "platform | device | driver": { "matmul_tile": { "MR": 6 } } }.
 * It may be missing. A damaged file is named in a warning and not used, and so is a
 * value outside its constant's range. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "base/writable.h"
#include "runtime/internal.h"
#include "runtime/tuning_file.h"

enum { POWER_OF_TWO = 0 };

/* A constant and its values: from least to most, multiples of step or powers of two. */
typedef struct constant {
    const char *name, *key; // kernel file and define
    int least, most, step;
} constant;

/* All constants of cla_tuned(). The kernels compute correctly with each of these
 * values. With others they do not (the reductions of a group need a power of two, a
 * register tile must divide rows) or never end. */
static const constant constants[] = {
    { "attention", "AHEAD", 0, 1, 1 },
    { "attention", "BOTH", 0, 256, 1 },
    { "attention", "QUADS", 1, 2, 1 },
    { "attention", "ROWS", 32, 128, POWER_OF_TWO },
    { "attention", "UNROLL", 1, 16, POWER_OF_TWO },
    { "attention_backward_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "attention_unit", "ROWS", 32, 64, POWER_OF_TWO },
    { "attention_tile", "ITEMS", 0, 1024, 1 },
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
    { "conv_attention_2d", "ROWS", 1, INT_MAX, 1 },
    { "conv_attention_2d", "WG", 64, 256, POWER_OF_TWO },
    { "conv_attention_2d_tile", "MR", 2, 6, 2 },
    { "custom_attention", "BOTH", 0, 256, 1 },
    { "custom_attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "ham", "GROUPS", 0, 65536, 1 },
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
    { "matmul_unit", "DEPTH", 32, 4096, 32 },
    { "matmul_unit", "ROWS", 32, 4096, 32 },
    { "position_attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
    { "recurrent", "GROUPS", 0, 65536, 1 },
    { "recurrent", "WALK", 0, 192, 1 },
    { "relative_attention_tile", "ROWS", 1, 4, POWER_OF_TWO },
};

enum { CONSTANTS = sizeof constants / sizeof *constants };

/* Returns the place of a constant in the table, or CONSTANTS. */
static int find_constant(cla_slice name, cla_slice key)
{
    int i = 0;
    while (i < CONSTANTS && !(cla_name_is(name, constants[i].name) &&
                              cla_name_is(key, constants[i].key))) {
        i++;
    }
    return i;
}

static cla_slice slice(const char *text)
{
    return (cla_slice){ text, strlen(text) };
}

/* Reads a whole number without fraction and exponent. 64 bits hold all valid ones. */
static bool read_whole(cla_slice value, int64_t *n)
{
    char digits[24] = "";
    if (value.size >= sizeof digits) return false;
    memcpy(digits, value.at, value.size);
    return cla_parse_int(digits, n);
}

/* Sets a constant, or fails if the value is not valid for it. */
static cla_status set_value(cla_runtime *rt, cla_slice name, cla_slice key,
                            cla_slice value)
{
    const int at = find_constant(name, key);
    if (at == CONSTANTS) {
        return cla_fail(CLA_E_USAGE, "there is no constant %.*s %.*s", (int)name.size,
                        name.at, (int)key.size, key.at);
    }
    const constant *c = &constants[at];
    int64_t n = 0;
    const bool whole = read_whole(value, &n);
    const bool on_step = c->step ? n % c->step == 0 : n > 0 && (n & (n - 1)) == 0;
    if (whole && n >= c->least && n <= c->most && on_step) {
        rt->tuning[at] = (cla_tuned_value){ .set = true, .value = (int)n };
        return CLA_OK;
    }
    char step[48] = "a whole number";
    if (c->step > 1) snprintf(step, sizeof step, "a multiple of %d", c->step);
    if (c->step == POWER_OF_TWO) snprintf(step, sizeof step, "a power of two");
    size_t shown = strcspn(value.at, "\r\n"); // a list may span lines
    shown = shown < value.size ? shown : value.size;
    shown = shown < 40 ? shown : 40;
    return cla_fail(CLA_E_USAGE, "%s %s is %.*s, must be %s from %d to %d", c->name,
                    c->key, (int)shown, value.at, step, c->least, c->most);
}

static cla_status device_key(const cla_runtime *rt, cla_text *key)
{
    return cla_text_add(key, "%s | %s | %s", rt->device.platform_name, rt->device.name,
                        rt->device.driver);
}

static cla_status find_path(cla_runtime *rt)
{
    const char *path = cla_os_getenv("CLATTN_TUNING");
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

/* Returns the text of the file, or "{}" without a valid one. The caller frees *text. */
static const char *read_all(const cla_runtime *rt, char **text)
{
    size_t size = 0;
    *text = NULL;
    if (!rt->tuning_path || !cla_os_may(rt->tuning_path, CLA_MAY_BE)) return "{}";
    if (!cla_file_read(rt->tuning_path, text, &size)) {
        const size_t mark = cla_mark_size(*text, size);
        if (!cla_members_check(*text + mark, size - mark)) return *text + mark;
    }
    cla_log(CLA_LOG_WARN, "tuning: %s: %s; using built-in constants", rt->tuning_path,
            cla_error());
    return "{}";
}

static void warn_refused(const cla_runtime *rt)
{
    cla_log(CLA_LOG_WARN, "tuning: %s: %s; not used", rt->tuning_path, cla_error());
}

/* Returns whether an entry is an object; warns if it is not. */
static bool is_object(const cla_runtime *rt, const cla_member *entry)
{
    if (cla_members_are(entry->value)) return true;
    cla_fail(CLA_E_USAGE, "%.*s is not an object", (int)entry->name.size,
             entry->name.at);
    warn_refused(rt);
    return false;
}

/* Sets a kernel file's constants that are in their ranges; warns of the others. */
static void take_group(cla_runtime *rt, const cla_member *group)
{
    const char *at = group->value.at;
    for (cla_member c; cla_members_next(&at, &c);) {
        if (set_value(rt, group->name, c.name, c.value)) warn_refused(rt);
    }
}

static void take_device(cla_runtime *rt, const cla_member *device)
{
    const char *at = device->value.at;
    for (cla_member group; cla_members_next(&at, &group);) {
        if (is_object(rt, &group)) take_group(rt, &group);
    }
}

cla_status cla_tuning_init(cla_runtime *rt)
{
    CLA_TRY(find_path(rt));
    CLA_TRY(cla_alloc(&rt->tuning, CONSTANTS, sizeof *rt->tuning));
    cla_text key = { 0 };
    char *text = NULL;
    const cla_status status = device_key(rt, &key);
    const char *at = status ? "" : read_all(rt, &text);
    for (cla_member device; cla_members_next(&at, &device);) {
        if (cla_name_is(device.name, key.data) && is_object(rt, &device)) {
            take_device(rt, &device);
        }
    }
    free(text);
    cla_text_free(&key);
    return status;
}

int cla_tuned(cla_runtime *rt, const char *name, const char *key, int fallback)
{
    const int at = find_constant(slice(name), slice(key));
    assert(at < CONSTANTS);
    return rt->tuning[at].set ? rt->tuning[at].value
                              : cla_class_constant(rt, name, key, fallback);
}

cla_status cla_tuning_set(cla_runtime *rt, const char *name, const char *key, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return set_value(rt, slice(name), slice(key), slice(text));
}

void cla_tuning_clear(cla_runtime *rt, const char *name, const char *key)
{
    const int at = find_constant(slice(name), slice(key));
    if (at < CONSTANTS) rt->tuning[at].set = false;
}

/* Adds the constants that are set: compact, or in lines as a member's value. */
static cla_status add_constants(const cla_runtime *rt, cla_text *text, bool compact)
{
    const char *group = NULL;
    CLA_TRY(cla_text_add(text, "{"));
    for (int i = 0; i < CONSTANTS; i++) {
        if (!rt->tuning[i].set) continue;
        const constant *c = &constants[i];
        const bool next = group && strcmp(group, c->name) == 0;
        if (next) {
            CLA_TRY(cla_text_add(text, ","));
        } else {
            const char *end = compact ? "}," : "\n    },";
            CLA_TRY(cla_text_add(text, "%s%s\"%s\":%s{", group ? end : "",
                                 compact ? "" : "\n    ", c->name, compact ? "" : " "));
        }
        CLA_TRY(cla_text_add(text, "%s\"%s\":%s%d", compact ? "" : "\n      ", c->key,
                             compact ? "" : " ", rt->tuning[i].value));
        group = c->name;
    }
    const char *ends = compact ? "}}" : "\n    }\n  }";
    return cla_text_add(text, "%s", group ? ends : "}");
}

/* Adds a name in quotes, with the escapes that it needs. */
static cla_status add_name(cla_text *text, const char *name)
{
    CLA_TRY(cla_text_add(text, "\""));
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c < 0x20) {
            CLA_TRY(cla_text_add(text, "\\u%04x", (unsigned)*c));
        } else {
            const bool escaped = *c == '"' || *c == '\\';
            CLA_TRY(cla_text_add(text, "%s%c", escaped ? "\\" : "", *c));
        }
    }
    return cla_text_add(text, "\"");
}

/* Adds the members of the file but this device's, then this device's. */
static cla_status add_all(const cla_runtime *rt, const char *key, const char *file,
                          cla_text *text)
{
    CLA_TRY(cla_text_add(text, "{\n"));
    for (cla_member m; cla_members_next(&file, &m);) {
        if (cla_name_is(m.name, key)) continue;
        CLA_TRY(cla_text_add(text, "  \"%.*s\": %.*s,\n", (int)m.name.size, m.name.at,
                             (int)m.value.size, m.value.at));
    }
    CLA_TRY(cla_text_add(text, "  "));
    CLA_TRY(add_name(text, key));
    CLA_TRY(cla_text_add(text, ": "));
    CLA_TRY(add_constants(rt, text, false));
    return cla_text_add(text, "\n}\n");
}

/* Copies the name of the folder around the file; "." for a bare name. */
static cla_status folder_of(const char *path, char **folder)
{
    const char *slash = cla_os_last_slash(path);
    CLA_TRY(cla_strdup(folder, slash == path ? "/" : slash ? path : "."));
    if (slash && slash != path) {
        (*folder)[slash - path] = 0;
    }
    return CLA_OK;
}

static cla_status write_all(const cla_runtime *rt, const cla_text *text)
{
    char *folder = NULL;
    CLA_TRY(folder_of(rt->tuning_path, &folder));
    cla_status status = cla_folder_make(folder);
    status = status ? status : cla_file_write(rt->tuning_path, text->data, text->size);
    free(folder);
    return status;
}

cla_status cla_tuning_writable(const cla_runtime *rt)
{
    if (!rt->tuning_path) {
        return cla_fail(CLA_E_IO, "tuning: no home folder; CLATTN_TUNING names a file");
    }
    char *folder = NULL;
    CLA_TRY(folder_of(rt->tuning_path, &folder));
    cla_status status = cla_writable_folder(folder);
    if (!status && cla_os_may(folder, CLA_MAY_BE)) {
        status = cla_writable_file(rt->tuning_path);
    }
    free(folder);
    return status;
}

cla_status cla_tuning_save(cla_runtime *rt, const char **path)
{
    CLA_TRY(cla_tuning_writable(rt));
    cla_text key = { 0 }, text = { 0 };
    char *file = NULL;
    cla_status status = device_key(rt, &key);
    if (!status) status = add_all(rt, key.data, read_all(rt, &file), &text);
    if (!status) status = write_all(rt, &text);
    free(file);
    cla_text_free(&text);
    cla_text_free(&key);
    *path = rt->tuning_path;
    return status;
}

cla_status cla_tuning_hash(const cla_runtime *rt, char hash[17])
{
    cla_text text = { 0 };
    const cla_status status = add_constants(rt, &text, true);
    const uint64_t h = status ? 0 : XXH3_64bits(text.data, text.size);
    cla_text_free(&text);
    snprintf(hash, 17, "%016llx", (unsigned long long)h);
    return status;
}
