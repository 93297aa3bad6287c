/* unit.c - the matrix unit of a runtime, which is tested before its first use. */
#include "ops/matmul.h"

static bool is_group(const cla_runtime *rt)
{
    return cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP;
}

enum { M = 40, N = 72, K = 68 }; // no whole fragments; rows of whole quads

static float number_at(int i)
{
    return (float)(i * 7 % 13 - 6);
}

/* Multiplies small integers, whose sums are exact in any order. *right: as they must
 * be. */
static cla_status compare(cla_runtime *rt, const cla_unit_state *state,
                          cla_memory *memory, bool *right)
{
    float a[M * K], b[K * N], y[M * N];
    for (int i = 0; i < M * K; i++) {
        a[i] = number_at(i);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = number_at(i + i / 5);
    }
    CLA_TRY(cla_memory_new(&memory[0], rt, sizeof a));
    CLA_TRY(cla_memory_new(&memory[1], rt, sizeof b));
    CLA_TRY(cla_memory_new(&memory[2], rt, sizeof y));
    CLA_TRY(cla_memory_write(rt, &memory[0], 0, a, sizeof a));
    CLA_TRY(cla_memory_write(rt, &memory[1], 0, b, sizeof b));
    const cla_product p = {
        .M = M,
        .N = N,
        .K = K,
        .batch = 1,
        .a = { .memory = &memory[0], .ld = K },
        .b = { .memory = &memory[1], .ld = N },
        .y = { .memory = &memory[2], .ld = N },
    };
    CLA_TRY(is_group(rt) ? cla_product_group(rt, &p, state)
                         : cla_product_fragments(rt, &p, state));
    CLA_TRY(cla_memory_read(rt, &memory[2], 0, y, sizeof y));
    *right = true;
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++) {
            sum += a[i / N * K + k] * b[k * N + i % N];
        }
        *right = *right && y[i] == sum;
    }
    return CLA_OK;
}

cla_status cla_unit_judge(cla_runtime *rt, const char *who, const char *unit,
                          cla_status status, bool right)
{
    if (right || (status && status != CLA_E_DEVICE)) {
        return status;
    }
    const char *why = status ? cla_error() : "its products are wrong";
    const char *device = cla_runtime_device(rt)->name;
    if (cla_unit_asked(rt) == CLA_UNIT_BY_NAME) {
        return cla_fail(CLA_E_DEVICE, "%s: unit %s of '%s': %s", who, unit, device,
                        why);
    }
    cla_log(CLA_LOG_INFO, "%s: unit %s of '%s' is not used: %s", who, unit, device,
            why);
    return CLA_OK;
}

/* Tests the unit; without a right answer the same products run without it. A driver may
 * refuse its instructions, or build them to nothing and say so in a log only. */
static cla_status test_unit(cla_runtime *rt, cla_unit_state *state)
{
    cla_memory memory[3] = { { 0 } };
    bool right = false;
    const cla_status status = compare(rt, state, memory, &right);
    for (int i = 0; i < 3; i++) {
        cla_memory_free(&memory[i], rt);
    }
    CLA_TRY(cla_unit_judge(rt, "matmul", cla_unit_name(state->unit), status, right));
    if (!right) {
        *state = (cla_unit_state){ .unit = CLA_UNIT_NONE };
    }
    return CLA_OK;
}

/* The states of both schedules. */
typedef struct unit_states {
    cla_unit_state tile, group;
} unit_states;

static cla_status state_of(cla_runtime *rt, cla_unit_state **out)
{
    static const char key;
    unit_states *states = NULL;
    CLA_TRY(cla_runtime_state(rt, &key, sizeof *states, NULL, &states));
    *out = is_group(rt) ? &states->group : &states->tile;
    return CLA_OK;
}

cla_status cla_unit_tested(cla_runtime *rt, const cla_unit_state **out)
{
    cla_unit_state *state = NULL;
    CLA_TRY(state_of(rt, &state));
    *out = state;
    if (state->tested) {
        return CLA_OK;
    }
    const cla_unit offered = cla_unit_offered(rt);
    const bool fits = is_group(rt) == (offered >= CLA_UNIT_MMA);
    cla_unit_state found = { .unit = CLA_UNIT_NONE };
    if (fits && cla_unit_asked(rt) != CLA_UNIT_WITHOUT) {
        found.unit = offered;
    }
    found.emulated = cla_unit_is_emulated(rt);
    found.converts = found.unit == CLA_UNIT_AMX && cla_unit_converts(rt);
    if (found.unit != CLA_UNIT_NONE && !cla_runtime_records(rt)) {
        CLA_TRY(test_unit(rt, &found));
    }
    found.tested = true;
    *state = found;
    return CLA_OK;
}

cla_status cla_unit_in_force(cla_runtime *rt, const cla_unit_state **out)
{
    *out = NULL;
    if (cla_runtime_precision(rt) != CLA_PRECISION_MEDIUM ||
        cla_runtime_schedule(rt) != CLA_SCHEDULE_TILE) {
        return CLA_OK;
    }
    return cla_unit_tested(rt, out);
}

void cla_unit_define(cla_launch *launch, const cla_unit_state *unit)
{
    if (!unit) {
        return;
    }
    cla_launch_define(launch, "BF16", 1);
    cla_launch_define(launch, "UNIT", (int)unit->unit);
    cla_launch_define(launch, "CONVERTS", unit->converts);
}

const char *cla_unit_option(const cla_unit_state *unit)
{
    return unit->unit == CLA_UNIT_DPAS && !unit->emulated
               ? "-cl-intel-256-GRF-per-thread"
               : NULL;
}
