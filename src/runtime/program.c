/* program.c - builds programs and kernels from kernel files and defines. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/foreign.h"
#include "runtime/internal.h"

/* No fast-math: results must agree between devices to rounding. Every device is best at
 * mad contraction. */
const char *const cla_program_options = "-cl-std=CL1.2 -cl-mad-enable";

/* Leaves out clang's header of built-in functions; cl/builtins.clh takes its place. */
static const char *const DECLARES = " -D_OPENCL_H_ -DOWN_BUILTINS";

void cla_programs_init(cla_runtime *rt)
{
    rt->keeps_kernels = cla_device_keeps_kernels(&rt->device);
    rt->declares = cla_device_is_pocl(&rt->device);
}

static cla_status describe(const cla_launch *launch, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "%s%s%s", launch->file, launch->option ? " " : "",
                         launch->option ? launch->option : ""));
    for (int i = 0; i < CLA_LAUNCH_DEFINES && launch->define[i].name; i++) {
        CLA_TRY(cla_text_add(out, " -D%s=%d", launch->define[i].name,
                             launch->define[i].value));
    }
    return CLA_OK;
}

/* Fails with the compiler's own message, cut to a length that fits. */
static cla_status build_failure(cla_runtime *rt, cl_program program, const char *key,
                                cl_int code)
{
    char *log = NULL;
    size_t size = 0;
    clGetProgramBuildInfo(program, rt->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    if (cla_alloc(&log, size + 1, 1) == CLA_OK) {
        clGetProgramBuildInfo(program, rt->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
        for (char *c = log; *c; c++) { // one line: the text goes into an error message
            *c = *c == '\n' ? ' ' : *c;
        }
    }
    const cla_status status =
        cla_fail(CLA_E_DEVICE, "device '%s' cannot build kernels of %s (%s): %.600s",
                 rt->device.name, key, cla_cl_name(code), log ? log : "");
    free(log);
    return status;
}

/* Builds a program. *refused: the compiler found an error in the text. */
static cla_status build_from_source(cla_runtime *rt, cla_program *p, const char *source,
                                    const char *options, bool *refused)
{
    cl_int code = CL_SUCCESS;
    p->handle = clCreateProgramWithSource(rt->context, 1, &source, NULL, &code);
    if (code) {
        return cla_cl_fail(code, "program %s", p->key);
    }
    const int64_t start = cla_time_ns();
    cla_foreign_enter("clBuildProgram");
    code = clBuildProgram(p->handle, 1, &rt->id, options, NULL, NULL);
    cla_foreign_enter(NULL);
    *refused = code == CL_BUILD_PROGRAM_FAILURE;
    if (code) {
        return build_failure(rt, p->handle, p->key, code);
    }
    cla_log(CLA_LOG_INFO, "building %s took %.3f s", p->key,
            (double)(cla_time_ns() - start) * 1e-9);
    rt->builds++;
    p->built_here = p->unsaved = !rt->keeps_kernels;
    return CLA_OK;
}

static void drop_handle(cla_program *p)
{
    if (p->handle) {
        clReleaseProgram(p->handle);
        p->handle = NULL;
    }
}

/* Builds a program from the disk cache. Returns false if this did not work. */
static bool build_from_cache(cla_runtime *rt, cla_program *p, const char *options)
{
    unsigned char *binary = NULL;
    size_t size = 0;
    cla_cache_load(rt, p->id, &binary, &size);
    if (!binary) {
        return false;
    }
    cl_int taken = CL_SUCCESS, code = CL_SUCCESS;
    cla_foreign_enter("clCreateProgramWithBinary");
    p->handle = clCreateProgramWithBinary(
        rt->context, 1, &rt->id, &size, (const unsigned char **)&binary, &taken, &code);
    code = code ? code : taken;
    code = code ? code : clBuildProgram(p->handle, 1, &rt->id, options, NULL, NULL);
    cla_foreign_enter(NULL);
    free(binary);
    if (!code) {
        return true;
    }
    cla_cache_drop(rt, p->id, cla_cl_name(code));
    drop_handle(p);
    return false;
}

static cla_status build_text(cla_runtime *rt, cla_program *p, const char *source,
                             bool *refused)
{
    cla_text options = { 0 };
    const char *defines = strchr(p->key, ' ');
    cla_status status =
        cla_text_add(&options, "%s%s%s", cla_program_options, defines ? defines : "",
                     rt->declares ? DECLARES : "");
    if (!status) {
        cla_cache_id(rt, source, options.data, p->id);
        if (!build_from_cache(rt, p, options.data)) {
            status = build_from_source(rt, p, source, options.data, refused);
        }
    }
    cla_text_free(&options);
    return status;
}

/* Builds again with clang's header: another PoCL may have another header, and a kernel
 * may call a function that cl/builtins.clh does not declare. */
static cla_status build_with_header(cla_runtime *rt, cla_program *p, const char *source)
{
    bool refused = false;
    drop_handle(p);
    rt->declares = false;
    const cla_status status = build_text(rt, p, source, &refused);
    if (status) {
        rt->declares = true; // the kernel itself is wrong
        return status;
    }
    cla_log(CLA_LOG_WARN, "cl/builtins.clh does not suffice: %s", cla_error());
    return CLA_OK;
}

static cla_status build(cla_runtime *rt, cla_program *p, const cla_launch *launch)
{
    cla_text source = { 0 };
    cla_status status = cla_source_get(rt, launch->file, launch->text, &source);
    bool refused = false;
    status = status ? status : build_text(rt, p, source.data, &refused);
    if (status && refused && rt->declares) {
        status = build_with_header(rt, p, source.data);
    }
    cla_text_free(&source);
    return status;
}

static void release(cla_program *p)
{
    for (size_t i = 0; i < p->kernel_count; i++) {
        clReleaseKernel(p->kernels[i].handle);
    }
    free(p->kernels);
    drop_handle(p);
    free(p->key);
}

/* Key and hashes that identify a program. */
typedef struct identity {
    const char *key;
    uint64_t hash;
    XXH128_hash_t text;
} identity;

static cla_status add(cla_runtime *rt, const cla_launch *launch, const identity *id)
{
    CLA_TRY(cla_grow(&rt->programs, &rt->program_cap, rt->program_count + 1,
                     sizeof *rt->programs));
    cla_program *p = &rt->programs[rt->program_count];
    *p = (cla_program){ .key_hash = id->hash,
                        .text_hash = { id->text.low64, id->text.high64 } };
    cla_status status = cla_strdup(&p->key, id->key);
    status = status ? status : build(rt, p, launch);
    if (status) {
        release(p);
        return status;
    }
    rt->program_count++;
    return CLA_OK;
}

static bool is_program(const cla_program *p, const identity *id)
{
    return p->key_hash == id->hash && p->text_hash[0] == id->text.low64 &&
           p->text_hash[1] == id->text.high64 && !strcmp(p->key, id->key);
}

cla_status cla_program_get(cla_runtime *rt, const cla_launch *launch, cla_program **out)
{
    cla_text key = { 0 };
    cla_status status = describe(launch, &key);
    identity id = { .hash = status ? 0 : XXH3_64bits(key.data, key.size) };
    id.key = key.data;
    if (launch->text) {
        id.text = XXH3_128bits(launch->text, strlen(launch->text));
    }
    *out = NULL;
    for (size_t i = 0; i < rt->program_count && !status; i++) {
        if (is_program(&rt->programs[i], &id)) {
            *out = &rt->programs[i];
            break;
        }
    }
    if (!status && !*out) {
        status = add(rt, launch, &id);
        *out = status ? NULL : &rt->programs[rt->program_count - 1];
    }
    cla_text_free(&key);
    return status;
}

cla_status cla_kernel_get(cla_program *program, const char *name, cla_kernel **out)
{
    for (size_t i = 0; i < program->kernel_count; i++) {
        if (strcmp(program->kernels[i].name, name) == 0) {
            *out = &program->kernels[i];
            return CLA_OK;
        }
    }
    CLA_TRY(cla_grow(&program->kernels, &program->kernel_cap, program->kernel_count + 1,
                     sizeof *program->kernels));
    cla_kernel *k = &program->kernels[program->kernel_count];
    *k = (cla_kernel){ 0 };
    snprintf(k->name, sizeof k->name, "%s", name);
    cl_int code = CL_SUCCESS;
    k->handle = clCreateKernel(program->handle, name, &code);
    if (code) {
        return cla_cl_fail(code, "kernel %s of %s", name, program->key);
    }
    program->kernel_count++;
    *out = k;
    return CLA_OK;
}

void cla_programs_fini(cla_runtime *rt)
{
    for (size_t i = 0; i < rt->program_count; i++) {
        release(&rt->programs[i]);
    }
    free(rt->programs);
    rt->programs = NULL;
    rt->program_count = 0;
}
