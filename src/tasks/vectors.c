/* vectors.c - copies word vectors into a model's embedding table. */
#include "tasks/vectors.h"

#include "text/vectors.h"

static cla_status fill_table(const cla_vectors *v, const char *path,
                             const cla_vocab *words, cla_tensor *table)
{
    float *rows = NULL;
    CLA_TRY(cla_alloc(&rows, (size_t)cla_size(table) + 1, sizeof *rows));
    cla_status status = cla_tensor_download(table, rows);
    if (!status) {
        const size_t filled = cla_vectors_fill(v, words, rows);
        cla_log(CLA_LOG_INFO, "%s: vectors of %zu of %zu words", path, filled,
                words->count);
        status = cla_tensor_upload(table, rows);
    }
    free(rows);
    return status;
}

cla_status cla_tasks_place_vectors(const char *path, const cla_vocab *words,
                                   cla_tensor *table)
{
    cla_vectors v = { 0 };
    cla_status status = cla_vectors_read(&v, path, words, (int)table->shape[1]);
    status = status ? status : fill_table(&v, path, words, table);
    cla_vectors_free(&v);
    return status;
}
