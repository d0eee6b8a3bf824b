/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h - the processes that train together, as threads of a test.  The test's own
 * thread checks what each rank found. */
#ifndef TESTS_UNIT_LIBDET_RANKS_H
#define TESTS_UNIT_LIBDET_RANKS_H

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "det/distributed.h"
#include "net/stream.h"
#include "tests/support/test.h"

enum { RANKS_MOST = 16 };

struct rank {
    det_distributed_options options;
    det_distributed *group;
    det_status opened;
    det_status last; /* of the story */
    char error[512];
    void (*story)(struct rank *rank);
    void *arg;
    int wrong; /* line of the first failed check; 0: none */
    pthread_t thread;
};

/* In a story, instead of CHECK. */
#define EXPECT(rank_, x)                                                               \
    do {                                                                               \
        if (!(x) && !(rank_)->wrong)                                                   \
            (rank_)->wrong = __LINE__;                                                 \
    } while (0)

/* A free port that parallel tests hardly ever take: each process has its own range,
 * outside the one that the kernel usually hands out. */
static inline uint16_t ranks_port(void)
{
    enum { FIRST = 10000, OWN = 64, PROCESSES = 320 };
    static int used;

    for (;;) {
        int own = getpid() % PROCESSES * OWN + used++ % OWN;
        struct stream_at at = {.host = "127.0.0.1", .port = (uint16_t)(FIRST + own)};
        struct stream listener;

        CHECK(used < 100 * OWN);
        if (stream_listen(&at, &listener, &at.port, NULL))
            continue;
        stream_close(&listener);
        return at.port;
    }
}

/* `nodes` nodes with the same number of ranks. */
static inline void ranks_init(struct rank *ranks, int size, int nodes, unsigned flags)
{
    int local = size / nodes;
    uint16_t port = ranks_port();

    for (int i = 0; i < size; i++) {
        ranks[i] = (struct rank){
            .options = {.size = sizeof(det_distributed_options),
                        .ranks = {i, size, i % local, local, i / local, nodes},
                        .flags = flags,
                        .port = port,
                        .chief = "127.0.0.1",
                        .secret = "the tests' secret",
                        .open_timeout_ms = 60000},
        };
        ranks[i].options.error = ranks[i].error;
        ranks[i].options.error_size = sizeof(ranks[i].error);
    }
}

static void *rank_main(void *arg)
{
    struct rank *rank = arg;

    rank->opened = det_distributed_open(&rank->options, &rank->group);
    if (rank->opened)
        return NULL;
    if (rank->story)
        rank->story(rank);
    if (rank->last)
        snprintf(rank->error, sizeof(rank->error), "%s",
                 det_distributed_error(rank->group));
    return NULL;
}

static inline void ranks_start(struct rank *ranks, int size,
                               void (*story)(struct rank *))
{
    for (int i = 0; i < size; i++) {
        ranks[i].story = story;
        CHECK_EQ(pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]), 0);
    }
}

static inline void ranks_join(struct rank *ranks, int size)
{
    for (int i = 0; i < size; i++)
        CHECK_EQ(pthread_join(ranks[i].thread, NULL), 0);
}

static inline void ranks_close(struct rank *ranks, int size)
{
    for (int i = 0; i < size; i++)
        if (ranks[i].group)
            det_distributed_close(ranks[i].group);
}

static inline void ranks_run(struct rank *ranks, int size, void (*story)(struct rank *))
{
    ranks_start(ranks, size, story);
    ranks_join(ranks, size);
}

/* All ranks joined, and no check failed. */
static inline void ranks_check(const struct rank *ranks, int size)
{
    for (int i = 0; i < size; i++) {
        if (ranks[i].opened || ranks[i].wrong)
            fail_msg("rank %d: %s %s, line %d", i, det_status_name(ranks[i].opened),
                     ranks[i].error, ranks[i].wrong);
    }
}

/* Every rank's story ended with this status and message. */
static inline void ranks_check_end(const struct rank *ranks, int size, det_status st,
                                   const char *text)
{
    for (int i = 0; i < size; i++) {
        CHECK_EQ(ranks[i].opened, DET_OK);
        CHECK_EQ(ranks[i].last, st);
        CHECK_HAS(ranks[i].error, text);
    }
}

#endif
