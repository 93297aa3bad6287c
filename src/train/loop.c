/* loop.c - the training loop: epochs, steps, evaluation, early stopping, checkpoints,
 * resuming.
 *
 * The next step depends only on cla_progress, the weights and the moments, so a run
 * that was stopped anywhere continues bit for bit from its last checkpoint. */
#include "train/loop.h"

#include <math.h>
#include <string.h>

#include "train/checkpoint.h"
#include "train/folder.h"
#include "train/guard.h"
#include "train/integrity.h"
#include "train/kept.h"
#include "train/report.h"

typedef struct run {
    const cla_train_options *options;
    cla_runtime *rt;
    cla_task *task;
    cla_stepper stepper;
    cla_progress progress;
    cla_folder folder;
    cla_report report;
    int64_t saved;          // step of last.ckpt.safetensors; -1: none is known
    int64_t *order;         // of the epoch's examples
    bool stop;              // a signal came, here or to another process
    bool shared;            // a failure is common to all processes of the run
    const char *warm_start; // folder of the run to start from; empty: none
    cla_warm warm;
    int epochs, steps, patience, eval_every, save_every, log_every, keep;
    double window_units, window_s;
    int64_t taken; // steps of this process
    int64_t profiled;
    double profiled_s;
} run;

static bool leader(const run *r)
{
    return r->options->parallel.rank == 0;
}

/* Without the key the run keeps the precision that the runtime has now. */
static cla_status configure_precision(cla_runtime *rt, cla_config *s)
{
    int precision = (int)cla_runtime_precision(rt);
    CLA_TRY(cla_config_choice(s, "precision", cla_precision_words, &precision));
    return cla_runtime_set_precision(rt, (cla_precision)precision);
}

static cla_status configure(run *r, cla_config *s)
{
    r->epochs = 100;
    r->patience = 3;
    r->log_every = 20;
    r->save_every = 200;
    r->warm_start = "";
    CLA_TRY(cla_config_text(s, "warm_start", &r->warm_start));
    CLA_TRY(cla_config_int(s, "epochs", &r->epochs, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "steps", &r->steps, 0, 1 << 30));
    CLA_TRY(cla_config_int(s, "patience", &r->patience, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "eval_every", &r->eval_every, 0, 1 << 30));
    CLA_TRY(cla_config_int(s, "save_every", &r->save_every, 1, 1 << 30));
    CLA_TRY(cla_config_int(s, "log_every", &r->log_every, 1, 1 << 30));
    CLA_TRY(cla_config_int(s, "keep", &r->keep, 0, 1 << 20));
    CLA_TRY(configure_precision(r->rt, s));
    return cla_stepper_configure(&r->stepper, r->task->kind, s);
}

static bool signalled(const run *r)
{
    return r->options->signal && *r->options->signal;
}

/* Checks that all numbers are finite, before a state is written. */
static cla_status guard(run *r)
{
    CLA_TRY(cla_optim_settle(&r->stepper.optim));
    return leader(r) ? cla_guard_numbers(&r->stepper.optim, r->progress.step) : CLA_OK;
}

/* Writes a state. optim NULL: only weights, from which no run can resume. */
static cla_status save(run *r, const char *name, const cla_optim *optim)
{
    if (!leader(r)) {
        return CLA_OK;
    }
    char *path = NULL;
    CLA_TRY(cla_folder_path(&r->folder, name, &path));
    const cla_status status =
        cla_checkpoint_save(path, &r->task->params, optim, &r->progress);
    free(path);
    return status;
}

static cla_status save_last(run *r)
{
    CLA_TRY(save(r, "last.ckpt.safetensors", &r->stepper.optim));
    r->saved = r->progress.step;
    return CLA_OK;
}

static cla_status trim(const run *r)
{
    return r->keep && leader(r) ? cla_kept_trim(&r->folder, r->keep, r->progress.step)
                                : CLA_OK;
}

/* ---- one step ---------------------------------------------------------------- */

static cla_status log_window(run *r, bool now)
{
    cla_progress *p = &r->progress;
    if (!leader(r) || p->loss_weight <= 0 || !(now || p->step % r->log_every == 0)) {
        return CLA_OK;
    }
    const double rate = r->window_s > 0 ? r->window_units / r->window_s : 0;
    const double loss = p->loss_sum / p->loss_weight;
    cla_metrics more = { 0 };
    if (r->task->kind->report) {
        r->task->kind->report(r->task, &more);
    }
    p->loss_sum = p->loss_weight = r->window_units = r->window_s = 0;
    return cla_report_loss(&r->report, p->step, p->epoch, loss,
                           cla_optim_rate(&r->stepper.optim, p->step), rate, &more);
}

static double part_done(const run *r)
{
    const cla_progress *p = &r->progress;
    const double examples = r->task->examples ? (double)r->task->examples : 1;
    return cla_report_part((double)p->epoch + (double)p->next / examples, r->epochs,
                           p->step, r->steps);
}

/* Ends profiling until the next step: evaluation is no part of it. */
static cla_status pause_profile(run *r)
{
    const int64_t start = cla_time_ns();
    CLA_TRY(cla_profile_on(r->rt) ? cla_runtime_finish(r->rt) : CLA_OK);
    r->profiled_s += (double)(cla_time_ns() - start) * 1e-9;
    cla_profile_enable(r->rt, false);
    return CLA_OK;
}

/* Takes a step. The first compiles: its profile counts only if no other follows. */
static cla_status take_step(run *r, int64_t n, cla_step_result *result, double *seconds)
{
    if (r->profiled == 1 && r->taken == 1) {
        CLA_TRY(pause_profile(r));
        cla_profile_clear(r->rt);
        r->profiled_s = r->profiled = 0;
    }
    cla_profile_enable(r->rt, r->options->profile);
    const int64_t start = cla_time_ns();
    CLA_TRY(cla_stepper_step(&r->stepper, r->order + r->progress.next, n,
                             r->progress.step, result));
    *seconds = (double)(cla_time_ns() - start) * 1e-9;
    r->profiled += r->options->profile;
    r->profiled_s += *seconds;
    return CLA_OK;
}

static cla_status step(run *r)
{
    cla_progress *p = &r->progress;
    const int64_t n = cla_stepper_take(&r->stepper, p->next);
    double seconds = 0;
    cla_step_result result = { .stop = signalled(r) };
    const cla_status status = take_step(r, n, &result, &seconds);
    r->shared = status == CLA_E_NUMERIC ? result.shared : r->shared;
    CLA_TRY(status);
    r->stop = r->options->parallel.size > 1 ? result.stop : signalled(r);
    r->taken++;
    p->step++;
    p->next += n;
    r->shared = result.shared; // as is the loss
    CLA_TRY(cla_guard_loss(p, result.loss));
    r->shared = false;
    p->loss_sum += result.loss * result.targets;
    p->loss_weight += result.targets;
    r->window_units += result.targets;
    r->window_s += seconds;
    if (leader(r)) {
        cla_report_step(&r->report, p->step, p->epoch, part_done(r), result.loss,
                        result.targets, seconds, r->task->kind->unit);
    }
    return log_window(r, false);
}

/* ---- evaluation -------------------------------------------------------------- */

static cla_status judge(run *r)
{
    cla_progress *p = &r->progress;
    cla_metrics m = { 0 };
    CLA_TRY(log_window(r, true));
    CLA_TRY(r->task->kind->evaluate(r->task, NULL, r->task->kind->dev_split, &m));
    const double score = m.row[0].value;
    const bool better =
        isfinite(score) &&
        (!p->best_step ||
         (r->task->kind->higher_is_better ? score > p->best : score < p->best));
    p->stale = better ? 0 : p->stale + 1;
    if (better) {
        p->best = score;
        p->best_step = p->step;
        CLA_TRY(save(r, "best.ckpt.safetensors", NULL));
    }
    CLA_TRY(r->keep ? cla_kept_save(&r->folder, &r->task->params, p) : CLA_OK);
    r->report.scored = p->best_step > 0;
    r->report.best = p->best;
    return cla_report_metrics(&r->report, p->step, p->epoch, &m, p->stale, r->patience);
}

/* Evaluates in process 0, with the running mean of the parameters if there is one. The
 * other processes take over its progress. */
static cla_status evaluate(run *r)
{
    const cla_parallel *p = &r->options->parallel;
    if (leader(r)) {
        CLA_TRY(cla_optim_swap(&r->stepper.optim, r->progress.step));
        CLA_TRY(judge(r));
        CLA_TRY(cla_optim_swap(&r->stepper.optim, r->progress.step));
    }
    return p->size > 1 ? p->follow(&r->progress, sizeof r->progress) : CLA_OK;
}

static bool is_finished(const run *r)
{
    const cla_progress *p = &r->progress;
    return p->epoch >= r->epochs || (r->steps && p->step >= r->steps) ||
           (r->patience && p->stale >= r->patience);
}

/* Ends the epoch, evaluates and writes checkpoints if they are due after a step. */
static cla_status after_step(run *r)
{
    cla_progress *p = &r->progress;
    const bool epoch_done = p->next >= r->task->examples;
    if (epoch_done) {
        p->epoch++;
        p->next = 0;
        CLA_TRY(cla_stepper_order(&r->stepper, r->order, p->epoch));
    }
    const bool due = r->eval_every ? p->step % r->eval_every == 0 : epoch_done;
    const bool enough = r->steps && p->step >= r->steps;
    const bool last = p->epoch >= r->epochs || enough;
    if (!due && !last && !r->stop && p->step % r->save_every) {
        return CLA_OK;
    }
    CLA_TRY(pause_profile(r));
    CLA_TRY(guard(r));
    if (due || (last && (r->eval_every || enough))) {
        CLA_TRY(evaluate(r));
    }
    p->finished = is_finished(r);
    if (p->high && !p->finished) { // it may be diverging: keep the older state
        return CLA_OK;
    }
    CLA_TRY(save_last(r));
    return trim(r); // after save_last: resuming from the older state needs the files
}

/* ---- a whole run ------------------------------------------------------------- */

static cla_status open_state(run *r, cla_config *settings)
{
    const char *dir = r->options->resume || leader(r) ? r->options->out : NULL;
    CLA_TRY(cla_task_open(&r->task, r->rt, settings, dir,
                          r->options->resume ? CLA_TASK_RESUMED : CLA_TASK_NEW));
    CLA_TRY(configure(r, settings));
    CLA_TRY(cla_config_check(settings));
    CLA_TRY(cla_stepper_init(&r->stepper, r->task, &r->options->parallel));
    if (*r->warm_start && !r->options->resume) {
        CLA_TRY(cla_warm_start(&r->warm, r->task, r->warm_start, dir));
    }
    return cla_alloc(&r->order, (size_t)r->task->examples + 1, sizeof *r->order);
}

static cla_status load_last(run *r)
{
    cla_progress *p = &r->progress;
    char *path = NULL;
    CLA_TRY(cla_folder_path(&r->folder, "last.ckpt.safetensors", &path));
    cla_status status =
        cla_checkpoint_load(path, &r->task->params, &r->stepper.optim, p);
    if (!status && p->next >= (r->task->examples ? r->task->examples : 1)) {
        status = cla_fail(CLA_E_INPUT, "%s: next is %lld, the data has %lld examples",
                          path, (long long)p->next, (long long)r->task->examples);
    }
    r->saved = status ? -1 : p->step;
    free(path);
    p->finished = is_finished(r); // the limits may have changed
    return status;
}

/* Writes config.json, after all other files: a folder without it holds no run yet. */
static cla_status write_settings(const run *r, const cla_config *settings)
{
    json_t *files = NULL;
    cla_status status = cla_folder_hash(r->folder.path, r->task->kind, &files);
    status = status ? status : cla_folder_write(r->folder.path, settings, files);
    json_decref(files);
    return status;
}

static cla_status open_run(run *r, cla_config *settings)
{
    const bool resume = r->options->resume;
    if (leader(r)) {
        CLA_TRY(cla_folder_claim(&r->folder, r->options->out, resume));
    } else {
        CLA_TRY(cla_strdup(&r->folder.path, r->options->out));
    }
    CLA_TRY(resume ? cla_folder_renew(&r->folder, settings) : CLA_OK);
    CLA_TRY(open_state(r, settings));
    if (!r->task->examples) {
        return cla_fail(CLA_E_INPUT, "the training data holds no example");
    }
    if (resume) {
        CLA_TRY(cla_folder_same_settings(&r->folder, settings));
        CLA_TRY(load_last(r));
        CLA_TRY(trim(r));
    } else if (leader(r)) { // the first checkpoint, so that a run can always be resumed
        CLA_TRY(guard(r));
        CLA_TRY(save_last(r));
        CLA_TRY(write_settings(r, settings));
    }
    CLA_TRY(cla_stepper_order(&r->stepper, r->order, r->progress.epoch));
    if (!leader(r)) {
        return CLA_OK;
    }
    CLA_TRY(cla_report_open(&r->report, r->options->out, resume, r->progress.step,
                            r->options->quiet));
    r->report.from = part_done(r);
    r->report.scored = r->progress.best_step > 0;
    r->report.best = r->progress.best;
    cla_report_model(&r->report, r->task);
    cla_report_warm(&r->report, &r->warm);
    return CLA_OK;
}

static void close_run(run *r)
{
    cla_report_close(&r->report);
    cla_warm_fini(&r->warm);
    cla_stepper_fini(&r->stepper);
    cla_task_close(&r->task);
    cla_folder_release(&r->folder);
    free(r->order);
}

static cla_status go(run *r, cla_config *settings)
{
    CLA_TRY(open_run(r, settings));
    while (!r->progress.finished && r->epochs && !r->stop) {
        CLA_TRY(step(r));
        CLA_TRY(after_step(r));
    }
    return cla_stepper_log(&r->stepper, r->progress.step);
}

/* Removes what a start that failed has written. A state whose numbers are not finite
 * after its first step stays: the message names it. */
static void abandon(run *r, cla_status status)
{
    const bool started = r->options->resume || r->taken || signalled(r);
    if (status && status != CLA_E_NUMERIC && leader(r) && !started) {
        cla_folder_abandon(&r->folder);
    }
}

cla_status cla_train(cla_runtime *rt, cla_config *settings,
                     const cla_train_options *options, cla_train_result *result)
{
    run r = { .options = options, .rt = rt, .folder = { .lock = -1 }, .saved = -1 };
    cla_settings_plain(settings); // settings may be the config.json of another run
    cla_status status = go(&r, settings);
    status = cla_guard_name_state(status, options->out, r.saved);
    *result = (cla_train_result){
        .interrupted = !status && r.stop && !r.progress.finished,
        .shared = r.shared,
        .step = r.progress.step,
        .taken = r.taken,
        .best_step = r.progress.best_step,
        .best = r.progress.best,
        .words_per_second =
            r.report.total_s > 0 ? r.report.total_units / r.report.total_s : 0,
        .profiled = r.profiled,
        .profiled_s = r.profiled_s,
    };
    abandon(&r, status);
    close_run(&r);
    return status;
}
