/* quantise.c - 8 bits with scales: rounding, files, and damaged ones. */
#include "base/quantise.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { ROWS = 3, COLUMNS = 4 };

static const float w[ROWS * COLUMNS] = { 127, 0.5f,   0,    -2,     -1, 1.5f,
                                         0,   1e-42f, 2.5f, -63.5f, 0,  3 };

Test(quantise, by_columns)
{
    static const int8_t want[ROWS * COLUMNS] = { 127, 1, 0, -85,  -1, 3,
                                                 0,   0, 2, -127, 0,  127 };
    int8_t q[ROWS * COLUMNS];
    float scale[COLUMNS];
    cla_quantise(q, scale, w, ROWS, COLUMNS, false);
    cr_expect(scale[0] == 1 && scale[1] == 0.5f && scale[2] == 1);
    cr_expect(scale[3] == 3.0f / 127);
    cr_expect(memcmp(q, want, sizeof q) == 0); // 2.5 is rounded to the even 2
}

Test(quantise, by_rows_is_nearest)
{
    int8_t q[ROWS * COLUMNS];
    float scale[ROWS];
    cla_quantise(q, scale, w, ROWS, COLUMNS, true);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const double s = (double)scale[i / COLUMNS];
        cr_expect(fabs((double)w[i] - s * q[i]) <= 0.5000001 * s, "%d: %d x %g", i,
                  q[i], s);
    }
    cr_expect(scale[0] == 1 && q[0] == 127);
    cr_expect(scale[1] == 1.5f / 127 && scale[2] == 63.5f / 127);
}

/* ---- files ------------------------------------------------------------------- */

static const char path[] = "quantise-test.safetensors";
static const int8_t bytes[6] = { 127, -127, 5, 0, -1, 64 };

typedef struct sample {
    const char *name;
    cla_st_dtype dtype;
    int rank;
    int64_t rows, columns;
    float scale[3];
} sample;

/* Saves and opens a matrix [2,3] of 8 bits with scales like those of s. */
static cla_status open_sample(cla_st_file *f, const sample *s)
{
    const cla_st_tensor tensors[] = {
        { s->name, s->dtype, s->rank, { s->rows, s->columns }, 0, s->scale },
        { "bias", CLA_ST_F32, 1, { 1 }, 1, s->scale },
        { "w", CLA_ST_I8, 2, { 2, 3 }, 6, bytes },
    };
    cr_assert_eq(cla_st_save(path, tensors, 3, NULL), CLA_OK);
    const cla_status status = cla_st_open(f, path);
    unlink(path);
    return status;
}

Test(quantise, unpacks)
{
    cla_st_file f;
    const sample s = { "w.scale", CLA_ST_F32, 2, 1, 3, { 0.5f, 2, 1 } };
    static const float want[6] = { 63.5f, -254, 5, 0, -2, 64 };
    cr_assert_eq(open_sample(&f, &s), CLA_OK, "%s", cla_error());
    cr_assert_eq(cla_st_unpack(&f, path), CLA_OK, "%s", cla_error());
    cr_assert_eq(f.count, 2);
    cr_assert_null(cla_st_find(&f, "w.scale"));
    const cla_st_tensor *t = cla_st_find(&f, "w");
    cr_assert(t && t->dtype == CLA_ST_F32 && t->size == 6);
    cr_expect(memcmp(t->data, want, sizeof want) == 0);
    cr_assert_eq(cla_st_unpack(&f, path), CLA_OK);
    cla_st_close(&f);
}

static void refused(const sample *s, const char *part)
{
    cla_st_file f;
    cr_assert_eq(open_sample(&f, s), CLA_OK, "%s", cla_error());
    cr_expect_eq(cla_st_unpack(&f, path), CLA_E_INPUT);
    cr_expect(strstr(cla_error(), part), "'%s' lacks '%s'", cla_error(), part);
    cr_expect(strstr(cla_error(), path), "'%s' lacks the path", cla_error());
    cr_expect_null(strchr(cla_error(), '\n'));
    cla_st_close(&f);
}

Test(quantise, refuses_scales)
{
    refused(&(sample){ "v.scale", CLA_ST_F32, 2, 1, 3, { 1, 1, 1 } },
            "tensor 'w.scale' is missing");
    refused(&(sample){ "w.scale", CLA_ST_F32, 2, 1, 2, { 1, 1, 1 } },
            "'w.scale' is [1,2], must be [2,1] or [1,3]");
    refused(&(sample){ "w.scale", CLA_ST_F32, 2, 3, 1, { 1, 1, 1 } },
            "'w.scale' is [3,1], must be [2,1] or [1,3]");
    refused(&(sample){ "w.scale", CLA_ST_F32, 1, 3, 0, { 1, 1, 1 } },
            "'w.scale' is no matrix of floats");
    refused(&(sample){ "w.scale", CLA_ST_I32, 2, 1, 3, { 1, 1, 1 } },
            "'w.scale' is no matrix of floats");
    refused(&(sample){ "w.scale", CLA_ST_F32, 2, 1, 3, { 1, NAN, 1 } },
            "scale 1 is nan, must be finite and above 0");
    refused(&(sample){ "w.scale", CLA_ST_F32, 2, 1, 3, { 1, 1, 0 } },
            "scale 2 is 0, must be finite and above 0");
    refused(&(sample){ "w.scale", CLA_ST_F32, 2, 1, 3, { -1, 1, 1 } }, "scale 0 is -1");
    refused(&(sample){ "w.scale", CLA_ST_F32, 2, 2, 1, { INFINITY, 1 } },
            "scale 0 is inf");
}
