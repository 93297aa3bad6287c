/* report.h - the output of a run: log.jsonl, and lines or a bar on stderr. */
#pragma once

#include <stdio.h>

#include "train/task.h"
#include "train/warm.h"

typedef struct cla_report {
    FILE *log;
    bool quiet, terminal;
    int64_t started_ns, last_line_ns; // clock times
    double total_units, total_s;      // of training alone
    double from;                      // finished part of the run when the clock started
    bool scored;                      // best is known
    double best;                      // first score of the best evaluation
    const char *baseline_name;        // of cla_task_kind, or NULL
    bool based;                       // baseline is known: there was an evaluation
    double baseline;
} cla_report;

/* Opens dir/log.jsonl. On resume, cuts it back to lines of steps <= step. */
cla_status cla_report_open(cla_report *report, const char *dir, bool resume,
                           int64_t step, bool quiet);
void cla_report_close(cla_report *report);

/* Prints the model and its number of parameters on stderr, before the first step. */
void cla_report_model(cla_report *report, const cla_task *task);
/* Prints the tensors that a run took from another run, if it took some. */
void cla_report_warm(const cla_report *report, const cla_warm *warm);
/* Returns the finished part of a run, 0 to 1: of its epochs or of its steps (0: any
 * number), whichever end is nearer. epoch includes the finished part of the current
 * one. */
double cla_report_part(double epoch, int epochs, int64_t step, int steps);
/* Writes "  best 91.20, majority 85.31", or the known part of it. */
void cla_report_scores(const cla_report *report, char *text, size_t size);
/* Estimates the remaining seconds of a run that took spent_s for the part from .. done;
 * 0 when done is not above from. */
double cla_report_left(double spent_s, double from, double done);

/* Counts a step and prints progress on stderr now and then. done: the finished part of
 * the run. */
void cla_report_step(cla_report *report, int64_t step, int64_t epoch, double done,
                     double loss, double units, double seconds, const char *unit);
/* Writes a line of the log for the steps since the last one, with the scores in more.
 * Errors: CLA_E_NUMERIC (the loss is not finite), CLA_E_NOMEM, CLA_E_IO. */
cla_status cla_report_loss(cla_report *report, int64_t step, int64_t epoch, double loss,
                           double lr, double units_per_s, const cla_metrics *more);
/* Logs and prints an evaluation with its verdict: "new best", or "stalled 2 of 3" (2
 * stale evaluations, patience 3), or "stalled 2" (patience 0). Leaves scores that are
 * not finite out of the log. Errors: CLA_E_NOMEM, CLA_E_IO. */
cla_status cla_report_metrics(cla_report *report, int64_t step, int64_t epoch,
                              const cla_metrics *metrics, int64_t stale, int patience);
