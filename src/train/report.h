/* report.h - what a run says: log.jsonl, and lines or a bar on stderr. */
#pragma once

#include <stdio.h>

#include "train/task.h"
#include "train/warm.h"

typedef struct cla_report {
    FILE *log;
    bool quiet, terminal;
    int64_t started_ns, last_line_ns, window_ns; // clock
    double window_units;                         // since the last step line
    double total_units, total_s;                 // of training alone
    double from;               // part of the run that was done when the clock started
    bool scored;               // best is known
    double best;               // first score of the best evaluation
    const char *baseline_name; // of cla_task_kind, or NULL
    bool based;                // baseline is known: there was an evaluation
    double baseline;
} cla_report;

/* Opens dir/log.jsonl; on resume it is cut back to lines of steps <= step. */
cla_status cla_report_open(cla_report *report, const char *dir, bool resume,
                           int64_t step, bool quiet);
void cla_report_close(cla_report *report);

/* Before the first step: a line on stderr, with the number of parameters. */
void cla_report_model(cla_report *report, const cla_task *task);
/* What a run took from another one, where it took something. */
void cla_report_warm(const cla_report *report, const cla_warm *warm);
/* The part of a run that is done, 0 to 1: of its epochs or of its steps (0: any
 * number), whichever end comes first. epoch counts parts of one, too. */
double cla_report_part(double epoch, int epochs, int64_t step, int steps);
/* "  best 91.20, majority 85.31" for a line, or what of it is known. */
void cla_report_scores(const cla_report *report, char *text, size_t size);
/* Seconds that it still takes, when spent_s took it from one part to the other; 0 when
 * there is nothing to go by. */
double cla_report_left(double spent_s, double from, double done);

/* After each step: progress on stderr now and then. done: the part of the run. */
void cla_report_step(cla_report *report, int64_t step, int64_t epoch, double done,
                     double loss, double units, double seconds, const char *unit);
/* Writes a line of the log for the steps since the last one, with the scores in more.
 * Errors: CLA_E_NUMERIC (the loss is not finite), CLA_E_NOMEM, CLA_E_IO. */
cla_status cla_report_loss(cla_report *report, int64_t step, int64_t epoch, double loss,
                           double lr, double units_per_s, const cla_metrics *more);
/* Writes a line for an evaluation: "new best", or after stale ones without "stalled 2
 * of 3", and "stalled 2" where no patience ends the run (0). Scores that are not finite
 * are left out. Errors: CLA_E_NOMEM, CLA_E_IO. */
cla_status cla_report_metrics(cla_report *report, int64_t step, int64_t epoch,
                              const cla_metrics *metrics, int64_t stale, int patience);
