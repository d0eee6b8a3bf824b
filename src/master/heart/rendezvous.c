/* SPDX-License-Identifier: Apache-2.0 */
#include "master/heart/rendezvous.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/thread/lock.h"

struct guest {
    char *name;
    char *data;
    uint64_t round;
};

struct meeting {
    char *name;
    uint32_t seats; /* of the current round; the round before it was full */
    uint32_t taken; /* seats of the current round */
    uint64_t round;
    VEC(struct guest) guests; /* of both rounds */
};

struct rendezvous {
    struct lock lock;    /* guards everything below */
    struct map meetings; /* name -> struct meeting, owned */
};

static void guest_done(struct guest *guest)
{
    mem_free(guest->name);
    mem_free(guest->data);
}

static void meeting_free(struct meeting *meeting)
{
    for (size_t i = 0; i < meeting->guests.count; i++)
        guest_done(&meeting->guests.at[i]);
    vec_done(&meeting->guests);
    mem_free(meeting->name);
    mem_free(meeting);
}

static struct meeting *find_or_make_meeting(struct rendezvous *rendezvous,
                                            const char *name, uint32_t seats)
{
    struct meeting *meeting = smap_get(&rendezvous->meetings, name);

    if (meeting)
        return meeting;
    meeting = mem_new(struct meeting);
    if (!meeting)
        return NULL;
    meeting->name = mem_strdup(name);
    meeting->seats = seats;
    if (!meeting->name || !smap_put(&rendezvous->meetings, meeting->name, meeting)) {
        meeting_free(meeting);
        return NULL;
    }
    return meeting;
}

static struct guest *find_guest(const struct meeting *meeting, const char *name)
{
    for (size_t i = 0; i < meeting->guests.count; i++)
        if (!strcmp(meeting->guests.at[i].name, name))
            return &meeting->guests.at[i];
    return NULL;
}

static bool is_full(const struct meeting *meeting, uint64_t round)
{
    return round < meeting->round || meeting->taken >= meeting->seats;
}

/* A guest of the new round has read the round before, so the one before that is dropped. */
static void begin_round(struct meeting *meeting, uint32_t seats)
{
    size_t kept = 0;

    for (size_t i = 0; i < meeting->guests.count; i++) {
        struct guest *guest = &meeting->guests.at[i];

        if (guest->round == meeting->round)
            meeting->guests.at[kept++] = *guest;
        else
            guest_done(guest);
    }
    meeting->guests.count = kept;
    meeting->round++;
    meeting->seats = seats;
    meeting->taken = 0;
}

/* NULL: out of memory. */
static struct guest *take_seat(struct meeting *meeting, uint32_t seats,
                               const char *name, const char *data)
{
    struct guest *known = find_guest(meeting, name);
    struct guest guest = {0};

    if (known && is_full(meeting, known->round))
        return known; /* it repeats its call */
    guest.data = mem_strdup(data);
    if (known && guest.data) {
        mem_free(known->data);
        known->data = guest.data;
        return known;
    }
    guest.name = mem_strdup(name);
    if (is_full(meeting, meeting->round))
        begin_round(meeting, seats);
    guest.round = meeting->round;
    if (guest.name && guest.data && vec_push(&meeting->guests, guest)) {
        meeting->taken++;
        return &meeting->guests.at[meeting->guests.count - 1];
    }
    guest_done(&guest);
    return NULL;
}

det_status rendezvous_join(struct rendezvous *rendezvous, const char *name,
                           uint32_t seats, const char *guest, const char *data,
                           bool *ret_full, struct err *err)
{
    struct meeting *meeting;
    const struct guest *seated = NULL;

    assert(seats > 0);
    lock_take(&rendezvous->lock);
    meeting = find_or_make_meeting(rendezvous, name, seats);
    if (meeting)
        seated = take_seat(meeting, seats, guest, data);
    if (seated)
        *ret_full = is_full(meeting, seated->round);
    lock_give(&rendezvous->lock);
    return seated ? DET_OK : err_default(err, DET_NOMEM);
}

static int by_name(const void *a, const void *b)
{
    const struct guest *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static det_status copy_data(const struct meeting *meeting, uint64_t round,
                            struct arena *mem, struct gathered *ret_gathered)
{
    size_t most = meeting->guests.count;
    const struct guest **of_round = arena_array(mem, const struct guest *, most);
    const char **data = arena_array(mem, const char *, most);
    uint32_t count = 0;

    if (!of_round || !data)
        return DET_NOMEM;
    for (size_t i = 0; i < most; i++)
        if (meeting->guests.at[i].round == round)
            of_round[count++] = &meeting->guests.at[i];
    qsort(of_round, count, sizeof(struct guest *), by_name);
    for (uint32_t i = 0; i < count; i++)
        data[i] = arena_strdup(mem, of_round[i]->data);
    *ret_gathered = (struct gathered){data, count};
    return mem->has_failed ? DET_NOMEM : DET_OK;
}

det_status rendezvous_read(struct rendezvous *rendezvous, const char *name,
                           const char *guest, struct arena *mem,
                           struct gathered *ret_gathered, struct err *err)
{
    struct meeting *meeting;
    const struct guest *seated;
    struct gathered gathered = {0};
    det_status st = DET_OK;

    lock_take(&rendezvous->lock);
    meeting = smap_get(&rendezvous->meetings, name);
    seated = meeting ? find_guest(meeting, guest) : NULL;
    if (seated && is_full(meeting, seated->round))
        st = copy_data(meeting, seated->round, mem, &gathered);
    lock_give(&rendezvous->lock);
    if (st)
        return err_default(err, st);
    *ret_gathered = gathered;
    return DET_OK;
}

void rendezvous_drop(struct rendezvous *rendezvous, const char *prefix)
{
    size_t len = strlen(prefix);
    struct meeting *meeting;

    lock_take(&rendezvous->lock);
    for (size_t i = 0; (meeting = map_next(&rendezvous->meetings, &i));)
        if (!strncmp(meeting->name, prefix, len)) {
            smap_remove(&rendezvous->meetings, meeting->name);
            meeting_free(meeting);
            i = 0; /* removing moves other entries */
        }
    lock_give(&rendezvous->lock);
}

det_status rendezvous_new(struct rendezvous **ret_rendezvous, struct err *err)
{
    struct rendezvous *rendezvous = mem_new(struct rendezvous);
    det_status st;

    if (!rendezvous)
        return err_default(err, DET_NOMEM);
    st = lock_init(&rendezvous->lock, err);
    if (st) {
        mem_free(rendezvous);
        return st;
    }
    *ret_rendezvous = rendezvous;
    return DET_OK;
}

void rendezvous_free(struct rendezvous *rendezvous)
{
    if (!rendezvous)
        return;
    rendezvous_drop(rendezvous, "");
    map_done(&rendezvous->meetings);
    lock_done(&rendezvous->lock);
    mem_free(rendezvous);
}
