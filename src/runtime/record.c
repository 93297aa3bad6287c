/* record.c - records launches instead of running them (CLATTN_RECORD).
 *
 * This shows what a GPU would run, without a GPU: the device poses as a GPU,
 * programs are neither built nor run, and device memory is never touched: it reads as
 * zeros. A folder gets launches.jsonl, a line for each kernel, set of defines and group
 * size, and the text of each program; and grids.jsonl, a line for each case of
 * cla_record_case and for each launch of it. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/platform.h"
#include "runtime/internal.h"

struct cla_record {
    char *folder;
    FILE *lines, *grids;
    bool named;     // a case is recorded
    uint64_t *seen; // hashes of lines, and of names of files
    size_t count, cap;
};

/* ---- the posing device -------------------------------------------------------- */

typedef struct trait {
    const char *name;
    size_t offset, size; // in cla_device
    int64_t value;       // of an average GPU
} trait;

#define TRAIT(member, value)                                                      \
    {                                                                             \
#member, offsetof(cla_device, member), sizeof(((cla_device *)0)->member), \
            value                                                                 \
    }

static const trait traits[] = {
    TRAIT(kind, CLA_DEVICE_GPU),
    TRAIT(memory_bytes, 16LL << 30),
    TRAIT(max_buffer_bytes, 4LL << 30),
    TRAIT(local_bytes, 64 << 10),
    TRAIT(compute_units, 64),
    TRAIT(clock_mhz, 1500),
    TRAIT(vector_width, 1),
    TRAIT(fp16, 0),
    TRAIT(subgroups, 0),
};

static void set_trait(cla_device *device, const trait *t, int64_t value)
{
    char *at = (char *)device + t->offset;
    if (t->size == 8) {
        memcpy(at, &value, 8);
    } else if (t->size == 4) {
        const int32_t narrow = (int32_t)value;
        memcpy(at, &narrow, 4);
    } else {
        *(bool *)at = value != 0;
    }
}

/* Applies one "name=value" of CLATTN_RECORD_AS. */
static cla_status change_trait(cla_device *device, const char *word)
{
    const char *equals = strchr(word, '=');
    const size_t length = equals ? (size_t)(equals - word) : 0;
    int64_t value = 0;
    for (size_t i = 1; equals && i < sizeof traits / sizeof *traits; i++) {
        if (strlen(traits[i].name) == length &&
            !strncmp(traits[i].name, word, length) &&
            cla_parse_int(equals + 1, &value) && value >= 0 && value <= INT_MAX) {
            set_trait(device, &traits[i], value);
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_USAGE,
                    "CLATTN_RECORD_AS: '%s' is none of memory_bytes, max_buffer_bytes, "
                    "local_bytes, compute_units, clock_mhz, vector_width, fp16 and "
                    "subgroups with =NUMBER",
                    word);
}

static cla_status play_gpu(cla_device *device)
{
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++) {
        set_trait(device, &traits[i], traits[i].value);
    }
    const char *changes = cla_os_getenv("CLATTN_RECORD_AS");
    char *copy = NULL;
    CLA_TRY(cla_strdup(&copy, changes ? changes : ""));
    cla_status status = CLA_OK;
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ,", &rest); word && !status;
         word = strtok_r(NULL, " ,", &rest)) {
        status = change_trait(device, word);
    }
    free(copy);
    return status;
}

/* ---- output ------------------------------------------------------------------- */

/* Sets *fresh if a text is new, and remembers it. */
static cla_status is_new(cla_record *r, const char *text, size_t size, bool *fresh)
{
    const uint64_t hash = XXH3_64bits(text, size);
    *fresh = false;
    for (size_t i = 0; i < r->count; i++) {
        if (r->seen[i] == hash) return CLA_OK;
    }
    CLA_TRY(cla_grow(&r->seen, &r->cap, r->count + 1, sizeof *r->seen));
    r->seen[r->count++] = hash;
    *fresh = true;
    return CLA_OK;
}

/* Adds the name of a launch's source in the folder: the name of the kernel file, and
 * for generated code a hash behind it. */
static cla_status source_name(cla_text *name, const cla_launch *launch)
{
    if (!launch->text) {
        return cla_text_add(name, "%s", launch->file);
    }
    const uint64_t hash = XXH3_64bits(launch->text, strlen(launch->text));
    return cla_text_add(name, "%s-%016llx", launch->file, (unsigned long long)hash);
}

/* Writes FOLDER/<name>.cl once, as the driver would get it. */
static cla_status write_source(cla_runtime *rt, const cla_launch *launch,
                               const char *file)
{
    cla_text source = { 0 }, path = { 0 };
    bool fresh = false;
    cla_status status = is_new(rt->record, file, strlen(file), &fresh);
    if (!status && fresh) {
        status = cla_source_get(rt, launch->file, launch->text, &source);
        status =
            status ? status : cla_text_add(&path, "%s/%s.cl", rt->record->folder, file);
        status = status ? status : cla_file_write(path.data, source.data, source.size);
    }
    cla_text_free(&source);
    cla_text_free(&path);
    return status;
}

static cla_status describe_defines(cla_text *line, const cla_launch *launch)
{
    CLA_TRY(cla_text_add(line, ", \"defines\": {"));
    for (int i = 0; i < CLA_LAUNCH_DEFINES && launch->define[i].name; i++) {
        CLA_TRY(cla_text_add(line, "%s\"%s\": %d", i ? ", " : "",
                             launch->define[i].name, launch->define[i].value));
    }
    return cla_text_add(line, "}");
}

/* Adds the part of a line that identifies a kernel. */
static cla_status describe(cla_text *line, const cla_launch *launch, const char *file,
                           const size_t local[3])
{
    size_t arg_bytes = 0, local_bytes = 0;
    for (int i = 0; i < CLA_LAUNCH_ARGS && launch->args[i].kind != CLA_ARG_END; i++) {
        const bool is_local = launch->args[i].kind == CLA_ARG_LOCAL;
        *(is_local ? &local_bytes : &arg_bytes) += launch->args[i].size;
    }
    CLA_TRY(cla_text_add(line, "{\"file\": \"%s\", \"kernel\": \"%s\"", file,
                         launch->kernel));
    CLA_TRY(describe_defines(line, launch));
    return cla_text_add(line,
                        ", \"options\": \"%s%s%s\", \"local\": [%zu, %zu, %zu], "
                        "\"arg_bytes\": %zu, \"local_bytes\": %zu",
                        cla_program_options, launch->option ? " " : "",
                        launch->option ? launch->option : "", local[0], local[1],
                        local[2], arg_bytes, local_bytes);
}

static cla_status describe_groups(cla_text *line, const size_t groups[3])
{
    return cla_text_add(line, ", \"groups\": [%zu, %zu, %zu]", groups[0], groups[1],
                        groups[2]);
}

/* Writes a whole line at once, since several processes may write one file. */
static cla_status write_line(const cla_record *r, FILE *file, cla_text *line)
{
    CLA_TRY(cla_text_add(line, "}\n"));
    if (fwrite(line->data, 1, line->size, file) != line->size || fflush(file)) {
        return cla_fail(CLA_E_IO, "CLATTN_RECORD: cannot write %s/%s.jsonl", r->folder,
                        file == r->lines ? "launches" : "grids");
    }
    return CLA_OK;
}

/* Writes the launch of a case: its line with what it has to do. */
static cla_status write_grid(const cla_record *r, cla_text *line, double flops,
                             size_t bytes)
{
    CLA_TRY(cla_text_add(line, ", \"flops\": %.0f, \"bytes\": %zu", flops, bytes));
    return write_line(r, r->grids, line);
}

cla_status cla_record_launch(cla_runtime *rt, const cla_launch *launch,
                             const size_t groups[3], const size_t local[3],
                             size_t bytes)
{
    cla_text line = { 0 }, grid = { 0 }, name = { 0 };
    bool fresh = false;
    cla_status status = source_name(&name, launch);
    status = status ? status : describe(&line, launch, name.data, local);
    status = status ? status : is_new(rt->record, line.data, line.size, &fresh);
    status = status ? status : describe_groups(&line, groups);
    if (!status && rt->record->named) {
        status = cla_text_add(&grid, "%s", line.data);
        status = status ? status : write_grid(rt->record, &grid, launch->flops, bytes);
    }
    if (!status && fresh) {
        status = write_source(rt, launch, name.data);
        status = status ? status : write_line(rt->record, rt->record->lines, &line);
    }
    cla_text_free(&name);
    cla_text_free(&grid);
    cla_text_free(&line);
    return status;
}

cla_status cla_record_case(cla_runtime *rt, const char *name, double flops,
                           double bytes)
{
    cla_record *r = rt->record;
    cla_text line = { 0 };
    r->named = name != NULL;
    if (!name) {
        return CLA_OK;
    }
    cla_status status =
        cla_text_add(&line, "{\"case\": \"%s\", \"flops\": %.0f, \"bytes\": %.0f", name,
                     flops, bytes);
    status = status ? status : write_line(r, r->grids, &line);
    cla_text_free(&line);
    return status;
}

/* ---- start and end ------------------------------------------------------------ */

static cla_status open_lines(cla_record *r, const char *name, FILE **file)
{
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/%s.jsonl", r->folder, name);
    *file = status ? NULL : cla_os_fopen(path.data, "ab");
    if (!status && !*file) {
        status = cla_fail(CLA_E_IO, "CLATTN_RECORD: cannot open %s", path.data);
    }
    cla_text_free(&path);
    return status;
}

static cla_status open_folder(cla_record *r, const char *folder)
{
    CLA_TRY(cla_strdup(&r->folder, folder));
    CLA_TRY(cla_folder_make(folder));
    CLA_TRY(open_lines(r, "launches", &r->lines));
    return open_lines(r, "grids", &r->grids);
}

cla_status cla_record_init(cla_runtime *rt)
{
    const char *folder = cla_os_getenv("CLATTN_RECORD");
    if (!folder || !*folder) return CLA_OK;
    CLA_TRY(play_gpu(&rt->device));
    CLA_TRY(cla_alloc(&rt->record, 1, sizeof *rt->record));
    CLA_TRY(open_folder(rt->record, folder));
    cla_log(CLA_LOG_WARN, "launches are recorded in %s and not run: results are zeros",
            folder);
    return CLA_OK;
}

bool cla_runtime_records(const cla_runtime *rt)
{
    return rt->record != NULL;
}

void cla_record_fini(cla_runtime *rt)
{
    if (!rt->record) return;
    if (rt->record->lines) fclose(rt->record->lines);
    if (rt->record->grids) fclose(rt->record->grids);
    free(rt->record->folder);
    free(rt->record->seen);
    free(rt->record);
    rt->record = NULL;
}
