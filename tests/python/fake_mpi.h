/* SPDX-License-Identifier: Apache-2.0 */
/* fake_mpi.h - an MPI between threads: a list of messages. */
#ifndef TESTS_FAKE_MPI_H
#define TESTS_FAKE_MPI_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "_average_mpi.h"
#include "tests/support/test.h"

struct message {
    struct message *next;
    int from;
    int to;
    int tag;
    size_t len;
    char *bytes;  /* sent: a copy; received: its destination */
    bool is_sent; /* else received */
    bool is_done;
    bool is_free; /* nobody waits for it, but it still arrives */
};

struct world {
    pthread_mutex_t lock;
    struct message *messages; /* oldest first */
    int fails_after;          /* calls; 0: never */
};

/* A rank's communicator. */
struct seat {
    struct world *world;
    int rank;
    int size;
};

static struct message nothing = {.is_done = true};

static struct seat *seat_of(mpi_handle handle)
{
    return (struct seat *)(void *)handle;
}

static int fake_true(int *ret_is)
{
    *ret_is = 1;
    return 0;
}

static int fake_rank(mpi_handle comm, int *ret_rank)
{
    *ret_rank = seat_of(comm)->rank;
    return 0;
}

static int fake_size(mpi_handle comm, int *ret_size)
{
    *ret_size = seat_of(comm)->size;
    return 0;
}

static int fake_dup(mpi_handle comm, mpi_handle *ret_comm)
{
    *ret_comm = comm;
    return 0;
}

static int fake_handler(mpi_handle comm, mpi_handle handler)
{
    (void)comm;
    (void)handler;
    return 0;
}

static int fake_error(int code, char *text, int *ret_len)
{
    *ret_len = snprintf(text, MPI_SENTENCE, "the wire broke (%d)", code);
    return 0;
}

static void unlink_message(struct world *world, struct message *message)
{
    struct message **at = &world->messages;

    while (*at && *at != message)
        at = &(*at)->next;
    if (*at)
        *at = message->next;
}

/* The oldest one that matches and is of the other kind. */
static struct message *partner_of(struct world *world, const struct message *message)
{
    struct message *each = world->messages;

    while (each && !(each->is_sent != message->is_sent && each->from == message->from &&
                     each->to == message->to && each->tag == message->tag))
        each = each->next;
    return each;
}

static int add(struct seat *seat, struct message message, mpi_handle *ret_request)
{
    struct world *world = seat->world;
    struct message *own = malloc(sizeof(*own));
    struct message *other;
    struct message **last;

    *own = message;
    pthread_mutex_lock(&world->lock);
    if (world->fails_after && --world->fails_after == 0) {
        world->fails_after = 1; /* and all later ones */
        pthread_mutex_unlock(&world->lock);
        free(own);
        return 16;
    }
    other = partner_of(world, own);
    if (other) {
        const struct message *sent = own->is_sent ? own : other;
        const struct message *into = own->is_sent ? other : own;

        CHECK_EQ(sent->len, into->len);
        memcpy(into->bytes, sent->bytes, sent->len);
        unlink_message(world, other);
        other->is_done = own->is_done = true;
        if (other->is_sent)
            free(other->bytes);
        if (other->is_sent || other->is_free)
            free(other);
    } else {
        if (own->is_sent)
            own->bytes = memcpy(malloc(own->len + 1), own->bytes, own->len);
        for (last = &world->messages; *last; last = &(*last)->next)
            continue;
        *last = own;
    }
    pthread_mutex_unlock(&world->lock);
    *ret_request = (mpi_handle)(void *)(message.is_sent ? &nothing : own);
    if (message.is_sent && other)
        free(own);
    return 0;
}

static int fake_isend(const void *bytes, int count, mpi_handle type, int to, int tag,
                      mpi_handle comm, mpi_handle *ret_request)
{
    (void)type;
    return add(seat_of(comm),
               (struct message){.from = seat_of(comm)->rank,
                                .to = to,
                                .tag = tag,
                                .len = (size_t)count,
                                .bytes = (char *)(uintptr_t)bytes,
                                .is_sent = true},
               ret_request);
}

static int fake_irecv(void *bytes, int count, mpi_handle type, int from, int tag,
                      mpi_handle comm, mpi_handle *ret_request)
{
    (void)type;
    return add(seat_of(comm),
               (struct message){.from = from,
                                .to = seat_of(comm)->rank,
                                .tag = tag,
                                .len = (size_t)count,
                                .bytes = bytes},
               ret_request);
}

static struct world *one_world(void)
{
    static struct world world = {.lock = PTHREAD_MUTEX_INITIALIZER};

    return &world;
}

static int fake_testall(int count, mpi_handle *requests, int *ret_are_done,
                        void *statuses)
{
    (void)statuses;
    *ret_are_done = 1;
    pthread_mutex_lock(&one_world()->lock);
    for (int i = 0; i < count; i++)
        if (!((struct message *)(void *)requests[i])->is_done)
            *ret_are_done = 0;
    for (int i = 0; *ret_are_done && i < count; i++) {
        if ((void *)requests[i] != &nothing)
            free(requests[i]);
        requests[i] = (mpi_handle)(void *)&nothing;
    }
    pthread_mutex_unlock(&one_world()->lock);
    return 0;
}

static int fake_cancel(mpi_handle *request)
{
    struct message *message = (struct message *)(void *)*request;

    pthread_mutex_lock(&one_world()->lock);
    unlink_message(one_world(), message);
    message->is_done = true;
    pthread_mutex_unlock(&one_world()->lock);
    return 0;
}

static int fake_free(mpi_handle *request)
{
    struct message *message = (struct message *)(void *)*request;
    bool is_done;

    pthread_mutex_lock(&one_world()->lock);
    is_done = message->is_done;
    if (!is_done)
        message->is_free = true;
    pthread_mutex_unlock(&one_world()->lock);
    if (is_done && message != &nothing)
        free(message);
    return 0;
}

static struct mpi fake_mpi(struct seat *seat)
{
    return (struct mpi){.initialized = fake_true,
                        .comm_rank = fake_rank,
                        .comm_size = fake_size,
                        .comm_dup = fake_dup,
                        .set_handler = fake_handler,
                        .isend = fake_isend,
                        .irecv = fake_irecv,
                        .testall = fake_testall,
                        .cancel = fake_cancel,
                        .free_request = fake_free,
                        .error_string = fake_error,
                        .world = (mpi_handle)(void *)seat,
                        .request_null = (mpi_handle)(void *)&nothing};
}

static void forget_messages(void)
{
    struct world *world = one_world();

    while (world->messages) {
        struct message *first = world->messages;

        world->messages = first->next;
        if (first->is_sent)
            free(first->bytes);
        free(first);
    }
    world->fails_after = 0;
}

#endif
