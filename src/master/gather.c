/* SPDX-License-Identifier: Apache-2.0 */
#include "master/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/task.h"
#include "base/vec.h"

struct guest {
    char *name;
    char *data;
    uint64_t round;
};

struct meeting {
    char *name;
    uint32_t seats; /* of the current round; the one before it was full */
    uint32_t taken; /* of them */
    uint64_t round;
    VEC(struct guest) guests; /* of both */
};

struct gathers {
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

static struct meeting *meeting_of(struct gathers *gathers, const char *name,
                                  uint32_t seats)
{
    struct meeting *meeting = smap_get(&gathers->meetings, name);

    if (meeting)
        return meeting;
    meeting = mem_new(struct meeting);
    if (!meeting)
        return NULL;
    meeting->name = mem_strdup(name);
    meeting->seats = seats;
    if (!meeting->name || !smap_put(&gathers->meetings, meeting->name, meeting)) {
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

/* Who comes to it has what the round before gave, so the one before that can go. */
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
        return known; /* it asks again for what it was given */
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

det_status gathers_join(struct gathers *gathers, const char *name, uint32_t seats,
                        const char *guest, const char *data, bool *ret_full,
                        struct err *err)
{
    struct meeting *meeting;
    const struct guest *seated = NULL;

    lock_take(&gathers->lock);
    meeting = meeting_of(gathers, name, seats);
    if (meeting)
        seated = take_seat(meeting, seats, guest, data);
    if (seated)
        *ret_full = is_full(meeting, seated->round);
    lock_give(&gathers->lock);
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

det_status gathers_read(struct gathers *gathers, const char *name, const char *guest,
                        struct arena *mem, struct gathered *ret_gathered,
                        struct err *err)
{
    struct meeting *meeting;
    const struct guest *seated;
    struct gathered gathered = {0};
    det_status st = DET_OK;

    lock_take(&gathers->lock);
    meeting = smap_get(&gathers->meetings, name);
    seated = meeting ? find_guest(meeting, guest) : NULL;
    if (seated && is_full(meeting, seated->round))
        st = copy_data(meeting, seated->round, mem, &gathered);
    lock_give(&gathers->lock);
    if (st)
        return err_default(err, st);
    *ret_gathered = gathered;
    return DET_OK;
}

void gathers_drop(struct gathers *gathers, const char *prefix)
{
    size_t len = strlen(prefix);
    struct meeting *meeting;

    lock_take(&gathers->lock);
    for (size_t i = 0; (meeting = map_next(&gathers->meetings, &i));)
        if (!strncmp(meeting->name, prefix, len)) {
            smap_remove(&gathers->meetings, meeting->name);
            meeting_free(meeting);
            i = 0; /* removing moves others */
        }
    lock_give(&gathers->lock);
}

det_status gathers_new(struct gathers **ret_gathers, struct err *err)
{
    struct gathers *gathers = mem_new(struct gathers);
    det_status st;

    if (!gathers)
        return err_default(err, DET_NOMEM);
    st = lock_init(&gathers->lock, err);
    if (st) {
        mem_free(gathers);
        return st;
    }
    *ret_gathers = gathers;
    return DET_OK;
}

void gathers_free(struct gathers *gathers)
{
    if (!gathers)
        return;
    gathers_drop(gathers, "");
    map_done(&gathers->meetings);
    lock_done(&gathers->lock);
    mem_free(gathers);
}
