/* SPDX-License-Identifier: Apache-2.0 */
/* bench_average.c - our exchanges of gradients beside MPI_Allreduce, without
 * TensorFlow.
 *
 *   mpirun -n 2 bench_average ROUNDS FLOATS [FLOATS ...]
 *
 * Rank 0 prints one line for each number of floats, in microseconds per average:
 *
 *   FLOATS MESSAGES SHARED AGREED LIBRARY
 *
 * MESSAGES   the ranks agree and exchange by MPI's point-to-point messages only
 * SHARED     the ranks share memory: a vector that fits into a slot is averaged there,
 *            a larger one is agreed on there and exchanged by messages
 * AGREED     the ranks agree by messages, then MPI_Allreduce and one multiplication per
 *            float: what would replace our exchange
 * LIBRARY    the same without agreement
 *
 * The ways take turns in every round.  A round's time is that of the slowest rank; the
 * figure is the minimum of all rounds, since other programs can only add to it. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "_average_peers.h"
#include "base/memory/mem.h"

enum { WAYS = 4, FLOATS_PER_TIMING = 1 << 20, CALLS_MAX = 256 };

/* Functions of MPI that only this program calls. */
typedef int allreduce_fn(const void *from, void *into, int count, mpi_handle type,
                         mpi_handle operation, mpi_handle comm);
typedef int barrier_fn(mpi_handle comm);

struct race {
    struct peers messages;
    struct peers shared;
    struct peers_scratch scratch[2]; /* of `messages`, of `shared` */
    allreduce_fn *allreduce;
    barrier_fn *barrier;
    mpi_handle type_float, type_double, sum, max;
    float *own;
    float *means;
    size_t count;
};

typedef void average_fn(struct race *race);

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void check_status(det_status st, const struct err *err)
{
    if (!st)
        return;
    fprintf(stderr, "bench_average: %s\n", err->text);
    exit(1);
}

static void *mpi_symbol(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    if (!found) {
        fprintf(stderr, "bench_average: Open MPI has no %s\n", name);
        exit(1);
    }
    return found;
}

/* ---- the ways -------------------------------------------------------------- */

static void agree(struct race *race, struct peers *peers, struct peers_scratch *scratch)
{
    struct peers_greeting greeting = {.tensors = 1,
                                      .bytes = race->count * sizeof(float)};
    struct err err = {0};
    bool all_came = false;

    check_status(peers_greet(peers, scratch, 0, &greeting, &err), &err);
    while (!all_came)
        check_status(peers_listen(peers, scratch, false, &all_came, &err), &err);
}

static void exchange(struct race *race, struct peers *peers,
                     struct peers_scratch *scratch)
{
    struct peers_vector vector = {.from = race->own,
                                  .into = race->means,
                                  .count = race->count,
                                  .kind = NUMBER_FLOAT};
    struct err err = {0};

    check_status(peers_average(peers, scratch, 0, &vector, &err), &err);
}

static void average_by_messages(struct race *race)
{
    agree(race, &race->messages, &race->scratch[0]);
    exchange(race, &race->messages, &race->scratch[0]);
}

static void average_in_shared_memory(struct race *race)
{
    struct peers *peers = &race->shared;
    struct peers_scratch *scratch = &race->scratch[1];
    size_t bytes = race->count * sizeof(float);
    void *slot = peers_slot(peers, 0, bytes);

    if (slot)
        memcpy(slot, race->own, bytes);
    agree(race, peers, scratch);
    for (int rank = 0; slot && rank < peers->size; rank++)
        scratch->from[rank] = peers_slot_of(peers, 0, rank);
    if (slot)
        number_mean(race->means, scratch->from, peers->size, race->count, NUMBER_FLOAT);
    else
        exchange(race, peers, scratch);
}

static void average_by_library(struct race *race)
{
    float factor = 1.0f / (float)race->messages.size;

    race->allreduce(race->own, race->means, (int)race->count, race->type_float,
                    race->sum, race->messages.mpi.world);
    for (size_t i = 0; i < race->count; i++)
        race->means[i] *= factor;
}

static void average_by_agreed_library(struct race *race)
{
    agree(race, &race->messages, &race->scratch[0]);
    average_by_library(race);
}

static average_fn *const ways[WAYS] = {average_by_messages, average_in_shared_memory,
                                       average_by_agreed_library, average_by_library};

/* ---- rounds ---------------------------------------------------------------------- */

/* Microseconds per call on the slowest rank. */
static double time_way(struct race *race, average_fn *average, int calls)
{
    double own_us;
    double slowest_us;
    int64_t since_ns;

    race->barrier(race->messages.mpi.world);
    since_ns = now_ns();
    for (int i = 0; i < calls; i++)
        average(race);
    own_us = (double)(now_ns() - since_ns) / 1e3 / calls;
    race->allreduce(&own_us, &slowest_us, 1, race->type_double, race->max,
                    race->messages.mpi.world);
    return slowest_us;
}

/* All ways give the mean of rank numbers. */
static void check_means(const struct race *race)
{
    float expected = (float)(race->messages.size - 1) / 2;

    for (size_t i = 0; i < race->count; i++)
        if (race->means[i] != expected) {
            fprintf(stderr, "bench_average: mean %zu is %g; expected %g\n", i,
                    (double)race->means[i], (double)expected);
            exit(1);
        }
}

static void run_race(struct race *race, size_t count, int rounds)
{
    int calls = (int)(FLOATS_PER_TIMING / count);
    double best_us[WAYS] = {0};

    calls = calls < 1 ? 1 : calls > CALLS_MAX ? CALLS_MAX : calls;
    race->count = count;
    race->own = mem_array(count, sizeof(float));
    race->means = mem_array(count, sizeof(float));
    if (!race->own || !race->means)
        exit(1);
    for (size_t i = 0; i < count; i++)
        race->own[i] = (float)race->messages.rank;
    for (int round = 0; round < rounds; round++)
        for (int way = 0; way < WAYS; way++) {
            double time_us = time_way(race, ways[way], calls);

            check_means(race);
            if (!round || time_us < best_us[way])
                best_us[way] = time_us;
        }
    if (!race->messages.rank)
        printf("%zu %.2f %.2f %.2f %.2f\n", count, best_us[0], best_us[1], best_us[2],
               best_us[3]);
    mem_free(race->own);
    mem_free(race->means);
}

/* ---- joining --------------------------------------------------------------------- */

static void open_peers(struct peers *peers, bool has_shared_memory)
{
    struct err err = {0};
    int rank = 0;
    int size = 0;

    peers->clock = &clock_system;
    check_status(mpi_load(&peers->mpi, &err), &err);
    check_status(mpi_begin(&peers->mpi, &err), &err);
    peers->mpi.comm_rank(peers->mpi.world, &rank);
    peers->mpi.comm_size(peers->mpi.world, &size);
    check_status(peers_open(peers, rank, size, &err), &err);
    if (has_shared_memory)
        check_status(peers_share_memory(peers, &err), &err);
}

static void find_library(struct race *race)
{
    void *allreduce = mpi_symbol("MPI_Allreduce");
    void *barrier = mpi_symbol("MPI_Barrier");

    memcpy(&race->allreduce, &allreduce, sizeof(allreduce));
    memcpy(&race->barrier, &barrier, sizeof(barrier));
    race->type_float = mpi_symbol("ompi_mpi_float");
    race->type_double = mpi_symbol("ompi_mpi_double");
    race->sum = mpi_symbol("ompi_mpi_op_sum");
    race->max = mpi_symbol("ompi_mpi_op_max");
}

int main(int argc, char **argv)
{
    static struct race race;

    if (argc < 3) {
        fprintf(stderr, "usage: mpirun -n 2 bench_average ROUNDS FLOATS ...\n");
        return 2;
    }
    open_peers(&race.messages, false);
    open_peers(&race.shared, true);
    find_library(&race);
    for (int i = 2; i < argc; i++)
        run_race(&race, (size_t)strtoull(argv[i], NULL, 10),
                 (int)strtol(argv[1], NULL, 10));
    peers_close(&race.shared, false);
    race.messages.has_begun_mpi = true;
    peers_close(&race.messages, false);
    for (int i = 0; i < 2; i++)
        peers_scratch_done(&race.scratch[i]);
    return 0;
}
