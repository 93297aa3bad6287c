/* parallel.c - data-parallel training over MPI; the only file that includes mpi.h. */
#include "train/parallel.h"

#include <stdio.h>

#ifdef CLA_HAVE_MPI
#include <mpi.h>

#include "base/foreign.h"
#endif
#include "base/platform.h"

/* Returns the number of processes that the launcher started, from its environment
 * variables; 1 without a launcher. */
static int launched_size(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         "MPI_LOCALNRANKS" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = cla_os_getenv(names[i]);
        if (text) {
            return atoi(text); // NOLINT(cert-err34-c): a launcher's own number
        }
    }
    return 1;
}

#ifdef CLA_HAVE_MPI
struct cla_request {
    MPI_Request handle;
};

/* All processes begin the calls of a kind in one order, but one may begin a call of
 * another kind between two of them: each kind has a communicator. */
static MPI_Comm dealing, gathering;

/* Frees a request whose call was refused. */
static cla_status begun(cla_request **request, const char *call, int code)
{
    if (code) {
        free(*request);
        *request = NULL;
        return cla_fail(CLA_E_DEVICE, "%s failed", call);
    }
    return CLA_OK;
}

// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): `ended` tests the requests
static cla_status deal(cla_request **request, const float *numbers, float *parts,
                       int64_t n)
{
    CLA_TRY(cla_alloc(request, 1, sizeof **request));
    return begun(request, "MPI_Ialltoall",
                 MPI_Ialltoall(numbers, (int)n, MPI_FLOAT, parts, (int)n, MPI_FLOAT,
                               dealing, &(*request)->handle));
}

static cla_status gather(cla_request **request, float *numbers, int64_t n)
{
    CLA_TRY(cla_alloc(request, 1, sizeof **request));
    return begun(request, "MPI_Iallgather",
                 MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, numbers, (int)n,
                                MPI_FLOAT, gathering, &(*request)->handle));
}
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

static cla_status ended(cla_request **request)
{
    int done = 0;
    const int code = MPI_Test(&(*request)->handle, &done, MPI_STATUS_IGNORE);
    if (done || code) {
        free(*request);
        *request = NULL;
    }
    return code ? cla_fail(CLA_E_DEVICE, "MPI_Test failed") : CLA_OK;
}

static cla_status follow(void *data, size_t bytes)
{
    return MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD)
               ? cla_fail(CLA_E_DEVICE, "MPI_Bcast of %zu bytes failed", bytes)
               : CLA_OK;
}

static void find_place(cla_parallel *p)
{
    MPI_Comm here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, p->rank, MPI_INFO_NULL,
                        &here);
    MPI_Comm_rank(here, &p->place);
    MPI_Comm_free(&here);
}

static cla_status join(cla_parallel *p)
{
    int provided = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided)) {
        return cla_fail(CLA_E_DEVICE, "MPI_Init failed");
    }
    // failed calls return, so that the process can report them
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p->size);
    if (MPI_Comm_dup(MPI_COMM_WORLD, &dealing) ||
        MPI_Comm_dup(MPI_COMM_WORLD, &gathering)) {
        return cla_fail(CLA_E_DEVICE, "MPI_Comm_dup failed");
    }
    p->deal = deal;
    p->gather = gather;
    p->ended = ended;
    p->follow = follow;
    find_place(p);
    return CLA_OK;
}

static void leave(cla_status status)
{
    if (status) {
        cla_foreign_enter(NULL); // this end is ours
        MPI_Abort(MPI_COMM_WORLD, (int)status);
    }
    MPI_Finalize();
}
#else
static cla_status join(cla_parallel *p)
{
    (void)p;
    return cla_fail(CLA_E_USAGE,
                    "started by mpirun, but this program was built without MPI");
}

static void leave(cla_status status)
{
    (void)status;
}
#endif

cla_status cla_parallel_open(cla_parallel *p)
{
    *p = (cla_parallel){ .size = 1 };
    return launched_size() > 1 ? join(p) : CLA_OK;
}

void cla_parallel_close(const cla_parallel *p, cla_status status)
{
    if (p->size > 1) {
        leave(status);
    }
}

/* Returns whether two devices are of the same kind and platform. */
static bool alike(const cla_device *a, const cla_device *b)
{
    return a->kind == b->kind && a->platform == b->platform;
}

cla_status cla_parallel_runtime(const cla_parallel *p, cla_runtime **rt,
                                const char *device)
{
    CLA_TRY(cla_runtime_new(rt, device));
    const cla_device mine = *cla_runtime_device(*rt);
    cla_device *list = NULL;
    int count = 0, same = 0, wanted = -1;
    if (p->size < 2) {
        return CLA_OK;
    }
    CLA_TRY(cla_devices(&list, &count));
    for (int i = 0; i < count; i++) {
        same += alike(&list[i], &mine);
    }
    for (int i = 0, seen = 0; i < count; i++) {
        if (alike(&list[i], &mine) && seen++ == p->place % (same ? same : 1)) {
            wanted = i;
        }
    }
    cla_devices_free(&list);
    if (wanted < 0 || wanted == mine.index) {
        return CLA_OK;
    }
    char index[16];
    snprintf(index, sizeof index, "%d", wanted);
    cla_runtime_free(rt);
    return cla_runtime_new(rt, index);
}
