/* readers_commands.c - reads with the readers of commands. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/readers.h"
#include "cli/report.h"
#include "cli/serve.h"
#include "cli/stream.h"
#include "runtime/internal.h"

cla_status reader_write(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(text, 1, size, file) == size && !fclose(file));
    return CLA_OK;
}

/* ---- what was read, as text ---- */

cla_status reader_add_json(cla_text *out, json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    const cla_status status = cla_text_add(out, "%s", text ? text : "");
    free(text);
    return status;
}

cla_status reader_add_line(void *to, size_t number, char *text, size_t size)
{
    return cla_text_add(to, "%zu<%.*s>", number, (int)size, text);
}

/* Runs a command line of words and adds its standard output. */
static cla_status run(int (*command)(int, char **), char *line, cla_text *out)
{
    char *argv[16], name[32];
    int argc = 0;
    char *rest = NULL;
    for (char *w = strtok_r(line, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = w;
    }
    argv[argc] = NULL;
    strcpy(name, "/tmp/clattn-said-XXXXXX");
    fflush(NULL);
    const int file = mkstemp(name), before = dup(1), errors = dup(2);
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(file, 1);
    dup2(nothing, 2);
    const int code = command(argc, argv);
    fflush(NULL);
    dup2(before, 1);
    dup2(errors, 2);
    char *said = NULL;
    size_t size = 0;
    const cla_status read = cla_file_read(name, &said, &size);
    unlink(name);
    const int open[] = { file, before, errors, nothing };
    for (int i = 0; i < 4; i++) {
        close(open[i]);
    }
    cr_assert_eq(read, CLA_OK);
    const cla_status status =
        code ? CLA_OK : cla_text_add(out, "%.*s.", (int)size, said);
    free(said);
    return code == 3 ? CLA_E_INPUT : code ? CLA_E_USAGE : status;
}

/* ---- readers ---- */

#define READ(name) cla_status name(const char *path, const char *folder, cla_text *out)

READ(read_results)
{
    bench_results t = { 0 };
    (void)folder;
    cla_status status = bench_results_read(&t, path);
    for (size_t i = 0; i < t.count && !status; i++) {
        status = reader_add_json(out, t.rows[i].object);
    }
    bench_results_fini(&t);
    return status;
}

READ(read_bpe_text)
{
    char line[256];
    snprintf(line, sizeof line, "bpe learn --merges 3 --out %s/codes %s", folder, path);
    cla_text codes = { 0 };
    CLA_TRY(run(cli_bpe, line, out));
    snprintf(line, sizeof line, "%s/codes", folder);
    const cla_status status = cla_text_read(&codes.data, &codes.size, line, 0);
    cr_assert_eq(status, CLA_OK);
    cr_assert_eq(cla_text_append(out, codes.data, codes.size), CLA_OK);
    free(codes.data);
    return CLA_OK;
}

READ(read_plot_lengths)
{
    char line[256];
    snprintf(line, sizeof line, "plot --lengths --out %s/l.svg %s", folder, path);
    return run(cli_plot, line, out);
}

READ(read_plot_runs)
{
    char line[256];
    (void)path;
    snprintf(line, sizeof line, "plot -k loss --out %s/r.svg %s", folder, folder);
    return run(cli_plot, line, out);
}

READ(read_plot_seeds)
{
    static const char log[] =
        "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n";
    char line[256];
    (void)path;
    snprintf(line, sizeof line, "%s/log.jsonl", folder);
    CLA_TRY(reader_write(line, log, sizeof log - 1));
    snprintf(line, sizeof line, "plot --seeds -k loss --out %s/r.svg %s", folder,
             folder);
    return run(cli_plot, line, out);
}

static cla_status report_of(const char *path, cla_text *out)
{
    report r = { .notes = json_array() };
    cla_log_set(NULL, NULL);
    cla_status status = cli_report_read(&r, path);
    status = status ? status : r.first;
    for (size_t i = 0; i < r.file[0].count && !status; i++) {
        const report_line *l = &r.file[0].line[i];
        status = cla_text_add(out, "<%.*s>", (int)l->size, l->text);
    }
    status =
        status || !r.file[0].config ? status : reader_add_json(out, r.file[0].config);
    if (status == CLA_E_INPUT) { // the first note
        cla_fail(
            status, "%s",
            json_string_value(json_object_get(json_array_get(r.notes, 0), "text")));
    }
    cli_report_fini(&r);
    return status;
}

READ(read_report)
{
    (void)folder;
    return report_of(path, out);
}

READ(read_report_config)
{
    char log[64];
    static const char row[] = "{\"step\": 1, \"loss\": 2}\n";
    (void)path;
    snprintf(log, sizeof log, "%s/log.jsonl", folder);
    CLA_TRY(reader_write(log, row, sizeof row - 1));
    return report_of(folder, out);
}

READ(read_request)
{
    const serve_limits limits = { .queue = 9 };
    const serve s = { .kind = SERVE_TAG, .limits = &limits };
    serve_model only = { .folder = "" };
    serve_models models = { .users = 2, .item = &only, .count = 1 };
    serve_job job = { .models = &models };
    char *body = NULL;
    size_t size = 0;
    (void)folder;
    CLA_TRY(cla_file_read(path, &body, &size));
    cla_status status = serve_read_job(&s, &job, body, size, false);
    for (size_t i = 0; i < job.count && !status; i++) {
        status = cla_text_add(out, "<%s>", job.text[i].text);
    }
    if (job.code) {
        cla_fail(CLA_E_INPUT, "%s", job.body);
        status = CLA_E_INPUT;
    }
    free(body);
    serve_job_free(&job);
    return status;
}

READ(read_scored)
{
    char line[256];
    (void)folder;
    snprintf(line, sizeof line, "score bleu --json --ref %s --hyp %s", path, path);
    return run(cli_score, line, out);
}

READ(read_scored_squad)
{
    char answers[64], line[256];
    static const char text[] = "{\"1\": \"b\"}";
    snprintf(answers, sizeof answers, "%s/answers", folder);
    CLA_TRY(reader_write(answers, text, sizeof text - 1));
    snprintf(line, sizeof line, "score squad --json --ref %s --hyp %s", path, answers);
    return run(cli_score, line, out);
}

static cla_status take_line(void *to, const cla_line_stream *at, char *text,
                            size_t size)
{
    return reader_add_line(to, at->number, text, size);
}

READ(read_standard_input)
{
    const cli_stream stream = { .take = take_line, .to = out };
    const int before = dup(0), file = open(path, O_RDONLY);
    (void)folder;
    dup2(file, 0);
    const cla_status status = cli_stream_run(&stream);
    dup2(before, 0);
    close(before);
    close(file);
    return status;
}

static void keep_warning(void *to, cla_log_level level, const char *line)
{
    (void)to;
    (void)level;
    cla_fail(CLA_E_INPUT, "%s", line);
}

READ(read_tuning)
{
    cla_runtime *rt = NULL;
    (void)folder;
    CLA_TRY(cla_alloc(&rt, 1, sizeof *rt));
    rt->class = CLA_CLASS_GPU;
    snprintf(rt->device.platform_name, sizeof rt->device.platform_name, "P");
    snprintf(rt->device.name, sizeof rt->device.name, "D");
    snprintf(rt->device.driver, sizeof rt->device.driver, "1");
    setenv("CLATTN_TUNING", path, 1);
    cla_fail(CLA_OK, "%s", "");
    cla_log_set(keep_warning, NULL);
    cla_status status = cla_tuning_init(rt);
    cla_log_set(NULL, NULL);
    status = status ? status : *cla_error() ? CLA_E_INPUT : CLA_OK;
    status = status ? status
                    : cla_text_add(out, "%d", cla_tuned(rt, "masked_softmax", "WG", 1));
    free(rt->tuning);
    free(rt->tuning_path);
    free(rt);
    return status;
}

READ(read_vector_text)
{
    char line[256];
    snprintf(line, sizeof line,
             "vectors --dim 2 --min-count 1 --epochs 1 --out %s/v.txt %s", folder,
             path);
    return run(cli_vectors, line, out);
}
