/* report.c - how long a run still takes, as the progress line says. */
#include "train/report.h"

#include "support/support.h"

/* 9,000 steps at 2 a second, on data of 50 steps an epoch: the steps end the run long
 * before 1,000 epochs are done. */
Test(report, the_end_that_comes_first_counts)
{
    const double done = cla_report_part(900.0 / 50, 1000, 900, 9000);
    cr_assert_float_eq(done, 0.1, 1e-12);
    cr_assert_float_eq(cla_report_left(450, 0, done), 4050, 1e-6);
    // no limit of steps, or one that the epochs come before
    cr_assert_float_eq(cla_report_part(18, 1000, 900, 0), 0.018, 1e-12);
    cr_assert_float_eq(cla_report_part(18, 20, 900, 9000), 0.9, 1e-12);
    cr_assert_eq(cla_report_part(21, 20, 900, 0), 1);
}

/* A resumed run had done three quarters before its clock started. */
Test(report, the_clock_began_where_the_run_went_on)
{
    cr_assert_float_eq(cla_report_left(100, 0.75, 0.8), 400, 1e-9);
    cr_assert_eq(cla_report_left(100, 0.75, 0.75), 0); // nothing to go by
    cr_assert_eq(cla_report_left(100, 0.5, 1), 0);
}
