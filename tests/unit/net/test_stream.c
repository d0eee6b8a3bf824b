/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends of a stream, TCP and Unix, and how they end. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory/mem.h"
#include "net/stream.h"
#include "tests/support/test.h"

struct pair {
    struct stream listener, ours, theirs;
};

static int64_t in_ms(int64_t ms)
{
    return clock_mono_us(&clock_system) + ms * 1000;
}

static void pair_open(struct pair *p, const char *name)
{
    struct stream_at at = {.name = name, .host = name ? NULL : "127.0.0.1"};
    struct pollfd row;

    CHECK_OK(stream_listen(&at, &p->listener, &at.port, &test_err));
    CHECK_OK(stream_connect(&at, in_ms(10000), &p->ours, &test_err));
    row = stream_row(&p->listener, POLLIN);
    CHECK_OK(stream_wait(&row, 1, in_ms(10000), &test_err));
    CHECK_OK(stream_accept(&p->listener, &p->theirs, &test_err));
}

static void pair_close(struct pair *p)
{
    stream_close(&p->listener);
    stream_close(&p->ours);
    stream_close(&p->theirs);
}

static void talk(struct pair *p)
{
    char word[6] = "";

    CHECK_OK(stream_send(&p->ours, "hello", 6, in_ms(10000), &test_err));
    CHECK_OK(stream_receive(&p->theirs, word, 6, in_ms(10000), &test_err));
    CHECK_STR(word, "hello");
    CHECK_OK(stream_send(&p->theirs, "world", 6, in_ms(10000), &test_err));
    CHECK_OK(stream_receive(&p->ours, word, 6, in_ms(10000), &test_err));
    CHECK_STR(word, "world");
}

TEST(bytes_go_both_ways_over_tcp_and_unix_sockets)
{
    char name[64];
    struct pair p;

    pair_open(&p, NULL);
    talk(&p);
    CHECK(stream_is_same_user(&p.ours));
    pair_close(&p);
    snprintf(name, sizeof(name), "@det-test-stream-%d", (int)getpid());
    pair_open(&p, name);
    talk(&p);
    CHECK(stream_is_same_user(&p.ours));
    pair_close(&p);
    snprintf(name, sizeof(name), "/tmp/det-test-stream-%d", (int)getpid());
    pair_open(&p, name);
    talk(&p);
    pair_close(&p);
    unlink(name);
}

TEST(accept_without_a_caller_is_busy_and_connect_without_a_listener_unreachable)
{
    struct stream_at at = {.host = "127.0.0.1"};
    struct stream listener, stream = STREAM_NONE;

    CHECK_OK(stream_listen(&at, &listener, &at.port, &test_err));
    CHECK_EQ(stream_accept(&listener, &stream, &test_err), DET_BUSY);
    stream_close(&listener);
    CHECK_EQ(stream_connect(&at, in_ms(10000), &stream, &test_err), DET_UNREACHABLE);
    CHECK_HAS(test_err.text, "cannot reach 127.0.0.1:");
    at.name = "@det-test-nobody-is-here";
    CHECK_EQ(stream_connect(&at, in_ms(10000), &stream, &test_err), DET_UNREACHABLE);
    at = (struct stream_at){.host = "no-such-host.invalid", .port = 1};
    CHECK(stream_connect(&at, in_ms(10000), &stream, &test_err) != DET_OK);
    CHECK_HAS(test_err.text, "no-such-host.invalid");
    CHECK_EQ(stream.fd, -1);
}

TEST(a_taken_address_and_an_unknown_name_are_reported)
{
    char name[200] = "/";
    struct stream_at at = {.host = "127.0.0.1"};
    struct stream listener, second;

    CHECK_OK(stream_listen(&at, &listener, &at.port, &test_err));
    CHECK_EQ(stream_listen(&at, &second, NULL, &test_err), DET_EXISTS);
    CHECK_HAS(test_err.text, "another process listens on 127.0.0.1:");
    stream_close(&listener);
    memset(name + 1, 'x', sizeof(name) - 2);
    at = (struct stream_at){.name = name};
    CHECK_EQ(stream_listen(&at, &second, NULL, &test_err), DET_INVALID);
    CHECK_EQ(stream_connect(&at, 0, &second, &test_err), DET_INVALID);
    at.name = "";
    CHECK_EQ(stream_listen(&at, &second, NULL, &test_err), DET_INVALID);
}

TEST(all_addresses_of_the_machine_take_connections)
{
    struct stream_at at = {0};
    struct stream listener, stream;

    CHECK_OK(stream_listen(&at, &listener, &at.port, &test_err));
    at.host = "127.0.0.1";
    CHECK_OK(stream_connect(&at, in_ms(10000), &stream, &test_err));
    stream_close(&stream);
    stream_close(&listener);
}

TEST(bytes_sent_before_the_end_are_received_first)
{
    struct pair p;
    char bytes[8];

    pair_open(&p, NULL);
    CHECK_OK(stream_send(&p.theirs, "last", 4, 0, &test_err));
    /* unread bytes turn the end into a reset, which must not lose the last bytes */
    CHECK_OK(stream_send(&p.ours, "unread", 6, 0, &test_err));
    stream_close(&p.theirs);
    CHECK_OK(stream_receive(&p.ours, bytes, 4, in_ms(10000), &test_err));
    CHECK(memcmp(bytes, "last", 4) == 0);
    CHECK_EQ(stream_receive(&p.ours, bytes, 1, in_ms(10000), &test_err),
             DET_UNREACHABLE);
    CHECK_HAS(test_err.text, "closed the connection");
    pair_close(&p);
}

TEST(silence_ends_at_the_deadline_and_so_does_a_reader_who_does_not_read)
{
    enum { MUCH = 64 << 20 };
    char *much = mem_alloc(MUCH);
    struct pair p;
    char byte;

    CHECK(much != NULL);
    pair_open(&p, NULL);
    CHECK_EQ(stream_receive(&p.ours, &byte, 1, in_ms(1), &test_err), DET_TIMEOUT);
    CHECK_EQ(stream_send(&p.ours, much, MUCH, in_ms(1), &test_err), DET_TIMEOUT);
    pair_close(&p);
    mem_free(much);
}

TEST(a_process_that_is_killed_is_noticed)
{
    struct pair p;
    char byte;
    pid_t child;

    pair_open(&p, NULL);
    child = fork();
    if (child == 0) {
        stream_close(&p.ours);
        for (;;)
            pause();
    }
    stream_close(&p.theirs);
    kill(child, SIGKILL);
    CHECK_EQ(waitpid(child, NULL, 0), child);
    CHECK_EQ(stream_receive(&p.ours, &byte, 1, in_ms(10000), &test_err),
             DET_UNREACHABLE);
    pair_close(&p);
}

TEST(faults_strike_connecting_sending_and_receiving)
{
    struct stream_at at = {.host = "127.0.0.1"};
    struct stream stream = STREAM_NONE;
    struct pair p;
    char bytes[4];

    fault_arm(FAULT_SEND, 1);
    CHECK_EQ(stream_connect(&at, 0, &stream, &test_err), DET_UNREACHABLE);
    CHECK(fault_disarm(FAULT_SEND));
    pair_open(&p, NULL);
    fault_arm(FAULT_SEND, 1);
    CHECK_EQ(stream_send(&p.ours, "half", 4, 0, &test_err), DET_UNREACHABLE);
    CHECK(fault_disarm(FAULT_SEND));
    CHECK_OK(stream_receive(&p.theirs, bytes, 2, in_ms(10000), &test_err));
    CHECK(memcmp(bytes, "ha", 2) == 0);
    fault_arm(FAULT_RECEIVE, 1);
    CHECK_EQ(stream_receive(&p.theirs, bytes, 1, 0, &test_err), DET_UNREACHABLE);
    CHECK(fault_disarm(FAULT_RECEIVE));
    fault_arm_as(FAULT_SEND, 1, FAULT_DEATH);
    CHECK_EQ(stream_send(&p.ours, "half", 4, 0, &test_err), DET_UNREACHABLE);
    CHECK_EQ(stream_send(&p.ours, "more", 4, 0, &test_err), DET_UNREACHABLE);
    CHECK_EQ(stream_receive(&p.ours, bytes, 1, 0, &test_err), DET_UNREACHABLE);
    CHECK(fault_light());
    CHECK_OK(stream_receive(&p.theirs, bytes, 2, in_ms(10000), &test_err));
    pair_close(&p);
}
