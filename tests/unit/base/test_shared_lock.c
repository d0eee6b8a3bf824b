/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread/shared_lock.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "tests/support/test.h"

TEST(the_checksum_is_the_one_that_others_compute)
{
    unsigned char bytes[64];

    CHECK_EQ(crc32c(0, "", 0), 0);
    CHECK_EQ(crc32c(0, "123456789", 9), 0xe3069283u);
    memset(bytes, 0, 32);
    CHECK_EQ(crc32c(0, bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, 32);
    CHECK_EQ(crc32c(0, bytes, 32), 0x62a8ab43u);
}

TEST(the_checksum_is_the_same_on_any_processor_and_in_any_pieces)
{
    unsigned char bytes[64];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 37);
    for (size_t len = 0; len <= sizeof(bytes); len++)
        for (size_t cut = 0; cut <= len; cut += 5) {
            uint32_t whole = crc32c(0, bytes, len);

            CHECK_EQ(crc32c_plain(0, bytes, len), whole);
            CHECK_EQ(crc32c(crc32c(0, bytes, cut), bytes + cut, len - cut), whole);
        }
}

struct turn {
    struct shared_lock lock;
    int64_t count;
    _Atomic uint32_t word;
};

static void *count_up(void *arg)
{
    struct turn *turn = arg;

    for (int i = 0; i < 10000; i++) {
        if (!shared_lock_take(&turn->lock, 10000))
            return NULL;
        turn->count++;
        shared_lock_give(&turn->lock);
    }
    return arg;
}

TEST(one_at_a_time_holds_the_lock)
{
    struct turn turn = {0};
    pthread_t thread[4];
    void *is_fine;

    shared_lock_reset(&turn.lock);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, count_up, &turn), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &is_fine);
        CHECK(is_fine);
    }
    CHECK_EQ(turn.count, 40000);
}

static void *take_and_die(void *arg)
{
    return shared_lock_take(arg, 1000) ? arg : NULL;
}

TEST(a_holder_that_died_has_let_go)
{
    struct shared_lock lock = {0};
    pthread_t thread;
    void *is_held;

    shared_lock_reset(&lock);
    CHECK_EQ(pthread_create(&thread, NULL, take_and_die, &lock), 0);
    pthread_join(thread, &is_held);
    CHECK(is_held);
    CHECK(shared_lock_take(&lock, 0));
    shared_lock_give(&lock);
    CHECK(shared_lock_take(&lock, 0));
    /* By ourselves: a signal's handler, say. */
    CHECK(!shared_lock_take(&lock, 1));
    shared_lock_give(&lock);
}

static void *set_word(void *arg)
{
    struct turn *turn = arg;

    atomic_store(&turn->word, 1);
    shared_wake(&turn->word);
    return NULL;
}

TEST(a_word_wakes_who_sleeps_on_it)
{
    struct turn turn = {0};
    pthread_t thread;

    shared_wait(&turn.word, 7, -1);
    shared_wait(&turn.word, 0, 1);
    CHECK_EQ(pthread_create(&thread, NULL, set_word, &turn), 0);
    while (!atomic_load(&turn.word))
        shared_wait(&turn.word, 0, -1);
    pthread_join(thread, NULL);
}

TEST(a_mark_shows_a_fork)
{
    struct fork_mark mark = {0};
    int code;
    pid_t child;

    fork_mark_done(&mark);
    CHECK_OK(fork_mark_init(&mark, &test_err));
    CHECK(fork_mark_is_ours(&mark));
    child = fork();
    if (child == 0)
        _exit(fork_mark_is_ours(&mark) ? 1 : 0);
    CHECK_EQ(waitpid(child, &code, 0), child);
    CHECK_EQ(code, 0);
    CHECK(fork_mark_is_ours(&mark));
    fork_mark_done(&mark);
    fault_arm(FAULT_MEMORY, 1);
    CHECK_EQ(fork_mark_init(&mark, &test_err), DET_NOMEM);
    fault_disarm(FAULT_MEMORY);
}
