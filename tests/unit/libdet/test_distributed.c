/* SPDX-License-Identifier: Apache-2.0 */
/* test_distributed.c - operations of several ranks, and all failures except death
 * (test_distributed_death.c). */
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "libdet/ranks/distributed.h"
#include "libdet/ranks/distributed_env.h"
#include "tests/unit/libdet/ranks.h"

/* ---- operations ------------------------------------------------------------------ */

/* Bytes that depend on the rank and the round. */
static size_t fill(char *bytes, int rank, int round)
{
    size_t len = round % 4 == 0 ? 0 : (size_t)(rank * 37 + round * 11) % 900;

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(rank * 31 + round * 7 + (int)i);
    return len;
}

static bool is_filled(const det_part *part, int rank, int round)
{
    char bytes[1024];
    size_t len = fill(bytes, rank, round);

    return part->data && part->len == len && !memcmp(part->data, bytes, len) &&
           (uintptr_t)part->data % 8 == 0;
}

static void one_round(struct rank *rank, int round, int kind)
{
    const det_ranks *r = det_distributed_ranks(rank->group);
    bool is_local = kind >= 4;
    int first = is_local ? r->rank - r->local_rank : 0;
    int size = is_local ? r->local_size : r->size;
    bool is_chief = is_local ? r->local_rank == 0 : r->rank == 0;
    det_distributed *group = rank->group;
    const det_part *parts = (const det_part *)1;
    char bytes[1024];
    size_t len = fill(bytes, r->rank, round);
    det_part part = {0};
    det_status st;

    if (kind % 4 == 0)
        st = is_local ? det_distributed_barrier_local(group)
                      : det_distributed_barrier(group);
    else if (kind % 4 == 1)
        st = is_local ? det_distributed_gather_local(group, bytes, len, &parts)
                      : det_distributed_gather(group, bytes, len, &parts);
    else if (kind % 4 == 2)
        st = is_local ? det_distributed_allgather_local(group, bytes, len, &parts)
                      : det_distributed_allgather(group, bytes, len, &parts);
    else
        st = is_local ? det_distributed_broadcast_local(group, bytes, len, &part)
                      : det_distributed_broadcast(group, bytes, len, &part);
    memset(bytes, 0, sizeof(bytes)); /* the caller may change its bytes */
    EXPECT(rank, st == DET_OK);
    if (kind % 4 == 3)
        EXPECT(rank, is_filled(&part, first, round));
    if (kind % 4 == 1)
        EXPECT(rank, (parts != NULL) == is_chief);
    for (int i = 0; i < size && (kind % 4 == 2 || (kind % 4 == 1 && parts)); i++)
        EXPECT(rank, !st && is_filled(&parts[i], first + i, round));
}

static void many_rounds(struct rank *rank)
{
    struct rng64 rng = {.state = 7};

    for (int i = 0; i < 60; i++)
        one_round(rank, i, (int)rng64_below(&rng, 8));
    EXPECT(rank, det_distributed_barrier(rank->group) == DET_OK);
    EXPECT(rank, det_distributed_error(rank->group)[0] == '\0');
}

TEST(every_operation_brings_the_right_bytes_to_the_right_ranks)
{
    static const struct {
        int size, nodes;
        unsigned flags;
    } rows[] = {
        {1, 1, 0}, {2, 1, 0}, {5, 1, 0}, {16, 1, 0}, {4, 1, DET_DISTRIBUTED_TCP},
        {4, 2, 0}, {3, 3, 0}, {12, 3, 0}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rank ranks[RANKS_MOST];

        ranks_init(ranks, rows[i].size, rows[i].nodes, rows[i].flags);
        ranks_run(ranks, rows[i].size, many_rounds);
        ranks_close(ranks, rows[i].size);
        ranks_check(ranks, rows[i].size);
    }
}

static void heavy(struct rank *rank)
{
    enum { MUCH = 6 << 20 };
    int own = rank->options.ranks.rank;
    const det_part *parts;
    det_part part;
    char *bytes = mem_alloc(MUCH);

    memset(bytes, own + 1, MUCH);
    EXPECT(rank, !det_distributed_allgather(rank->group, bytes, (size_t)(MUCH - own),
                                            &parts));
    for (int i = 0; i < rank->options.ranks.size; i++) {
        const char *got = parts[i].data;

        EXPECT(rank, parts[i].len == (size_t)(MUCH - i) && got[0] == i + 1 &&
                         got[parts[i].len - 1] == i + 1);
    }
    EXPECT(rank, !det_distributed_broadcast(rank->group, bytes, MUCH, &part));
    EXPECT(rank, part.len == MUCH && ((const char *)part.data)[MUCH - 1] == 1);
    mem_free(bytes);
}

TEST(messages_may_be_larger_than_any_buffer_of_the_kernel)
{
    struct rank ranks[4];

    ranks_init(ranks, 4, 1, 0);
    ranks_run(ranks, 4, heavy);
    ranks_close(ranks, 4);
    ranks_check(ranks, 4);
    ranks_init(ranks, 3, 1, DET_DISTRIBUTED_TCP);
    ranks_run(ranks, 3, heavy);
    ranks_close(ranks, 3);
    ranks_check(ranks, 3);
}

/* ---- limits ---------------------------------------------------------------------- */

static void too_much_of_one(struct rank *rank)
{
    const det_part *parts;
    static const char bytes[2000];
    bool is_it = rank->options.ranks.rank == 2;

    rank->last =
        det_distributed_allgather(rank->group, bytes, is_it ? 1001 : 3, &parts);
    EXPECT(rank, det_distributed_allgather(rank->group, "x", 1, &parts) == DET_OK);
}

static void too_much_together(struct rank *rank)
{
    const det_part *parts;
    static const char bytes[2000];

    rank->last = det_distributed_gather(rank->group, bytes, 400, &parts);
    EXPECT(rank, det_distributed_gather(rank->group, "x", 1, &parts) == DET_OK);
}

static void too_much_from_the_chief(struct rank *rank)
{
    static const char bytes[2000];
    det_part part;

    rank->last = det_distributed_broadcast(rank->group, bytes, sizeof(bytes), &part);
    EXPECT(rank, det_distributed_broadcast(rank->group, bytes, 1000, &part) == DET_OK);
    EXPECT(rank, part.len == 1000);
}

TEST(what_is_over_the_limit_is_refused_on_all_ranks_alike_and_others_may_follow)
{
    static const struct {
        void (*story)(struct rank *);
        const char *text;
    } rows[] = {
        {too_much_of_one, "allgather number 1 carries more than the limit of 1000 "
                          "bytes, 1001 of them from rank 2"},
        {too_much_together,
         "gather number 1 carries more than the limit of 1000 bytes, "
         "400 of them from rank"},
        {too_much_from_the_chief, "broadcast number 1 carries more than the limit of "
                                  "1000 bytes, 2000 of them from rank 0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rank ranks[4];

        ranks_init(ranks, 4, 1, 0);
        ranks[0].options.limit_bytes = 1000; /* the chief's value counts */
        ranks_run(ranks, 4, rows[i].story);
        ranks_close(ranks, 4);
        ranks_check(ranks, 4);
        ranks_check_end(ranks, 4, DET_TOO_LARGE, rows[i].text);
        CHECK_STR(ranks[0].error, ranks[3].error);
    }
}

static void wide_and_memory_fails(struct rank *rank)
{
    const det_part *parts;
    char byte = 'x';

    if (rank->options.ranks.rank == *(int *)rank->arg)
        fault_arm(FAULT_MEMORY, 1);
    rank->last = det_distributed_allgather(rank->group, &byte, 1, &parts);
    (void)fault_disarm(FAULT_MEMORY);
    EXPECT(rank, det_distributed_allgather(rank->group, &byte, 1, &parts) == DET_OK);
}

TEST(a_chief_without_memory_refuses_for_all_and_a_worker_only_for_itself)
{
    for (int who = 0; who < 3; who++) {
        struct rank ranks[3];

        ranks_init(ranks, 3, 1, 0);
        for (int i = 0; i < 3; i++)
            ranks[i].arg = &who;
        ranks_run(ranks, 3, wide_and_memory_fails);
        ranks_close(ranks, 3);
        ranks_check(ranks, 3);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(ranks[i].last, who == 0 || who == i ? DET_NOMEM : DET_OK);
    }
}

TEST(running_out_of_memory_while_joining_leaves_nothing_behind)
{
    EACH_ALLOCATION_FAILS() {
        struct rank rank;
        const det_part *parts;
        det_status st;

        ranks_init(&rank, 1, 1, 0);
        st = det_distributed_open(&rank.options, &rank.group);
        CHECK(st == DET_OK || st == DET_NOMEM);
        if (!st)
            st = det_distributed_allgather(rank.group, "abc", 3, &parts);
        CHECK(st == DET_OK || st == DET_NOMEM);
        det_distributed_close(rank.group);
    }
}

/* ---- out of step ----------------------------------------------------------------- */

static void another_operation(struct rank *rank)
{
    int who = *(int *)rank->arg;
    const det_part *parts;
    det_status again;

    EXPECT(rank, det_distributed_barrier(rank->group) == DET_OK);
    rank->last = rank->options.ranks.rank == who
                     ? det_distributed_barrier(rank->group)
                     : det_distributed_allgather(rank->group, "abc", 3, &parts);
    again = det_distributed_barrier(rank->group);
    EXPECT(rank, again == rank->last);
}

TEST(a_rank_that_calls_another_operation_is_named_to_all_with_both_operations)
{
    for (int who = 0; who < 4; who++) {
        struct rank ranks[4];

        ranks_init(ranks, 4, 1, 0);
        for (int i = 0; i < 4; i++)
            ranks[i].arg = &who;
        ranks_run(ranks, 4, another_operation);
        ranks_close(ranks, 4);
        ranks_check(ranks, 4);
        ranks_check_end(
            ranks, 4, DET_STATE,
            who ? "calls barrier number 2 where rank 0 calls allgather number "
                  "2: all ranks must"
                : "calls allgather number 2 where rank 0 calls barrier "
                  "number 2: all ranks must");
    }
}

static void local_or_not(struct rank *rank)
{
    rank->last = rank->options.ranks.rank ? det_distributed_barrier_local(rank->group)
                                          : det_distributed_barrier(rank->group);
}

TEST(a_local_operation_is_another_also_on_a_single_node)
{
    struct rank ranks[2];

    ranks_init(ranks, 2, 1, 0);
    ranks_run(ranks, 2, local_or_not);
    ranks_close(ranks, 2);
    ranks_check_end(ranks, 2, DET_STATE,
                    "rank 1 calls barrier_local number 1 where rank 0 calls barrier");
}

static void leave_early(struct rank *rank)
{
    int who = *(int *)rank->arg;

    EXPECT(rank, det_distributed_barrier(rank->group) == DET_OK);
    if (rank->options.ranks.rank == who) {
        det_distributed_close(rank->group);
        rank->group = NULL;
    } else {
        rank->last = det_distributed_barrier(rank->group);
    }
}

TEST(a_rank_that_leaves_is_named_to_the_others)
{
    for (int who = 0; who < 3; who++) {
        struct rank ranks[3];
        char text[80];

        ranks_init(ranks, 3, 1, 0);
        for (int i = 0; i < 3; i++)
            ranks[i].arg = &who;
        ranks_run(ranks, 3, leave_early);
        ranks_close(ranks, 3);
        ranks_check(ranks, 3);
        snprintf(text, sizeof(text), "rank %d left before barrier number 2", who);
        for (int i = 0; i < 3; i++)
            if (i != who)
                ranks_check_end(&ranks[i], 1, DET_UNREACHABLE, text);
    }
}

static void stay_away(struct rank *rank)
{
    if (rank->options.ranks.rank != 2)
        rank->last = det_distributed_barrier(rank->group);
}

TEST(a_rank_that_does_not_call_in_time_is_named_to_the_others)
{
    struct rank ranks[4];

    ranks_init(ranks, 4, 1, 0);
    for (int i = 0; i < 4; i++)
        ranks[i].options.timeout_ms = 50;
    ranks_run(ranks, 4, stay_away);
    ranks[2].last = det_distributed_barrier(ranks[2].group);
    snprintf(ranks[2].error, sizeof(ranks[2].error), "%s",
             det_distributed_error(ranks[2].group));
    ranks_close(ranks, 4);
    ranks_check_end(ranks, 4, DET_TIMEOUT,
                    "barrier number 1 took longer than 50 ms; not there yet: rank 2");
}

static void chief_stays_away(struct rank *rank)
{
    if (rank->options.ranks.rank)
        rank->last = det_distributed_barrier(rank->group);
}

TEST(a_chief_that_does_not_call_in_time_is_given_up_and_hears_of_it)
{
    struct rank ranks[2];

    ranks_init(ranks, 2, 1, 0);
    ranks[1].options.timeout_ms = 50;
    ranks_run(ranks, 2, chief_stays_away);
    /* it took part: this barrier is complete for the others */
    CHECK_EQ(det_distributed_barrier(ranks[0].group), DET_OK);
    ranks[0].last = det_distributed_barrier(ranks[0].group);
    snprintf(ranks[0].error, sizeof(ranks[0].error), "%s",
             det_distributed_error(ranks[0].group));
    ranks_close(ranks, 2);
    ranks_check_end(ranks, 2, DET_TIMEOUT,
                    "rank 1 waited too long for rank 0 in barrier number 1");
}

static void give_up(struct rank *rank)
{
    if (rank->options.ranks.rank == *(const int *)rank->arg) {
        det_distributed_fail(rank->group, DET_FULL, "there is no room");
        rank->last = det_distributed_barrier_local(rank->group);
    } else {
        rank->last = det_distributed_barrier(rank->group);
    }
}

TEST(a_rank_that_cannot_go_on_tells_the_others_why)
{
    for (int who = 0; who < 4; who++) {
        struct rank ranks[4];
        char text[64];

        ranks_init(ranks, 4, who % 2 + 1, 0);
        for (int i = 0; i < 4; i++)
            ranks[i].arg = &who;
        ranks_run(ranks, 4, give_up);
        ranks_close(ranks, 4);
        snprintf(text, sizeof(text), "rank %d: there is no room", who);
        ranks_check_end(ranks, 4, DET_FULL, text);
    }
}

struct tired {
    bool has_joined; /* the number of calls before depends on the time it takes */
    int asked;
};

static int is_tired(void *arg)
{
    struct tired *tired = arg;

    return tired->has_joined && ++tired->asked >= 2;
}

static void tire(struct rank *rank)
{
    struct tired *tired = rank->arg;

    if (tired)
        tired->has_joined = true;
    stay_away(rank);
}

TEST(a_rank_that_is_interrupted_waits_no_longer_and_the_others_are_told)
{
    for (int tired = 0; tired < 2; tired++) {
        struct rank ranks[4];
        struct tired seen = {0};
        char text[64];

        ranks_init(ranks, 4, 1, 0);
        ranks[tired].options.interrupted = is_tired;
        ranks[tired].options.interrupted_arg = ranks[tired].arg = &seen;
        ranks_run(ranks, 4, tire);
        ranks[2].last = det_distributed_barrier(ranks[2].group);
        snprintf(ranks[2].error, sizeof(ranks[2].error), "%s",
                 det_distributed_error(ranks[2].group));
        ranks_close(ranks, 4);
        snprintf(text, sizeof(text), "rank %d was interrupted in barrier number 1",
                 tired);
        ranks_check_end(ranks, 4, DET_STATE, text);
        CHECK_EQ(seen.asked, 2);
    }
}

TEST(joining_can_be_interrupted)
{
    for (int rank = 0; rank < 2; rank++) {
        struct rank ranks[2];
        struct tired seen = {.has_joined = true};

        ranks_init(ranks, 2, 1, 0);
        ranks[rank].options.interrupted = is_tired;
        ranks[rank].options.interrupted_arg = &seen;
        rank_main(&ranks[rank]);
        CHECK_EQ(ranks[rank].opened, DET_STATE);
        CHECK_HAS(ranks[rank].error, "was interrupted before all ranks were there");
    }
}

/* ---- joining --------------------------------------------------------------------- */

TEST(strangers_at_the_door_neither_get_in_nor_hold_anybody_up)
{
    struct rank ranks[3], stranger[1];
    struct stream_at at = {.host = "127.0.0.1"};
    struct stream silent[80], loud = STREAM_NONE;
    static const char noise[4000] = "GET / HTTP/1.1\r\n";

    ranks_init(ranks, 3, 1, DET_DISTRIBUTED_TCP);
    at.port = (uint16_t)ranks[0].options.port;
    ranks_start(ranks, 2, many_rounds); /* rank 2 comes last */
    for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
        silent[i] = (struct stream)STREAM_NONE;
        while (stream_connect(&at, 0, &silent[i], NULL))
            ;
    }
    CHECK_OK(stream_connect(&at, 0, &loud, &test_err));
    (void)stream_send(&loud, noise, sizeof(noise), 0, NULL);
    ranks_init(stranger, 1, 1, DET_DISTRIBUTED_TCP);
    stranger->options.ranks = ranks[2].options.ranks;
    stranger->options.port = at.port;
    stranger->options.secret = "another";
    ranks_run(stranger, 1, NULL);
    CHECK_EQ(stranger->opened, DET_FORBIDDEN);
    CHECK_HAS(stranger->error, "rank 0 at 127.0.0.1:");
    CHECK_HAS(stranger->error, "has another secret than rank 2");
    ranks_start(ranks + 2, 1, many_rounds);
    ranks_join(ranks, 3);
    ranks_close(ranks, 3);
    ranks_check(ranks, 3);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        stream_close(&silent[i]);
    stream_close(&loud);
}

TEST(a_server_of_another_kind_is_not_taken_for_the_chief)
{
    struct rank ranks[2];
    struct stream_at at = {.host = "127.0.0.1"};
    struct stream listener, other;
    struct pollfd row;

    ranks_init(ranks, 2, 1, DET_DISTRIBUTED_TCP);
    at.port = (uint16_t)ranks[1].options.port;
    CHECK_OK(stream_listen(&at, &listener, NULL, &test_err));
    ranks_start(ranks + 1, 1, NULL);
    for (int tries = 0; tries < 5; tries++) { /* it may reach the wrong chief once */
        row = stream_row(&listener, POLLIN);
        CHECK_OK(stream_wait(&row, 1, 0, &test_err));
        CHECK_OK(stream_accept(&listener, &other, &test_err));
        CHECK_OK(stream_send(&other, "220 mail.example.org ESMTP ready, and so on\r\n",
                             45, 0, &test_err));
        stream_close(&other);
    }
    ranks_join(ranks + 1, 1);
    CHECK_EQ(ranks[1].opened, DET_FORBIDDEN);
    /* the chief itself finds the port taken */
    ranks_run(ranks, 1, NULL);
    CHECK_EQ(ranks[0].opened, DET_EXISTS);
    CHECK_HAS(ranks[0].error, "another process listens on 127.0.0.1:");
    stream_close(&listener);
}

TEST(ranks_that_do_not_come_are_named)
{
    struct rank ranks[4];

    ranks_init(ranks, 4, 1, 0);
    for (int i = 0; i < 4; i++)
        ranks[i].options.open_timeout_ms = 300;
    ranks_start(ranks, 2, NULL);
    ranks_join(ranks, 2);
    CHECK_EQ(ranks[0].opened, DET_TIMEOUT);
    CHECK_HAS(ranks[0].error, "missing: rank 2, 3");
    CHECK_EQ(ranks[1].opened, DET_TIMEOUT);
    ranks_run(ranks + 3, 1, NULL); /* the chief is gone */
    CHECK_EQ(ranks[3].opened, DET_TIMEOUT);
    CHECK_HAS(ranks[3].error, "rank 0 did not start in time");
}

TEST(ranks_that_do_not_agree_are_told_so)
{
    struct rank ranks[4];

    ranks_init(ranks, 4, 1, 0);
    ranks[3].options.ranks.rank = ranks[3].options.ranks.local_rank = 1;
    for (int i = 1; i < 4; i++) /* a late one finds no chief */
        ranks[i].options.open_timeout_ms = 5000;
    ranks_run(ranks, 4, NULL);
    for (int i = 0; i < 4; i++)
        CHECK(ranks[i].opened == DET_STATE || ranks[i].opened == DET_TIMEOUT);
    CHECK_HAS(ranks[0].error, "two processes say that they are rank 1");
    ranks_init(ranks, 3, 1, 0);
    ranks[2].options.ranks.size = ranks[2].options.ranks.local_size = 5;
    ranks[1].options.open_timeout_ms = 5000;
    ranks_run(ranks, 3, NULL);
    CHECK_EQ(ranks[0].opened, DET_STATE);
    CHECK_HAS(ranks[0].error, "a process says that it is rank 2 of 5, but there are 3");
    CHECK_STR(ranks[2].error, ranks[0].error);
}

/* ---- numbers --------------------------------------------------------------------- */

struct variables {
    const char *const *rows; /* name, value, ..., NULL */
};

static const char *get_variable(void *arg, const char *name)
{
    const struct variables *vars = arg;

    for (const char *const *row = vars->rows; *row; row += 2)
        if (strcmp(row[0], name) == 0)
            return row[1];
    return NULL;
}

static det_status plan_of(const char *const *rows, int from,
                          struct distributed_plan *ret_plan)
{
    static struct arena mem = ARENA_INIT(1 << 20); /* for the strings of the plan */
    struct variables vars = {rows};
    struct context_world world = {
        .io = io_system(), .variable = get_variable, .arg = &vars};
    det_distributed_options options = {.size = sizeof(options), .from = from};

    arena_done(&mem);
    return distributed_env_plan(&world, &options, &mem, ret_plan, &test_err);
}

#define VARS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void check_plan(const struct distributed_plan *plan, det_ranks want)
{
    CHECK(memcmp(&plan->ranks, &want, sizeof(want)) == 0);
}

TEST(ranks_come_from_the_variables_of_torchrun_mpirun_and_launchers)
{
    struct distributed_plan plan;
    const char *const *torch =
        VARS("RANK", "5", "WORLD_SIZE", "8", "LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "4",
             "GROUP_RANK", "1", "GROUP_WORLD_SIZE", "2", "MASTER_ADDR", "10.0.0.9",
             "DET_SESSION_TOKEN", "t", "INTER_TRAIN_PROCESS_COMM_PORT_1", "12399");
    const char *const *mpi =
        VARS("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "3",
             "OMPI_COMM_WORLD_LOCAL_RANK", "2", "OMPI_COMM_WORLD_LOCAL_SIZE", "3");
    const char *const *ours =
        VARS("RANK", "3", "WORLD_SIZE", "4", "LOCAL_RANK", "1", "LOCAL_SIZE", "2",
             "CROSS_RANK", "1", "CROSS_SIZE", "2", "DET_CHIEF_IP", "10.0.0.1",
             "OMPI_COMM_WORLD_RANK", "3");

    CHECK_OK(plan_of(torch, DET_RANKS_TORCH, &plan));
    check_plan(&plan, (det_ranks){5, 8, 1, 4, 1, 2});
    CHECK_STR(plan.chief, "10.0.0.9");
    CHECK_EQ(plan.port, 12399);
    CHECK_STR(plan.secret, "t");
    CHECK_OK(plan_of(torch, DET_RANKS_ANY, &plan));
    check_plan(&plan, (det_ranks){5, 8, 1, 4, 1, 2});
    CHECK_OK(plan_of(mpi, DET_RANKS_MPI, &plan));
    check_plan(&plan, (det_ranks){2, 3, 2, 3, 0, 1});
    CHECK_OK(plan_of(mpi, DET_RANKS_ANY, &plan));
    check_plan(&plan, (det_ranks){2, 3, 2, 3, 0, 1});
    CHECK_EQ(plan.port, 12360);
    CHECK_OK(plan_of(ours, DET_RANKS_LAUNCHER, &plan));
    check_plan(&plan, (det_ranks){3, 4, 1, 2, 1, 2});
    CHECK_OK(plan_of(ours, DET_RANKS_ANY, &plan));
    check_plan(&plan, (det_ranks){3, 4, 1, 2, 1, 2});
    CHECK_STR(plan.chief, "10.0.0.1");
    CHECK_OK(plan_of(VARS("RANK", "7"), DET_RANKS_ANY, &plan));
    check_plan(&plan, (det_ranks){0, 1, 0, 1, 0, 1});
}

TEST(a_variable_that_is_missing_or_makes_no_sense_is_named)
{
    const struct {
        const char *const *rows;
        int from;
        const char *text;
    } rows[] = {
        {VARS(), DET_RANKS_TORCH,
         "RANK is not set, but torchrun should set it: did it start this process?"},
        {VARS("RANK", "1", "WORLD_SIZE", "two"), DET_RANKS_TORCH,
         "WORLD_SIZE is 'two'; expected a whole number from 1"},
        {VARS("OMPI_COMM_WORLD_RANK", "-1"), DET_RANKS_MPI, "is '-1'; expected"},
        {VARS("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "4",
              "OMPI_COMM_WORLD_LOCAL_RANK", "1", "OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
         DET_RANKS_MPI, "mpirun does not say on which node this is: set CROSS_RANK"},
        {VARS("RANK", "4", "WORLD_SIZE", "4", "LOCAL_RANK", "0", "LOCAL_SIZE", "4",
              "CROSS_RANK", "0", "CROSS_SIZE", "1"),
         DET_RANKS_LAUNCHER, "rank is 4; expected 0 to 3"},
        {VARS("RANK", "1", "WORLD_SIZE", "4", "LOCAL_RANK", "1", "LOCAL_SIZE", "2",
              "CROSS_RANK", "0", "CROSS_SIZE", "1"),
         DET_RANKS_LAUNCHER, "4 processes on 1 nodes, 2 of them on this one"},
        {VARS("RANK", "1", "WORLD_SIZE", "4", "LOCAL_RANK", "2", "LOCAL_SIZE", "4",
              "CROSS_RANK", "0", "CROSS_SIZE", "1"),
         DET_RANKS_LAUNCHER, "rank 1 has local rank 2; on a single node"},
        {VARS("INTER_TRAIN_PROCESS_COMM_PORT_1", "70000"), DET_RANKS_ANY,
         "INTER_TRAIN_PROCESS_COMM_PORT_1 is '70000'; expected a port"},
        {VARS(), 99, "`from` is 99"},
    };
    struct distributed_plan plan;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_EQ(plan_of(rows[i].rows, rows[i].from, &plan), DET_INVALID);
        CHECK_HAS(test_err.text, rows[i].text);
    }
}

TEST(nodes_come_from_the_task_where_the_launcher_does_not_say)
{
    static const char text[] = "{\"container_addrs\": [\"10.1.1.1\", \"10.1.1.2\"], "
                               "\"container_rank\": 1, "
                               "\"container_slot_counts\": [2, 2]}";
    struct variables vars = {VARS(
        "DET_RUN_DIR", "/run", "OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4",
        "OMPI_COMM_WORLD_LOCAL_RANK", "1", "OMPI_COMM_WORLD_LOCAL_SIZE", "2")};
    struct context_world world = {.variable = get_variable, .arg = &vars};
    det_distributed_options options = {.size = sizeof(options), .from = DET_RANKS_ANY};
    struct distributed_plan plan;

    CHECK_OK(io_memory_new(&world.io, &test_err));
    CHECK_OK(io_mkdir(world.io, "/run/info", false, &test_err));
    CHECK_OK(io_replace(world.io, "/run/info/rendezvous.json", text, strlen(text),
                        false, &test_err));
    EACH_ALLOCATION_FAILS() {
        struct arena mem = ARENA_INIT(1 << 20);
        det_status st = distributed_env_plan(&world, &options, &mem, &plan, &test_err);

        CHECK(st == DET_OK || (st == DET_NOMEM && fault_fired()));
        if (!st) {
            check_plan(&plan, (det_ranks){3, 4, 1, 2, 1, 2});
            CHECK_STR(plan.chief, "10.1.1.1");
        }
        arena_done(&mem);
    }
    io_free(world.io);
}

TEST(several_machines_need_a_secret_and_an_address)
{
    struct rank rank;

    ranks_init(&rank, 1, 1, 0);
    rank.options.ranks = (det_ranks){0, 2, 0, 1, 0, 2};
    rank.options.secret = NULL;
    ranks_run(&rank, 1, NULL);
    CHECK_EQ(rank.opened, DET_INVALID);
    CHECK_HAS(rank.error, "need a secret");
    rank.options.secret = "x";
    rank.options.chief = NULL;
    ranks_run(&rank, 1, NULL);
    CHECK_EQ(rank.opened, DET_INVALID);
    CHECK_HAS(rank.error, "the address of rank 0 is not known");
}

/* ---- misuse ---------------------------------------------------------------------- */

TEST(calls_that_make_no_sense_are_refused)
{
    struct rank rank;
    det_distributed *group = NULL;
    const det_part *parts;

    CHECK_EQ(det_distributed_open(NULL, &group), DET_INVALID);
    ranks_init(&rank, 1, 1, 0);
    CHECK_EQ(det_distributed_open(&rank.options, NULL), DET_INVALID);
    rank.options.timeout_ms = -1;
    CHECK_EQ(det_distributed_open(&rank.options, &group), DET_INVALID);
    rank.options.timeout_ms = 0;
    rank.options.flags = 64;
    CHECK_EQ(det_distributed_open(&rank.options, &group), DET_INVALID);
    rank.options.flags = 0;
    CHECK_EQ(det_distributed_open(&rank.options, &group), DET_OK);
    CHECK_EQ(det_distributed_gather(group, NULL, 4, &parts), DET_INVALID);
    CHECK_HAS(det_distributed_error(group), "4 bytes are to be sent");
    CHECK_EQ(det_distributed_gather(group, "abcd", 4, NULL), DET_INVALID);
    CHECK_EQ(det_distributed_broadcast(group, "abcd", 4, NULL), DET_INVALID);
    CHECK_EQ(det_distributed_barrier(NULL), DET_INVALID);
    CHECK_EQ(det_distributed_ranks(NULL)->size, 1);
    CHECK_STR(det_distributed_error(NULL), "there is no group");
    det_distributed_close(group);
    det_distributed_close(NULL);
}

static void forks(struct rank *rank)
{
    if (rank->options.ranks.rank == 1) {
        pid_t child = fork();
        int how = 0;

        if (child == 0) {
            bool is_inert =
                det_distributed_barrier(rank->group) == DET_STATE &&
                strstr(det_distributed_error(rank->group), "forked") != NULL;

            det_distributed_close(rank->group);
            _exit(is_inert ? 0 : 1);
        }
        waitpid(child, &how, 0);
        EXPECT(rank, WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    rank->last = det_distributed_barrier(rank->group);
}

TEST(a_forked_childs_copy_is_inert_and_closing_it_disturbs_nobody)
{
    struct rank ranks[2];

    ranks_init(ranks, 2, 1, 0);
    ranks_run(ranks, 2, forks);
    ranks_close(ranks, 2);
    ranks_check(ranks, 2);
    CHECK_EQ(ranks[0].last, DET_OK);
    CHECK_EQ(ranks[1].last, DET_OK);
}
