/* command.c - composes the commands that repeat a run or one of its cases. */
#include "bench/command.h"

#include <string.h>

#include "base/platform.h"

/* The variables that change the list of devices, the device or its results. */
static const char *const variables[] = {
    "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES",    "RUSTICL_ENABLE",   "POCL_DEVICES",
    "POCL_AFFINITY",   "CUDA_VISIBLE_DEVICES", "CLATTN_DEVICE",    "CLATTN_SCHEDULE",
    "CLATTN_GEMM",     "CLATTN_CLASS",         "CLATTN_TUNING",    "CLATTN_KERNEL_PATH",
    "CLATTN_RECORD",   "CLATTN_RECORD_AS",     "CLATTN_PRECISION", "CLATTN_UNIT",
};

static cla_status add_variable(cla_text *line, const char *name, const char *value)
{
    cla_text word = { 0 };
    cla_status status = cla_text_add_word(&word, value);
    status =
        status ? status
               : cla_text_add(line, "%s%s=%s", line->size ? " " : "", name, word.data);
    cla_text_free(&word);
    return status;
}

cla_status bench_command_add(cla_text *line, const char *const *words, int count,
                             const char *schedule)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const bool own = schedule && strcmp(variables[i], "CLATTN_SCHEDULE") == 0;
        const char *value = own ? schedule : cla_os_getenv(variables[i]);
        CLA_TRY(value && *value ? add_variable(line, variables[i], value) : CLA_OK);
    }
    CLA_TRY(cla_text_add(line, "%sclattn bench", line->size ? " " : ""));
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_text_add_word(line, words[i]));
    }
    return CLA_OK;
}

cla_status bench_command_filter(cla_text *pattern, const char *name)
{
    CLA_TRY(cla_text_add(pattern, "^"));
    for (const char *letter = name; *letter; letter++) {
        const bool special = strchr(".[\\()*+?{|^$", *letter) != NULL;
        CLA_TRY(cla_text_add(pattern, "%s%c", special ? "\\" : "", *letter));
    }
    return cla_text_add(pattern, "$");
}

cla_status bench_command_repeat(cla_text *line, const bench_options *given,
                                const bench_repeat *one)
{
    cla_text filter = { 0 };
    cla_status status = bench_command_filter(&filter, one->name);
    const struct {
        const char *name, *value;
    } options[] = { { "--device", one->device },
                    { "--precision", given->precision },
                    { "--suite", given->suite },
                    { "--custom", given->custom },
                    { "--filter", filter.data } };
    const char *words[12];
    int count = 0;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].value) {
            words[count++] = options[i].name;
            words[count++] = options[i].value;
        }
    }
    if (given->quick) {
        words[count++] = "--quick";
    }
    if (given->verify) {
        words[count++] = "--verify";
    }
    status = status ? status : bench_command_add(line, words, count, one->schedule);
    cla_text_free(&filter);
    return status;
}
