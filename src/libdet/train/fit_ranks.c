/* SPDX-License-Identifier: Apache-2.0 */
/* fit_ranks.c - see fit_ranks.h. */
#include "libdet/train/fit_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "libdet/context.h"

enum { HEAD = 16 };

void fit_ranks_init(struct fit_ranks *ranks, det_context *context,
                    det_distributed *group)
{
    const det_ranks *all = det_distributed_ranks(group);

    *ranks = (struct fit_ranks){.context = context,
                                .group = all->size > 1 ? group : NULL,
                                .rank = all->rank,
                                .size = all->size};
}

/* ---- messages -------------------------------------------------------------------- */

struct message {
    uint32_t place;
    uint32_t flags;
    int64_t number;
    det_part bytes;
};

static void write_message(struct buf *out, const struct fit_word *word)
{
    buf_put_u32(out, (uint32_t)word->place);
    buf_put_u32(out, word->flags);
    buf_put_u64(out, (uint64_t)word->number);
    if (word->bytes.len)
        buf_add(out, word->bytes.data, word->bytes.len);
}

static bool read_message(const det_part *part, struct message *ret_message)
{
    const unsigned char *at = part->data;

    if (part->len < HEAD)
        return false;
    *ret_message = (struct message){
        .place = get_u32(at),
        .flags = get_u32(at + 4),
        .number = (int64_t)get_u64(at + 8),
        .bytes = {at + HEAD, part->len - HEAD},
    };
    return true;
}

static const char *place_name(uint32_t place)
{
    static const char *const names[] = {
        "the beginning", "the beginning", "the end of a batch",
        "a report",      "a validation",  "the end",
    };

    return place < ARRAY_LEN(names) ? names[place] : "an unknown place";
}

/* ---- an exchange ----------------------------------------------------------------- */

/* Checks that all ranks are at the same place.  Compares in the order of ranks, so all
 * ranks find the same error. */
static det_status compare_messages(const struct fit_ranks *ranks,
                                   const struct message *messages, struct err *err)
{
    const struct message *first = &messages[0];

    for (int i = 1; i < ranks->size; i++) {
        if (messages[i].place != first->place)
            return err_set(err, DET_STATE,
                           "rank %d is at %s where rank 0 is at %s: all ranks must "
                           "train in the same way",
                           i, place_name(messages[i].place), place_name(first->place));
        if (messages[i].number != first->number)
            return err_set(err, DET_STATE,
                           "rank %d has trained %" PRId64 " batches where rank 0 has "
                           "trained %" PRId64
                           ": all must begin from the same checkpoint",
                           i, messages[i].number, first->number);
    }
    return DET_OK;
}

static det_status understand(const struct fit_ranks *ranks, const det_part *parts,
                             struct message *messages, unsigned *ret_flags,
                             struct err *err)
{
    unsigned flags = 0;
    det_status st;

    for (int i = 0; i < ranks->size; i++) {
        if (!read_message(&parts[i], &messages[i]))
            return err_set(err, DET_STATE,
                           "rank %d sent a message that is not from this loop: is the "
                           "group used elsewhere at the same time?",
                           i);
        flags |= i ? messages[i].flags & FIT_ENOUGH : messages[i].flags;
    }
    st = compare_messages(ranks, messages, err);
    if (!st)
        *ret_flags = flags;
    return st;
}

static det_status exchange(struct fit_ranks *ranks, const struct fit_word *word,
                           unsigned *ret_flags, det_part *ret_parts, struct err *err)
{
    CLEANUP(buf_done) struct buf own = BUF_INIT;
    struct message *messages = mem_array((size_t)ranks->size, sizeof(*messages));
    const det_part *parts = NULL;
    det_status st;

    write_message(&own, word);
    if (!messages || own.status) {
        mem_free(messages);
        return err_default(err, DET_NOMEM);
    }
    st = det_distributed_allgather(ranks->group, own.data, own.len, &parts);
    if (st)
        (void)err_set(err, st, "%s", det_distributed_error(ranks->group));
    else
        st = understand(ranks, parts, messages, ret_flags, err);
    for (int i = 0; !st && ret_parts && i < ranks->size; i++)
        ret_parts[i] = messages[i].bytes;
    mem_free(messages);
    return st;
}

det_status fit_ranks_exchange(struct fit_ranks *ranks, const struct fit_word *word,
                              unsigned *ret_flags, det_part *ret_parts)
{
    unsigned flags = word->flags;
    CONTEXT_ERR(err);
    det_status st = DET_OK;

    if (ranks->group)
        st = exchange(ranks, word, &flags, ret_parts, &err);
    else if (ret_parts)
        ret_parts[0] = word->bytes;
    if (!st && ret_flags)
        *ret_flags = flags;
    return context_end(ranks->context, st, &err);
}

/* If all ranks know the failure already, the group has ended and telling it does
 * nothing. */
det_status fit_ranks_end(struct fit_ranks *ranks, int64_t number, det_status status)
{
    struct fit_word word = {.place = FIT_END, .number = number};

    if (!status)
        return fit_ranks_exchange(ranks, &word, NULL, NULL);
    if (ranks->group)
        det_distributed_fail(ranks->group, status,
                             context_failure_text(ranks->context, status));
    return status;
}

/* ---- averages -------------------------------------------------------------------- */

void fit_averages_clear(struct fit_averages *averages)
{
    vec_clear(&averages->list);
    arena_clear(&averages->mem);
}

void fit_averages_done(struct fit_averages *averages)
{
    vec_done(&averages->list);
    arena_done(&averages->mem);
}

det_status fit_averages_add(struct fit_averages *averages, const char *name, double sum,
                            int64_t count)
{
    struct fit_average added = {.sum = sum, .count = count};

    for (size_t i = 0; i < averages->list.count; i++) {
        struct fit_average *average = &averages->list.at[i];

        if (!strcmp(average->name, name)) {
            average->sum += sum;
            average->count += count;
            return DET_OK;
        }
    }
    added.name = arena_strdup(&averages->mem, name);
    return added.name && vec_push(&averages->list, added) ? DET_OK : DET_NOMEM;
}

/* count, then (sum, count, name with its NUL) of each */
static void write_averages(struct buf *out, const struct fit_averages *averages)
{
    for (size_t i = 0; i < averages->list.count; i++) {
        const struct fit_average *average = &averages->list.at[i];
        uint64_t bits;

        memcpy(&bits, &average->sum, sizeof(bits));
        buf_put_u64(out, bits);
        buf_put_u64(out, (uint64_t)average->count);
        buf_add(out, average->name, strlen(average->name) + 1);
    }
}

static det_status add_part(struct fit_averages *averages, const det_part *part)
{
    const unsigned char *at = part->data;
    const unsigned char *end = at + part->len;
    det_status st = DET_OK;

    while (!st && end - at > 16) {
        const unsigned char *name = at + 16;
        const unsigned char *nul = memchr(name, '\0', (size_t)(end - name));
        uint64_t bits = get_u64(at);
        double sum;

        if (!nul)
            return DET_CORRUPT;
        memcpy(&sum, &bits, sizeof(sum));
        st = fit_averages_add(averages, (const char *)name, sum,
                              (int64_t)get_u64(at + 8));
        at = nul + 1;
    }
    return st;
}

det_status fit_ranks_reduce(struct fit_ranks *ranks, int place, int64_t number,
                            struct fit_averages *averages)
{
    CLEANUP(buf_done) struct buf own = BUF_INIT;
    struct fit_word word = {.place = place, .number = number};
    det_part *parts;
    det_status st;

    if (!ranks->group)
        return DET_OK;
    parts = mem_array((size_t)ranks->size, sizeof(*parts));
    write_averages(&own, averages);
    if (!parts || own.status) {
        mem_free(parts);
        return DET_NOMEM;
    }
    word.bytes = (det_part){own.data, own.len};
    st = fit_ranks_exchange(ranks, &word, NULL, parts);
    fit_averages_clear(averages);
    for (int i = 0; !st && i < ranks->size; i++)
        st = add_part(averages, &parts[i]);
    mem_free(parts);
    return st;
}
