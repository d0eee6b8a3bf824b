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
};

struct meeting {
    char *name;
    uint32_t seats;
    VEC(struct guest) guests;
};

struct gathers {
    struct lock lock;    /* guards everything below */
    struct map meetings; /* name -> struct meeting, owned */
};

static void meeting_free(struct meeting *meeting)
{
    for (size_t i = 0; i < meeting->guests.count; i++) {
        mem_free(meeting->guests.at[i].name);
        mem_free(meeting->guests.at[i].data);
    }
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

static bool take_seat(struct meeting *meeting, const char *name, const char *data)
{
    struct guest guest = {mem_strdup(name), mem_strdup(data)};

    for (size_t i = 0; i < meeting->guests.count && guest.data; i++)
        if (!strcmp(meeting->guests.at[i].name, name)) { /* it came before */
            mem_free(meeting->guests.at[i].data);
            meeting->guests.at[i].data = guest.data;
            mem_free(guest.name);
            return true;
        }
    if (guest.name && guest.data && vec_push(&meeting->guests, guest))
        return true;
    mem_free(guest.name);
    mem_free(guest.data);
    return false;
}

det_status gathers_join(struct gathers *gathers, const char *name, uint32_t seats,
                        const char *guest, const char *data, bool *ret_full,
                        struct err *err)
{
    struct meeting *meeting;
    bool has_seat;

    lock_take(&gathers->lock);
    meeting = meeting_of(gathers, name, seats);
    has_seat = meeting && take_seat(meeting, guest, data);
    if (has_seat)
        *ret_full = meeting->guests.count >= meeting->seats;
    lock_give(&gathers->lock);
    return has_seat ? DET_OK : err_default(err, DET_NOMEM);
}

static int by_name(const void *a, const void *b)
{
    const struct guest *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static det_status copy_data(struct meeting *meeting, struct arena *mem,
                            const char ***ret_data)
{
    size_t count = meeting->guests.count;

    qsort(meeting->guests.at, count, sizeof(*meeting->guests.at), by_name);
    *ret_data = arena_array(mem, const char *, count);
    for (size_t i = 0; i < count && *ret_data; i++)
        (*ret_data)[i] = arena_strdup(mem, meeting->guests.at[i].data);
    return mem->has_failed ? DET_NOMEM : DET_OK;
}

det_status gathers_read(struct gathers *gathers, const char *name, struct arena *mem,
                        const char ***ret_data, uint32_t *ret_count, struct err *err)
{
    struct meeting *meeting;
    det_status st = DET_OK;

    *ret_count = 0;
    lock_take(&gathers->lock);
    meeting = smap_get(&gathers->meetings, name);
    if (meeting && meeting->guests.count >= meeting->seats) {
        *ret_count = (uint32_t)meeting->guests.count;
        st = copy_data(meeting, mem, ret_data);
    }
    lock_give(&gathers->lock);
    return st ? err_default(err, st) : DET_OK;
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
