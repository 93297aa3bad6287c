/* precision.c - how exactly products are computed, and which matrix unit there is. */
#include <string.h>

#include "base/platform.h"
#include "runtime/device.h"
#include "runtime/internal.h"

const char *const cla_precision_words[] = { "highest", "high", "medium", NULL };
static const char *const UNITS[CLA_UNITS] = { "none", "amx",  "mma",
                                              "mfma", "wmma", "dpas" };

enum { COUNT = sizeof cla_precision_words / sizeof *cla_precision_words - 1 };

const char *cla_precision_word(cla_precision precision)
{
    return cla_precision_words[precision];
}

cla_status cla_precision_read(const char *what, const char *word, cla_precision *out)
{
    for (int i = 0; i < COUNT; i++) {
        if (cla_equals_nocase(word, cla_precision_words[i])) {
            *out = (cla_precision)i;
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_USAGE, "%s is '%s', must be highest, high or medium", what,
                    word);
}

cla_precision cla_runtime_precision(const cla_runtime *rt)
{
    return rt ? rt->precision : CLA_PRECISION_HIGHEST;
}

cla_status cla_runtime_set_precision(cla_runtime *rt, cla_precision precision)
{
    CLA_NEED(rt);
    CLA_HOLD(rt);
    CLA_KNOWN("precision", precision, CLA_PRECISION_MEDIUM);
    rt->precision = precision;
    return CLA_OK;
}

/* ---- units ----------------------------------------------------------------------- */

const char *cla_unit_name(cla_unit unit)
{
    return UNITS[unit];
}

cla_unit_choice cla_unit_asked(const cla_runtime *rt)
{
    return rt->unit_choice;
}

/* The tiles of AMX belong to the processor, so that only drivers that run kernels on it
 * can use them; and these must compile for it. */
cla_unit cla_unit_of(const cla_device *device)
{
    if (device->kind == CLA_DEVICE_CPU) {
        return cla_processor_amx() ? CLA_UNIT_AMX : CLA_UNIT_NONE;
    }
    for (int i = CLA_UNIT_MMA; i < CLA_UNITS; i++) {
        if (!strcmp(device->matrix_unit, UNITS[i])) {
            return (cla_unit)i;
        }
    }
    return CLA_UNIT_NONE;
}

cla_unit cla_unit_offered(const cla_runtime *rt)
{
    if (rt->unit_vnni) {
        return CLA_UNIT_NONE;
    }
    if (rt->unit_emulated || (rt->record && rt->unit_choice == CLA_UNIT_BY_NAME)) {
        return rt->unit_named;
    }
    return rt->record || rt->watched ? CLA_UNIT_NONE : cla_unit_of(&rt->device);
}

bool cla_unit_is_emulated(const cla_runtime *rt)
{
    return rt->unit_emulated;
}

/* Only PoCL's compiler takes its operands. */
bool cla_unit_converts(const cla_runtime *rt)
{
    return cla_device_is_pocl(&rt->device) && cla_processor_bf16();
}

/* Only PoCL's compiler takes its operands. */
static bool has_vnni(const cla_runtime *rt)
{
    return cla_device_is_pocl(&rt->device) && cla_processor_vnni(cla_vector_width(rt));
}

bool cla_unit_dots(const cla_runtime *rt)
{
    const bool asked = rt->unit_vnni || rt->unit_choice == CLA_UNIT_AUTO;
    return asked && !rt->record && !rt->watched && has_vnni(rt);
}

bool cla_unit_tiles_bytes(const cla_runtime *rt)
{
    return rt->unit_choice != CLA_UNIT_WITHOUT && !rt->unit_vnni &&
           cla_unit_offered(rt) == CLA_UNIT_AMX && cla_processor_amx_bytes();
}

/* Finds the unit of a word; NONE: there is no such one. */
static cla_unit unit_of_word(const char *word, int from)
{
    for (int i = from; i < CLA_UNITS; i++) {
        if (cla_equals_nocase(word, UNITS[i])) {
            return (cla_unit)i;
        }
    }
    return CLA_UNIT_NONE;
}

static cla_status read_unit(cla_runtime *rt)
{
    static const char EMULATED[] = "emulated-";
    const char *text = cla_os_getenv("CLATTN_UNIT");
    rt->unit_choice = CLA_UNIT_AUTO;
    if (!text || !*text || cla_equals_nocase(text, "auto")) {
        return CLA_OK;
    }
    if (cla_equals_nocase(text, UNITS[CLA_UNIT_NONE])) {
        rt->unit_choice = CLA_UNIT_WITHOUT;
        return CLA_OK;
    }
    if (cla_equals_nocase(text, "vnni")) {
        rt->unit_vnni = true;
        rt->unit_choice = CLA_UNIT_BY_NAME;
        return has_vnni(rt) ? CLA_OK
                            : cla_fail(CLA_E_USAGE,
                                       "CLATTN_UNIT is vnni, which device '%s' does "
                                       "not have, or kernels cannot use",
                                       rt->device.name);
    }
    const size_t prefix = sizeof EMULATED - 1;
    rt->unit_emulated = !strncmp(text, EMULATED, prefix);
    rt->unit_named = rt->unit_emulated ? unit_of_word(text + prefix, CLA_UNIT_MMA)
                                       : unit_of_word(text, CLA_UNIT_AMX);
    if (rt->unit_named == CLA_UNIT_NONE) {
        return cla_fail(
            CLA_E_USAGE,
            "CLATTN_UNIT is '%s', must be none, auto, amx, vnni, mma, mfma, wmma, "
            "dpas or, of the last four, emulated-NAME",
            text);
    }
    rt->unit_choice = CLA_UNIT_BY_NAME;
    return cla_unit_offered(rt) == rt->unit_named
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "CLATTN_UNIT is %s, which device '%s' does not have, or the "
                          "system does not allow",
                          UNITS[rt->unit_named], rt->device.name);
}

static struct {
    bool set;
    cla_precision precision;
} preferred;

void cla_precision_prefer(cla_precision precision)
{
    preferred.set = true;
    preferred.precision = precision;
}

cla_status cla_precision_init(cla_runtime *rt)
{
    const char *text = preferred.set ? NULL : cla_os_getenv("CLATTN_PRECISION");
    rt->precision = preferred.precision; // HIGHEST if none is set
    CLA_TRY(text && *text ? cla_precision_read("CLATTN_PRECISION", text, &rt->precision)
                          : CLA_OK);
    return read_unit(rt);
}
