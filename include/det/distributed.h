/* SPDX-License-Identifier: Apache-2.0 */
/* det/distributed.h - the processes of one training, and what they tell one another.
 *
 *     char error[256];
 *     det_distributed_options options = {sizeof(options)};
 *     det_distributed *group;
 *     const det_part *parts;
 *
 *     options.from = DET_RANKS_ANY;
 *     options.error = error;
 *     options.error_size = sizeof(error);
 *     if (det_distributed_open(&options, &group) != DET_OK)
 *         return fail(error);
 *     if (det_distributed_allgather(group, &loss, sizeof(loss), &parts) != DET_OK)
 *         return fail(det_distributed_error(group));
 *     for (int i = 0; i < det_distributed_ranks(group)->size; i++)
 *         total += *(const double *)parts[i].data;
 *     det_distributed_close(group);
 *
 * It is for control, not for gradients: which rank saw what, whether to stop, where the
 * checkpoint lies.  Rank 0 is the chief; every other rank has one connection to it: a
 * Unix socket where all ranks are on one machine, else TCP.  The ranks of one node have
 * such a star of their own, over Unix sockets, for the functions that end in _local.
 *
 * All ranks call the same operations in the same order.  One that calls another than
 * the chief, that dies, leaves or is late ends it for all: each of them gets a sentence
 * that names it, in the operation that they are in or that they call next, and so does
 * every later call.  Nobody waits for the dead.
 *
 * Threads: one at a time for each handle.  After fork() the child's copy is inert: each
 * call returns DET_STATE, and det_distributed_close() only frees memory. */
#ifndef DET_DISTRIBUTED_H
#define DET_DISTRIBUTED_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_distributed det_distributed;

/* ---- beginning and end ----------------------------------------------------------- */

typedef struct det_ranks {
    int rank; /* of all processes; 0 is the chief */
    int size;
    int local_rank; /* of the processes on this node */
    int local_size;
    int cross_rank; /* of the nodes */
    int cross_size;
} det_ranks;

/* Where the ranks come from. */
enum det_ranks_from {
    /* `ranks` of the options. */
    DET_RANKS_GIVEN = 0,
    /* torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK and
     * GROUP_WORLD_SIZE. */
    DET_RANKS_TORCH = 1,
    /* mpirun of Open MPI: OMPI_COMM_WORLD_RANK and kin.  It does not say which node
     * this is; where there are several, CROSS_RANK and CROSS_SIZE do, or the task. */
    DET_RANKS_MPI = 2,
    /* The launchers of det, Horovod's and DeepSpeed's names: RANK, WORLD_SIZE,
     * LOCAL_RANK, LOCAL_SIZE, CROSS_RANK and CROSS_SIZE. */
    DET_RANKS_LAUNCHER = 3,
    /* The first of launcher, torchrun and MPI whose variables are there, else a single
     * process. */
    DET_RANKS_ANY = 4
};

enum det_distributed_flag {
    /* TCP also where all ranks are on one machine. */
    DET_DISTRIBUTED_TCP = 1
};

typedef struct det_distributed_options {
    size_t size;        /* sizeof(det_distributed_options) */
    int from;           /* enum det_ranks_from */
    det_ranks ranks;    /* for DET_RANKS_GIVEN */
    unsigned flags;     /* enum det_distributed_flag */
    int port;           /* of the chief; 0: INTER_TRAIN_PROCESS_COMM_PORT_1, else 12360.
                           Two handles of the same processes take different ones. */
    const char *chief;  /* its address; NULL: DET_CHIEF_IP, else the first node of the
                           task, else MASTER_ADDR.  Only TCP needs it. */
    const char *secret; /* what strangers do not know, the same for all ranks; NULL:
                           DET_DISTRIBUTED_SECRET, else the task's session.  Needed
                           for TCP; a Unix socket takes only processes of one user. */
    int64_t open_timeout_ms; /* until all ranks are there; 0: ten minutes */
    int64_t timeout_ms;      /* of one operation; 0: for as long as it takes */
    size_t limit_bytes;      /* of one operation, all ranks together; 0: 1 GiB.  The
                                chief's holds. */
    char *error;             /* gets the sentence when opening fails; may be NULL */
    size_t error_size;
    /* Asked a few times a second while a call waits, from within it; other than 0 ends
     * the call with DET_STATE, and the group, whose other ranks are told that this one
     * was interrupted.  NULL: nothing ends a wait but the others.  For programs that
     * must hear Ctrl-C. */
    int (*interrupted)(void *arg);
    void *interrupted_arg;
} det_distributed_options;

/* Joins the processes of one training, and returns when all of them are there.
 * DET_INVALID: the ranks make no sense, or a variable is missing.  DET_EXISTS: the port
 * is taken.  DET_FORBIDDEN: the other side has another secret.  DET_STATE: the ranks do
 * not agree.  DET_TIMEOUT: somebody did not come; the chief's sentence says who.
 * DET_UNREACHABLE: a rank died meanwhile. */
DET_API det_status det_distributed_open(const det_distributed_options *options,
                                        det_distributed **ret_group);
/* Leaves.  The others are told when they call the next operation; a group that ends in
 * order therefore ends with a barrier.  NULL does nothing. */
DET_API void det_distributed_close(det_distributed *group);

/* Ends the group for all, because this rank cannot go on: each of the others gets
 * `status` (not DET_OK) and "rank 2: WHY" in the operation that it is in or calls next.
 * The handle is still to be closed.  Does nothing where the group has ended. */
DET_API void det_distributed_fail(det_distributed *group, det_status status,
                                  const char *why);

/* Which of the processes this one is.  Lives as long as the handle; never NULL. */
DET_API const det_ranks *det_distributed_ranks(const det_distributed *group);

/* One plain sentence about the last failure in this handle; "" when there was none.
 * Lives until the next failure. */
DET_API const char *det_distributed_error(const det_distributed *group);

/* ---- operations -------------------------------------------------------------------
 */

/* They return when every rank of `group` has called, with the same outcome for all:
 * DET_TOO_LARGE    it would carry more than the limit; others may follow
 * DET_NOMEM        rank 0 has no memory for it, or only this rank has none for its
 *                  result; others may follow
 * DET_UNREACHABLE  a rank died or left; the sentence says which, and in what
 * DET_STATE        a rank calls another operation, or this is a forked child
 * DET_TIMEOUT      it took longer than `timeout_ms`; the sentence says who is missing
 *
 * After the last three `group` is no more.  What an operation gives lives until the
 * next one of this handle. */

typedef struct det_part {
    const void *data; /* aligned for anything; never NULL, also of an empty one */
    size_t len;
} det_part;

/* Brings bytes of every rank to rank 0: `ret_parts` is there an array by rank, and NULL
 * on the others. */
DET_API det_status det_distributed_gather(det_distributed *group, const void *bytes,
                                          size_t len, const det_part **ret_parts);
/* Brings bytes of every rank to every rank: an array by rank. */
DET_API det_status det_distributed_allgather(det_distributed *group, const void *bytes,
                                             size_t len, const det_part **ret_parts);
/* Brings bytes of rank 0 to every rank, itself too; what the others pass is not looked
 * at. */
DET_API det_status det_distributed_broadcast(det_distributed *group, const void *bytes,
                                             size_t len, det_part *ret_part);
/* Waits until every rank is here. */
DET_API det_status det_distributed_barrier(det_distributed *group);

/* The same among the processes of this node, to local rank 0. */
DET_API det_status det_distributed_gather_local(det_distributed *group,
                                                const void *bytes, size_t len,
                                                const det_part **ret_parts);
/* The same among the processes of this node, by local rank. */
DET_API det_status det_distributed_allgather_local(det_distributed *group,
                                                   const void *bytes, size_t len,
                                                   const det_part **ret_parts);
/* The same among the processes of this node, from local rank 0. */
DET_API det_status det_distributed_broadcast_local(det_distributed *group,
                                                   const void *bytes, size_t len,
                                                   det_part *ret_part);
/* Waits until every process of this node is here. */
DET_API det_status det_distributed_barrier_local(det_distributed *group);

/* ---- stopping together -----------------------------------------------------------
 */

/* Who asks whether the platform wants the slots back. */
enum det_preempt_mode {
    /* Every rank asks, equally often, and gets what rank 0 has heard: all stop at the
     * same batch.  One broadcast. */
    DET_WORKERS_ASK_CHIEF = 0,
    /* Rank 0 asks and tells the others in a way of its own. */
    DET_CHIEF_ONLY = 1,
    /* Every rank looks for itself, whenever it likes: some may hear of it later than
     * others.  Their contexts must not be DET_INIT_QUIET. */
    DET_WORKERS_ASK_MASTER = 2
};

/* As det_preempted(), for several ranks: 1 or 0 in `ret_preempted`.  `group` NULL is a
 * process alone; `context` may be NULL where rank 0 is asked and this is another.  Then
 * save a checkpoint; rank 0 calls det_preempt_ack() (with DET_WORKERS_ASK_MASTER any
 * that has heard it may), and all exit with 0.  DET_STATE: only rank 0 may ask in this
 * mode; or as in every operation. */
DET_API det_status det_distributed_preempted(det_distributed *group,
                                             const det_context *context, int mode,
                                             int *ret_preempted);

#ifdef __cplusplus
}
#endif

#endif
