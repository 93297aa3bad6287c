/* buckets.c - buckets of relative positions, as mesh-tensorflow and transformers have
 * them. */
#include "nn/buckets.h"

#include "support/support.h"

/* The distances at which the bucket changes, from 0 on, for 32 buckets up to 128, and
 * others; computed by T5Attention._relative_position_bucket of transformers 5.24. */
typedef struct bucket_case {
    int count, reach;
    bool both;
    int first[33]; // of bucket 0, 1, ..; -1 ends them
} bucket_case;

static const bucket_case cases[] = {
    { 32, 128, true, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91, -1 } },
    { 32, 128, false, { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   10,
                        11, 12, 13, 14, 15, 16, 19, 21, 24, 27,  31,
                        35, 40, 46, 52, 59, 67, 77, 87, 99, 113, -1 } },
    { 14, 50, true, { 0, 1, 2, 3, 7, 13, 25, -1 } },
    { 14, 50, false, { 0, 1, 2, 3, 4, 5, 6, 7, 10, 13, 17, 22, 29, 38, -1 } },
    { 8, 20, true, { 0, 1, 2, 7, -1 } },
    { 20, 57, false, { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                       12, 15, 17, 21, 24, 29, 34, 41, 48, -1 } },
    { 24, 1000, true, { 0, 1, 2, 3, 4, 5, 6, 15, 34, 78, 182, 427, -1 } },
};

Test(buckets, begin_where_transformers_begins_them)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bucket_case *c = &cases[i];
        int bucket = 0;
        for (int n = 0; n <= c->reach + 10; n++) {
            while (c->first[bucket + 1] >= 0 && n >= c->first[bucket + 1]) {
                bucket++;
            }
            cr_expect_eq(cla_bucket_of(-n, c->count, c->reach, c->both), bucket,
                         "case %zu: the bucket of %d is %d, must be %d", i, -n,
                         cla_bucket_of(-n, c->count, c->reach, c->both), bucket);
        }
    }
}

/* Keys behind the query have as many buckets of their own, or all that of the query. */
Test(buckets, tell_both_sides_apart)
{
    cr_expect_eq(cla_bucket_of(0, 32, 128, true), 0);
    cr_expect_eq(cla_bucket_of(1, 32, 128, true), 17);
    cr_expect_eq(cla_bucket_of(-1, 32, 128, true), 1);
    cr_expect_eq(cla_bucket_of(1000, 32, 128, true), 31);
    cr_expect_eq(cla_bucket_of(-1000, 32, 128, true), 15);
    cr_expect_eq(cla_bucket_of(5, 32, 128, false), 0);
    cr_expect_eq(cla_bucket_of(-32768, 32, 128, false), 31);
}
