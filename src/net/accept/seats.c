/* SPDX-License-Identifier: Apache-2.0 */
/* seats.c - see seats.h.
 *
 * A seat is found by its descriptor, once, when libmicrohttpd announces the connection.
 * libmicrohttpd may also close a new connection without a notification, if it is out of
 * memory: then the kernel gives the same descriptor to another connection, whose
 * seats_take() finds the old seat and releases it. */
#include "net/accept/seats.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/compiler.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"

enum {
    WAIT_NS = 50000000,
    SECOND_US = 1000000,
    V6_NETWORK = 8,
    V4_PREFIX = 12,
    MOST_OPENING = 32,
    EARLY_PART = 10 /* a head is late after this part of its time */
};

enum seat_phase {
    HEAD,
    IDLE,
    SENDING,
    BODY,
    RESTING_PHASES,
    BUSY = RESTING_PHASES,
    SHED
};

/* In which order they are closed, see rule 2. */
static const struct {
    enum seat_phase phase;
    bool is_late; /* only late ones */
} shed_order[] = {{HEAD, true}, {IDLE}, {HEAD}, {SENDING}, {BODY}};

struct holder {
    int64_t key;
    uint32_t count;
    bool is_trusted;
    struct net_addr address; /* the first one seen */
};

struct seat {
    struct seat *older; /* in the list of its phase */
    struct seat *newer;
    struct holder *holder;
    int64_t since_us; /* of its phase */
    int64_t until_us; /* its deadline */
    int fd;
    enum seat_phase phase;
    bool is_open; /* libmicrohttpd has announced it */
};

struct seat_list {
    struct seat *oldest;
    struct seat *newest;
};

struct seats {
    struct seats_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* one was announced, or has left */
    struct seat_list rests[RESTING_PHASES];
    struct map holders;
    struct seat **by_fd;
    size_t fds;
    uint32_t count;
    uint32_t opening;       /* not announced yet */
    uint32_t leaving;       /* SHED, not left yet */
    uint32_t turned_away;   /* closed or refused, not reported yet */
    struct net_addr greedy; /* whose was the last of them */
};

/* ---- lists, under the lock ------------------------------------------------------- */

static void list_remove(struct seats *seats, struct seat *seat)
{
    struct seat_list *list;

    if (seat->phase >= RESTING_PHASES)
        return;
    list = &seats->rests[seat->phase];
    *(seat->older ? &seat->older->newer : &list->oldest) = seat->newer;
    *(seat->newer ? &seat->newer->older : &list->newest) = seat->older;
    seat->older = seat->newer = NULL;
}

static void list_append(struct seats *seats, struct seat *seat)
{
    struct seat_list *list;

    if (seat->phase >= RESTING_PHASES)
        return;
    list = &seats->rests[seat->phase];
    seat->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = seat;
    list->newest = seat;
}

static void seat_enter(struct seats *seats, struct seat *seat, enum seat_phase phase,
                       int64_t for_us)
{
    int64_t now_us = clock_mono_us(seats->config.clock);

    if (seat->phase == SHED)
        return;
    list_remove(seats, seat);
    seat->phase = phase;
    seat->since_us = now_us;
    seat->until_us = now_us + for_us;
    list_append(seats, seat);
}

/* ---- addresses, under the lock --------------------------------------------------- */

static int64_t network_key(const struct net_addr *from)
{
    static const uint8_t v4[V4_PREFIX] = {[10] = 0xff, [11] = 0xff};
    bool is_v4 = !memcmp(from->ip, v4, sizeof(v4));

    return (int64_t)hash_bytes(from->ip, is_v4 ? sizeof(from->ip) : V6_NETWORK);
}

static bool is_trusted(const struct seats *seats, const struct net_addr *from)
{
    char text[NET_ADDRESS_TEXT];

    net_addr_format(from, text, sizeof(text));
    for (size_t i = 0; i < seats->config.trusted.count; i++)
        if (net_range_has(&seats->config.trusted.at[i], text))
            return true;
    return false;
}

static struct holder *holder_of(struct seats *seats, const struct net_addr *from)
{
    int64_t key = network_key(from);
    struct holder *holder = map_get(&seats->holders, key);

    if (holder)
        return holder;
    holder = mem_new(struct holder);
    if (!holder)
        return NULL;
    *holder = (struct holder){
        .key = key, .is_trusted = is_trusted(seats, from), .address = *from};
    if (map_put(&seats->holders, key, holder))
        return holder;
    mem_free(holder);
    return NULL;
}

/* ---- closing, under the lock ----------------------------------------------------- */

static void uncount(struct seats *seats, struct holder *holder)
{
    assert(seats->count && holder->count);
    seats->count--;
    if (--holder->count)
        return;
    map_remove(&seats->holders, holder->key);
    mem_free(holder);
}

static void turn_away(struct seats *seats, const struct holder *holder)
{
    seats->turned_away++;
    seats->greedy = holder->address;
}

static void shed_seat(struct seats *seats, struct seat *seat)
{
    list_remove(seats, seat);
    seat->phase = SHED;
    uncount(seats, seat->holder);
    seats->leaving++;
    shutdown(seat->fd, SHUT_RDWR);
}

/* The oldest of `holder`, or of all; NULL: none came before `until_us`. */
static struct seat *oldest_of(const struct seat_list *list, const struct holder *holder,
                              int64_t until_us)
{
    for (struct seat *seat = list->oldest; seat && seat->since_us <= until_us;
         seat = seat->newer)
        if ((!holder || seat->holder == holder) && seat->is_open)
            return seat;
    return NULL;
}

/* The first in the order above: of `holder`, or of all. */
static bool shed_of(struct seats *seats, const struct holder *holder)
{
    int64_t late_us =
        clock_mono_us(seats->config.clock) - seats->config.head_us / EARLY_PART;

    for (size_t i = 0; i < ARRAY_LEN(shed_order); i++) {
        struct seat *seat = oldest_of(&seats->rests[shed_order[i].phase], holder,
                                      shed_order[i].is_late ? late_us : INT64_MAX);

        if (!seat)
            continue;
        turn_away(seats, seat->holder);
        shed_seat(seats, seat);
        return true;
    }
    return false;
}

/* The new one is counted already. */
static bool make_room(struct seats *seats, const struct holder *holder)
{
    if (!holder->is_trusted && holder->count > seats->config.most_of_one)
        return shed_of(seats, holder);
    return seats->count <= seats->config.most || shed_of(seats, NULL);
}

static void seat_announce(struct seats *seats, struct seat *seat)
{
    if (seat->is_open)
        return;
    seat->is_open = true;
    seats->opening--;
    pthread_cond_broadcast(&seats->changed);
}

static void seat_release(struct seats *seats, struct seat *seat)
{
    seats->by_fd[seat->fd] = NULL;
    seat_announce(seats, seat);
    if (seat->phase == SHED) {
        seats->leaving--;
        pthread_cond_broadcast(&seats->changed);
    } else {
        list_remove(seats, seat);
        uncount(seats, seat->holder);
    }
    mem_free(seat);
}

/* ---- life ------------------------------------------------------------------------ */

det_status seats_new(const struct seats_config *config, struct seats **ret_seats,
                     struct err *err)
{
    struct seats *seats = mem_new(struct seats);
    pthread_condattr_t monotonic;

    if (!seats)
        return err_default(err, DET_NOMEM);
    seats->config = *config;
    pthread_mutex_init(&seats->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&seats->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *ret_seats = seats;
    return DET_OK;
}

void seats_free(struct seats *seats)
{
    if (!seats)
        return;
    for (size_t fd = 0; fd < seats->fds; fd++)
        if (seats->by_fd[fd])
            seat_release(seats, seats->by_fd[fd]);
    assert(!seats->count && !seats->holders.count);
    map_done(&seats->holders);
    mem_free(seats->by_fd);
    pthread_mutex_destroy(&seats->lock);
    pthread_cond_destroy(&seats->changed);
    mem_free(seats);
}

static bool seats_grow(struct seats *seats, int fd)
{
    size_t fds = MAX(seats->fds * 2, (size_t)fd + 64);
    struct seat **by_fd;

    if ((size_t)fd < seats->fds)
        return true;
    by_fd = mem_resize(seats->by_fd, fds, sizeof(*by_fd));
    if (!by_fd)
        return false;
    memset(by_fd + seats->fds, 0, (fds - seats->fds) * sizeof(*by_fd));
    seats->by_fd = by_fd;
    seats->fds = fds;
    return true;
}

static bool seat_new(struct seats *seats, int fd, struct holder *holder)
{
    struct seat *seat = seats_grow(seats, fd) ? mem_new(struct seat) : NULL;

    if (!seat)
        return false;
    if (seats->by_fd[fd]) /* libmicrohttpd closed it without a notification */
        seat_release(seats, seats->by_fd[fd]);
    *seat = (struct seat){.fd = fd, .holder = holder, .phase = BUSY};
    seats->by_fd[fd] = seat;
    seats->opening++;
    seat_enter(seats, seat, HEAD, seats->config.head_us);
    return true;
}

bool seats_take(struct seats *seats, int fd, const struct net_addr *from)
{
    struct holder *holder;
    bool is_taken = false;

    pthread_mutex_lock(&seats->lock);
    holder = holder_of(seats, from);
    if (holder) {
        seats->count++;
        holder->count++;
        is_taken = make_room(seats, holder) && seat_new(seats, fd, holder);
        if (!is_taken) {
            turn_away(seats, holder);
            uncount(seats, holder);
        }
    }
    pthread_mutex_unlock(&seats->lock);
    return is_taken;
}

bool seats_shed(struct seats *seats)
{
    bool is_shed;

    pthread_mutex_lock(&seats->lock);
    is_shed = shed_of(seats, NULL);
    pthread_mutex_unlock(&seats->lock);
    return is_shed;
}

void seats_wait(struct seats *seats, uint32_t most)
{
    /* only announced ones can be closed, so most of a share must be */
    uint32_t opening =
        MAX(MIN(seats->config.most_of_one / 2, (uint32_t)MOST_OPENING), 1u);
    struct timespec until;
    int code = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&seats->lock);
    while ((seats->leaving >= most || seats->opening >= opening) && !code)
        code = pthread_cond_timedwait(&seats->changed, &seats->lock, &until);
    pthread_mutex_unlock(&seats->lock);
}

uint32_t seats_sweep(struct seats *seats, char ret_address[NET_ADDRESS_TEXT])
{
    int64_t now_us = clock_mono_us(seats->config.clock);
    uint32_t turned_away;

    pthread_mutex_lock(&seats->lock);
    for (enum seat_phase phase = 0; phase < RESTING_PHASES; phase++)
        for (struct seat *seat = seats->rests[phase].oldest, *newer; seat;
             seat = newer) {
            newer = seat->newer;
            if (seat->is_open && seat->until_us <= now_us)
                shed_seat(seats, seat);
        }
    turned_away = seats->turned_away;
    seats->turned_away = 0;
    net_addr_format(&seats->greedy, ret_address, NET_ADDRESS_TEXT);
    pthread_mutex_unlock(&seats->lock);
    return turned_away;
}

struct seat *seats_find(struct seats *seats, int fd)
{
    struct seat *seat = NULL;

    pthread_mutex_lock(&seats->lock);
    if (fd >= 0 && (size_t)fd < seats->fds)
        seat = seats->by_fd[fd];
    if (seat)
        seat_announce(seats, seat);
    pthread_mutex_unlock(&seats->lock);
    return seat;
}

static void seat_move(struct seats *seats, struct seat *seat, enum seat_phase phase,
                      int64_t for_us)
{
    if (!seat)
        return;
    pthread_mutex_lock(&seats->lock);
    seat_enter(seats, seat, phase, for_us);
    pthread_mutex_unlock(&seats->lock);
}

static int64_t time_for(const struct seats *seats, uint64_t len)
{
    return (int64_t)(len * SECOND_US / MAX(seats->config.least_rate, 1u));
}

/* The first head of a connection has its deadline since it was accepted. */
void seat_head_began(struct seats *seats, struct seat *seat)
{
    if (!seat)
        return;
    pthread_mutex_lock(&seats->lock);
    if (seat->phase == IDLE)
        seat_enter(seats, seat, HEAD, seats->config.head_us);
    pthread_mutex_unlock(&seats->lock);
}

void seat_got_head(struct seats *seats, struct seat *seat)
{
    seat_move(seats, seat, BODY, seats->config.head_us);
}

/* A fast start buys no more time than there was at first.  Its place in the list stays:
 * what counts there is when the body began. */
void seat_got_body(struct seats *seats, struct seat *seat, size_t len)
{
    int64_t most_us = clock_mono_us(seats->config.clock) + seats->config.head_us;

    if (!seat)
        return;
    pthread_mutex_lock(&seats->lock);
    seat->until_us = MIN(seat->until_us + time_for(seats, len), most_us);
    pthread_mutex_unlock(&seats->lock);
}

void seat_busy(struct seats *seats, struct seat *seat)
{
    seat_move(seats, seat, BUSY, 0);
}

void seat_sending(struct seats *seats, struct seat *seat, uint64_t len)
{
    seat_move(seats, seat, SENDING, seats->config.head_us + time_for(seats, len));
}

void seat_idle(struct seats *seats, struct seat *seat)
{
    seat_move(seats, seat, IDLE, seats->config.idle_us);
}

void seat_leave(struct seats *seats, struct seat *seat)
{
    if (!seat)
        return;
    pthread_mutex_lock(&seats->lock);
    seat_release(seats, seat);
    pthread_mutex_unlock(&seats->lock);
}

uint32_t seats_count(struct seats *seats)
{
    uint32_t count;

    pthread_mutex_lock(&seats->lock);
    count = seats->count;
    pthread_mutex_unlock(&seats->lock);
    return count;
}
