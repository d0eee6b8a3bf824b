/* SPDX-License-Identifier: Apache-2.0 */
/* test_distributed_death.c - ranks as real processes, one of which dies: by SIGKILL at
 * a random moment, between two operations, or with half of a message sent.  All others
 * must end, and name it.  DET_TEST_SEED repeats a run. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "tests/unit/libdet/ranks.h"

enum { ROUNDS = 40 };

enum death { BETWEEN, SENDING, RECEIVING, FROM_OUTSIDE, DEATHS };

struct story {
    int size, nodes;
    unsigned flags;
    int victim;
    int round; /* the round in which it dies */
    enum death death;
    int nth; /* send or receive of that round */
    size_t len;
};

/* One operation of a round, the same on all ranks. */
static det_status operate(det_distributed *group, int round, const char *bytes,
                          size_t len)
{
    const det_part *parts;
    det_part part;

    switch (round % 4) {
    case 0:
        return det_distributed_allgather(group, bytes, len, &parts);
    case 1:
        return det_distributed_barrier(group);
    case 2:
        return det_distributed_gather(group, bytes, len, &parts);
    default:
        return det_distributed_broadcast(group, bytes, len, &part);
    }
}

/* What a rank sends to its parent: a status and its message. */
struct report {
    int rank;
    int status;
    char text[256];
};

static void live(const struct story *story, struct rank *rank, int out)
{
    static char bytes[1 << 20];
    int own = rank->options.ranks.rank;
    bool is_victim = own == story->victim;
    struct report report = {.rank = own};
    det_status st = det_distributed_open(&rank->options, &rank->group);

    /* A rank that is killed from outside does not end by itself, nor do the others. */
    for (int i = 0; !st && (i < ROUNDS || story->death == FROM_OUTSIDE); i++) {
        if (is_victim && i == story->round && story->death == BETWEEN)
            raise(SIGKILL);
        if (is_victim && i == story->round && story->death != FROM_OUTSIDE)
            fault_arm_as(story->death == SENDING ? FAULT_SEND : FAULT_RECEIVE,
                         story->nth, FAULT_DEATH);
        if (is_victim && i == story->round + 8)
            raise(SIGKILL); /* there were fewer */
        if (i == 1 && story->death == FROM_OUTSIDE && is_victim)
            (void)!write(out, &report, sizeof(report)); /* may be killed from now on */
        st = operate(rank->group, i, bytes, story->len);
        if (st && is_victim && story->death != FROM_OUTSIDE)
            raise(SIGKILL);
    }
    report.status = st;
    snprintf(report.text, sizeof(report.text), "%s",
             rank->group ? det_distributed_error(rank->group) : rank->error);
    (void)!write(out, &report, sizeof(report));
    _exit(0);
}

static void check_report(const struct story *story, const struct report *report)
{
    char text[64];

    snprintf(text, sizeof(text), "rank %d died in", story->victim);
    if (report->status != DET_UNREACHABLE || !strstr(report->text, text))
        fail_msg("rank %d of %d says %d '%s' when rank %d dies in round %d, way %d.%d",
                 report->rank, story->size, report->status, report->text, story->victim,
                 story->round, story->death, story->nth);
}

static void tell(const struct story *story)
{
    struct rank ranks[RANKS_MOST];
    pid_t children[RANKS_MOST];
    struct report report;
    int pipes[2];

    ranks_init(ranks, story->size, story->nodes, story->flags);
    CHECK_EQ(pipe(pipes), 0);
    for (int i = 0; i < story->size; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            alarm(60); /* a hang becomes an end without a report */
            close(pipes[0]);
            live(story, &ranks[i], pipes[1]);
        }
    }
    close(pipes[1]);
    if (story->death == FROM_OUTSIDE) {
        CHECK_EQ(read(pipes[0], &report, sizeof(report)), sizeof(report));
        CHECK_EQ(report.rank, story->victim);
        kill(children[story->victim], SIGKILL);
    }
    for (int i = 0; i < story->size - 1; i++) {
        CHECK_EQ(read(pipes[0], &report, sizeof(report)), sizeof(report));
        check_report(story, &report);
    }
    CHECK_EQ(read(pipes[0], &report, sizeof(report)), 0);
    close(pipes[0]);
    for (int i = 0; i < story->size; i++) {
        int how;

        CHECK_EQ(waitpid(children[i], &how, 0), children[i]);
        CHECK_EQ(WIFSIGNALED(how) ? WTERMSIG(how) : 0,
                 i == story->victim ? SIGKILL : 0);
    }
}

TEST(whoever_dies_whenever_all_others_are_told_who_and_nobody_hangs)
{
    static const size_t lens[] = {0, 100, 1 << 20};
    const char *given = getenv("DET_TEST_SEED");
    struct rng64 rng = {.state = given ? strtoull(given, NULL, 10)
                                       : (uint64_t)clock_wall_us(&clock_system)};

    print_message("# DET_TEST_SEED=%" PRIu64 "\n", rng.state);
    for (int i = 0; i < 40; i++) {
        int nodes = rng64_below(&rng, 3) == 0 ? 2 : 1;
        int size = nodes * (1 + (int)rng64_below(&rng, 3));
        struct story story = {
            .size = MAX(size, 2),
            .nodes = nodes,
            .flags = rng64_below(&rng, 2) ? DET_DISTRIBUTED_TCP : 0,
            .round = (int)rng64_below(&rng, ROUNDS - 10),
            .death = (enum death)rng64_below(&rng, DEATHS),
            .nth = 1 + (int)rng64_below(&rng, 6),
            .len = lens[rng64_below(&rng, ARRAY_LEN(lens))],
        };

        story.victim = (int)rng64_below(&rng, (uint64_t)story.size);
        tell(&story);
    }
}
