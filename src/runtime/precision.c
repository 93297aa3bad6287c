/* precision.c - how exactly products are computed, and which matrix unit there is. */
#include <string.h>

#include "base/platform.h"
#include "runtime/device.h"
#include "runtime/internal.h"

const char *const cla_precision_words[] = { "highest", "high", "medium", NULL };
static const char *const UNITS[CLA_UNITS] = { "none", "amx" };

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
    return device->kind == CLA_DEVICE_CPU && cla_processor_amx() ? CLA_UNIT_AMX
                                                                 : CLA_UNIT_NONE;
}

cla_unit cla_unit_offered(const cla_runtime *rt)
{
    return rt->record || rt->watched ? CLA_UNIT_NONE : cla_unit_of(&rt->device);
}

/* Only PoCL's compiler takes its operands. */
bool cla_unit_converts(const cla_runtime *rt)
{
    return cla_device_is_pocl(&rt->device) && cla_processor_bf16();
}

static cla_status read_unit(cla_runtime *rt)
{
    const char *text = cla_os_getenv("CLATTN_UNIT");
    rt->unit_choice = CLA_UNIT_AUTO;
    if (!text || !*text || cla_equals_nocase(text, "auto")) {
        return CLA_OK;
    }
    if (cla_equals_nocase(text, UNITS[CLA_UNIT_NONE])) {
        rt->unit_choice = CLA_UNIT_WITHOUT;
        return CLA_OK;
    }
    if (!cla_equals_nocase(text, UNITS[CLA_UNIT_AMX])) {
        return cla_fail(CLA_E_USAGE, "CLATTN_UNIT is '%s', must be none, amx or auto",
                        text);
    }
    rt->unit_choice = CLA_UNIT_BY_NAME;
    return cla_unit_offered(rt) == CLA_UNIT_AMX
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "CLATTN_UNIT is amx, which device '%s' does not have, or the "
                          "system does not allow",
                          rt->device.name);
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
