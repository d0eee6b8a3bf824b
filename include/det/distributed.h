/* SPDX-License-Identifier: Apache-2.0 */
/* det/distributed.h - messages between the processes that train together.
 *
 *     char error[256];
 *     det_distributed_options options = {0};
 *     det_distributed *group;
 *     const det_part *parts;
 *
 *     options.size = sizeof(options);
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
 * Unix socket if all ranks are on one machine, else TCP.  The ranks of one node have a
 * second set of connections, over Unix sockets, for the functions that end in _local.
 *
 * All ranks must call the same operations in the same order.  If a rank calls another
 * operation than the chief, dies, leaves or is late, the group ends for all: every rank
 * gets a message that names the rank, in its current or next operation and in every
 * later call.  No rank waits for a dead rank.
 *
 * Threads: one thread at a time per handle.  After fork() the child's copy is unusable:
 * each call returns DET_STATE, and det_distributed_close() only frees memory. */
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
    int rank; /* among all processes; 0 is the chief */
    int size;
    int local_rank; /* among the processes on this node */
    int local_size;
    int cross_rank; /* among the nodes */
    int cross_size;
} det_ranks;

/* Where the ranks come from. */
enum det_ranks_from {
    /* `ranks` of the options. */
    DET_RANKS_GIVEN = 0,
    /* torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK and
     * GROUP_WORLD_SIZE. */
    DET_RANKS_TORCH = 1,
    /* mpirun of Open MPI: OMPI_COMM_WORLD_RANK and similar.  It does not say which node
     * this is; if there are several, CROSS_RANK and CROSS_SIZE do, or the task. */
    DET_RANKS_MPI = 2,
    /* The launchers of det, and the names of Horovod and DeepSpeed: RANK, WORLD_SIZE,
     * LOCAL_RANK, LOCAL_SIZE, CROSS_RANK and CROSS_SIZE. */
    DET_RANKS_LAUNCHER = 3,
    /* The first of launcher, torchrun and MPI whose variables are set, else a single
     * process. */
    DET_RANKS_ANY = 4
};

enum det_distributed_flag {
    /* Uses TCP even if all ranks are on one machine. */
    DET_DISTRIBUTED_TCP = 1
};

typedef struct det_distributed_options {
    size_t size;             /* sizeof(det_distributed_options) */
    int from;                /* enum det_ranks_from */
    det_ranks ranks;         /* for DET_RANKS_GIVEN */
    unsigned flags;          /* enum det_distributed_flag */
    int port;                /* of the chief; 0: INTER_TRAIN_PROCESS_COMM_PORT_1, else
                           12360.  Two handles of the same processes need different
                           ports. */
    const char *chief;       /* its address; NULL: DET_CHIEF_IP, else the first node of
                           the task, else MASTER_ADDR.  Only TCP needs it. */
    const char *secret;      /* keeps strangers out, the same for all ranks; NULL:
                           DET_DISTRIBUTED_SECRET, else the task's session.  TCP
                           needs it; a Unix socket accepts only processes of one
                           user. */
    int64_t open_timeout_ms; /* until all ranks have joined; 0: ten minutes */
    int64_t timeout_ms;      /* of one operation; 0: no limit */
    size_t limit_bytes;      /* of one operation, all ranks together; 0: 1 GiB.  The
                                value of the chief counts. */
    char *error;             /* receives the message of a failure; may be NULL */
    size_t error_size;
    /* Called a few times per second while a call waits.  A return value other than 0
     * ends the call with DET_STATE, and ends the group: the other ranks are told that
     * this one was interrupted.  NULL: a wait cannot be interrupted.  For programs that
     * must react to Ctrl-C. */
    int (*interrupted)(void *arg);
    void *interrupted_arg;
} det_distributed_options;

/* Joins the processes that train together, and returns when all of them have joined.
 * DET_INVALID: the ranks are contradictory, or a variable is missing.  DET_EXISTS: the
 * port is taken.  DET_FORBIDDEN: the other side has another secret.  DET_STATE: the
 * ranks do not agree.  DET_TIMEOUT: a rank did not join in time; the chief's message
 * says which.  DET_UNREACHABLE: a rank died meanwhile. */
DET_API det_status det_distributed_open(const det_distributed_options *options,
                                        det_distributed **ret_group);
/* Leaves the group.  The other ranks notice it in their next operation, so end a
 * training with a barrier.  NULL does nothing. */
DET_API void det_distributed_close(det_distributed *group);

/* Ends the group for all because this rank cannot go on: each of the others gets
 * `status` (not DET_OK) and "rank 2: WHY" in its current or next operation.  The handle
 * must still be closed.  Does nothing if the group has already ended. */
DET_API void det_distributed_fail(det_distributed *group, det_status status,
                                  const char *why);

/* The ranks of this process.  Valid as long as the handle; never NULL. */
DET_API const det_ranks *det_distributed_ranks(const det_distributed *group);

/* The message of the last failure in this handle; "" if there was none.  Valid until
 * the next failure. */
DET_API const char *det_distributed_error(const det_distributed *group);

/* ---- operations ------------------------------------------------------------------ */

/* An operation returns when every rank of `group` has called it, with the same outcome
 * for all:
 * DET_TOO_LARGE    it would carry more than the limit; the group goes on
 * DET_NOMEM        rank 0 has no memory for it, or only this rank has none for its
 *                  result; the group goes on
 * DET_UNREACHABLE  a rank died or left; the message says which, and in which operation
 * DET_STATE        a rank called another operation, or this is a forked child
 * DET_TIMEOUT      it took longer than `timeout_ms`; the message says who is missing
 *
 * The last three end the `group`.  The results of an operation are valid until the next
 * operation of this handle. */

typedef struct det_part {
    const void *data; /* aligned for any type; never NULL, even if empty */
    size_t len;
} det_part;

/* Sends the bytes of every rank to rank 0: there `ret_parts` is an array by rank; on
 * the other ranks it is NULL. */
DET_API det_status det_distributed_gather(det_distributed *group, const void *bytes,
                                          size_t len, const det_part **ret_parts);
/* Sends the bytes of every rank to every rank: an array by rank. */
DET_API det_status det_distributed_allgather(det_distributed *group, const void *bytes,
                                             size_t len, const det_part **ret_parts);
/* Sends the bytes of rank 0 to every rank, itself included; ignores the bytes of the
 * other ranks. */
DET_API det_status det_distributed_broadcast(det_distributed *group, const void *bytes,
                                             size_t len, det_part *ret_part);
/* Waits until every rank has called it. */
DET_API det_status det_distributed_barrier(det_distributed *group);

/* Sends the bytes of every process of this node to local rank 0. */
DET_API det_status det_distributed_gather_local(det_distributed *group,
                                                const void *bytes, size_t len,
                                                const det_part **ret_parts);
/* Sends the bytes of every process of this node to every other: an array by local rank.
 */
DET_API det_status det_distributed_allgather_local(det_distributed *group,
                                                   const void *bytes, size_t len,
                                                   const det_part **ret_parts);
/* Sends the bytes of local rank 0 to every process of this node. */
DET_API det_status det_distributed_broadcast_local(det_distributed *group,
                                                   const void *bytes, size_t len,
                                                   det_part *ret_part);
/* Waits until every process of this node has called it. */
DET_API det_status det_distributed_barrier_local(det_distributed *group);

/* ---- stopping together ----------------------------------------------------------- */

/* How the ranks learn that the platform wants the slots back. */
enum det_preempt_mode {
    /* Every rank asks equally often, and gets the answer of rank 0: all stop at the
     * same batch.  Costs one broadcast. */
    DET_WORKERS_ASK_CHIEF = 0,
    /* Only rank 0 asks; the program tells the other ranks itself. */
    DET_CHIEF_ONLY = 1,
    /* Every rank asks for itself, whenever it likes, so some may learn it later than
     * others.  Their contexts must not be DET_INIT_QUIET. */
    DET_WORKERS_ASK_MASTER = 2
};

/* Asks for several ranks what det_preempted() asks for one: 1 or 0 in `ret_preempted`.
 * `group` NULL is a single process; `context` may be NULL if rank 0 is asked and this
 * is another rank.  After a 1, save a checkpoint; rank 0 calls det_preempt_ack() (with
 * DET_WORKERS_ASK_MASTER any rank may), and all exit with 0.  DET_STATE: only rank 0
 * may ask in this mode.  Otherwise fails as every operation does. */
DET_API det_status det_distributed_preempted(det_distributed *group,
                                             const det_context *context, int mode,
                                             int *ret_preempted);

#ifdef __cplusplus
}
#endif

#endif
