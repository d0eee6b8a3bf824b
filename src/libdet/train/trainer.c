/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - the public functions over the policy, the averaging windows, and their
 * state as text.
 *
 *   det-trainer 1
 *   batches 1200
 *   ...
 *   best 0x1.9p-2          or: best none
 *   window 17 0x1.1p+3 loss   values, their sum, the name to the end of the line
 *
 * Hexadecimal numbers keep every bit.  The text contains no times and no ids, so equal
 * states give equal bytes. */
#include "det/trainer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "libdet/train/policy.h"

#define TRAINER_MAGIC "det-trainer 1\n"

struct window {
    char *name;
    double sum;
    int64_t count; /* of values since it was opened; 0: not returned */
};

struct windows {
    struct window *at; /* a VEC() that remembers where to start searching */
    size_t count;
    size_t cap;
    size_t next;
};

struct det_trainer {
    struct policy policy;
    struct windows windows;
    VEC(const char *) names; /* returned by det_trainer_window() */
    VEC(double) means;
    struct buf text; /* returned by det_trainer_save() */
};

det_status det_trainer_new(const det_trainer_options *options,
                           det_trainer **ret_trainer, char *error, size_t error_size)
{
    det_trainer_options copy = {0};
    struct err err = {0};
    det_trainer *trainer;
    det_status st;

    memcpy(&copy, options, MIN(options->size, sizeof(copy)));
    trainer = mem_new(det_trainer);
    st = trainer ? policy_init(&trainer->policy, &copy, &err)
                 : err_default(&err, DET_NOMEM);
    if (st) {
        if (error && error_size)
            (void)snprintf(error, error_size, "%s", err.text);
        mem_free(trainer);
        return st;
    }
    trainer->text = (struct buf)BUF_INIT;
    *ret_trainer = trainer;
    return DET_OK;
}

static void windows_done(struct windows *windows)
{
    for (size_t i = 0; i < windows->count; i++)
        mem_free(windows->at[i].name);
    vec_done(windows);
}

void det_trainer_free(det_trainer *trainer)
{
    if (!trainer)
        return;
    windows_done(&trainer->windows);
    vec_done(&trainer->names);
    vec_done(&trainer->means);
    buf_done(&trainer->text);
    mem_free(trainer);
}

/* ---- asking ---------------------------------------------------------------------- */

unsigned det_trainer_begin(det_trainer *trainer)
{
    return policy_begin(&trainer->policy);
}

unsigned det_trainer_batch_end(det_trainer *trainer)
{
    return policy_batch_end(&trainer->policy);
}

unsigned det_trainer_epoch_end(det_trainer *trainer)
{
    return policy_epoch_end(&trainer->policy);
}

unsigned det_trainer_validated(det_trainer *trainer, double metric)
{
    return policy_validated(&trainer->policy, metric);
}

void det_trainer_saved(det_trainer *trainer)
{
    policy_saved(&trainer->policy);
}

void det_trainer_stop(det_trainer *trainer)
{
    trainer->policy.is_asked_to_stop = true;
}

int64_t det_trainer_batches(const det_trainer *trainer)
{
    return trainer->policy.state.batches;
}

int64_t det_trainer_epochs(const det_trainer *trainer)
{
    return trainer->policy.state.epochs;
}

int64_t det_trainer_epoch_position(const det_trainer *trainer)
{
    return trainer->policy.state.epoch_batches;
}

double det_trainer_progress(const det_trainer *trainer)
{
    return policy_progress(&trainer->policy);
}

/* ---- averaging windows ----------------------------------------------------------- */

/* There are few names, in the same order every time: starts after the last one found.
 */
static struct window *find_window(struct windows *windows, const char *name)
{
    for (size_t i = 0; i < windows->count; i++) {
        size_t at = (windows->next + i) % windows->count;

        if (!strcmp(windows->at[at].name, name)) {
            windows->next = at + 1;
            return &windows->at[at];
        }
    }
    return NULL;
}

static det_status add_window(struct windows *windows, const char *name, size_t len,
                             double sum, int64_t count)
{
    struct window window = {mem_strndup(name, len), sum, count};

    if (window.name && vec_push(windows, window))
        return DET_OK;
    mem_free(window.name);
    return DET_NOMEM;
}

det_status det_trainer_metric(det_trainer *trainer, const char *name, double value)
{
    struct window *window = find_window(&trainer->windows, name);

    if (window) {
        window->sum += value;
        window->count++;
        return DET_OK;
    }
    if (!*name || strchr(name, '\n'))
        return DET_INVALID;
    return add_window(&trainer->windows, name, strlen(name), value, 1);
}

size_t det_trainer_window(det_trainer *trainer, const char *const **ret_names,
                          const double **ret_means)
{
    vec_clear(&trainer->names);
    vec_clear(&trainer->means);
    for (size_t i = 0; i < trainer->windows.count; i++) {
        struct window *window = &trainer->windows.at[i];

        if (!window->count)
            continue;
        if (!vec_push(&trainer->names, window->name) ||
            !vec_push(&trainer->means, window->sum / (double)window->count))
            break; /* without memory: returns what there is room for */
        window->sum = 0;
        window->count = 0;
    }
    policy_reported(&trainer->policy);
    *ret_names = trainer->names.at;
    *ret_means = trainer->means.at;
    return trainer->means.count;
}

/* ---- state ----------------------------------------------------------------------- */

/* The numbers of the state, by their names in the text. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"batches", offsetof(struct policy_state, batches)},
    {"epochs", offsetof(struct policy_state, epochs)},
    {"epoch_batches", offsetof(struct policy_state, epoch_batches)},
    {"reported_at", offsetof(struct policy_state, reported_at)},
    {"validated_at", offsetof(struct policy_state, validated_at)},
    {"saved_at", offsetof(struct policy_state, saved_at)},
};

static int64_t *number_of(struct policy_state *state, size_t i)
{
    return (int64_t *)((char *)state + numbers[i].offset);
}

det_status det_trainer_save(det_trainer *trainer, const char **ret_text)
{
    struct policy_state state = trainer->policy.state;
    struct buf *out = &trainer->text;

    state.saved_at = state.batches; /* this call saves it */
    buf_clear(out);
    buf_puts(out, TRAINER_MAGIC);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        buf_printf(out, "%s %" PRId64 "\n", numbers[i].name, *number_of(&state, i));
    if (state.has_best)
        buf_printf(out, "best %a\n", state.best);
    else
        buf_puts(out, "best none\n");
    for (size_t i = 0; i < trainer->windows.count; i++) {
        const struct window *window = &trainer->windows.at[i];

        buf_printf(out, "window %" PRId64 " %a %s\n", window->count, window->sum,
                   window->name);
    }
    if (!out->status)
        *ret_text = out->data;
    return out->status;
}

/* Returns the text after `word` and a blank; NULL: there is another word. */
static const char *text_behind(const char *at, const char *word)
{
    size_t len = strlen(word);

    return !strncmp(at, word, len) && at[len] == ' ' ? at + len + 1 : NULL;
}

/* Reads a number that is followed by `end`. */
static bool read_i64(const char **at, char end, int64_t *ret_value)
{
    char *stop;

    errno = 0;
    *ret_value = strtoll(*at, &stop, 10);
    if (stop == *at || *stop != end || errno)
        return false;
    *at = stop + 1;
    return true;
}

static bool read_real(const char **at, char end, double *ret_value)
{
    char *stop;

    *ret_value = strtod(*at, &stop);
    if (stop == *at || *stop != end)
        return false;
    *at = stop + 1;
    return true;
}

static bool read_state(const char **at, struct policy_state *state)
{
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        *at = text_behind(*at, numbers[i].name);
        if (!*at || !read_i64(at, '\n', number_of(state, i)) ||
            *number_of(state, i) < -1)
            return false;
    }
    *at = text_behind(*at, "best");
    if (!*at)
        return false;
    state->has_best = strncmp(*at, "none\n", 5) != 0;
    if (state->has_best)
        return read_real(at, '\n', &state->best);
    *at += 5;
    return state->batches >= 0 && state->epochs >= 0 && state->epoch_batches >= 0;
}

static det_status read_windows(const char *at, struct windows *windows)
{
    while (*at) {
        const char *end = strchr(at, '\n');
        int64_t count;
        double sum;
        det_status st;

        at = text_behind(at, "window");
        if (!end || !at || !read_i64(&at, ' ', &count) || count < 0 ||
            !read_real(&at, ' ', &sum) || at >= end)
            return DET_CORRUPT;
        st = add_window(windows, at, (size_t)(end - at), sum, count);
        if (st)
            return st;
        at = end + 1;
    }
    return DET_OK;
}

det_status det_trainer_load(det_trainer *trainer, const char *text)
{
    struct windows windows = {0};
    struct policy_state state = {0};
    const char *at = text + strlen(TRAINER_MAGIC);
    det_status st;

    if (strncmp(text, TRAINER_MAGIC, strlen(TRAINER_MAGIC)) || !read_state(&at, &state))
        return DET_CORRUPT;
    st = read_windows(at, &windows);
    if (st) {
        windows_done(&windows);
        return st;
    }
    windows_done(&trainer->windows);
    trainer->windows = windows;
    trainer->policy.state = state;
    return DET_OK;
}
