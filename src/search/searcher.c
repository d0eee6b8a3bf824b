/* SPDX-License-Identifier: Apache-2.0 */
/* searcher.c - the bookkeeping that every search method needs.
 *
 * The life of a trial, as the search sees it:
 *
 *   REQUESTED --created--> RUNNING --exited--> EXITED + reason
 *                             \--search_stop--> STOPPED --exited--/
 *
 * When an experiment is continued, a trial that errored or was cancelled goes back to
 * RUNNING.
 *
 * Counters, so that no input has to visit all trials:
 *   1. closed   = trials in EXITED + any reason;
 *   2. failures = those in EXITED + ERRORED, cancels = those in EXITED + CANCELED;
 *   3. counted  = trials beyond REQUESTED, without those of invalid hyperparameters;
 *   4. progress = sum over the counted: 1 for an exited one, else what it reported.
 * The search is over when all requested trials are closed. */
#include "search/searcher.h"

#include <assert.h>
#include <math.h>

#include "base/bytes.h"
#include "base/memory/mem.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "search/hparam.h"
#include "search/method.h"
#include "search/methods.h"

enum trial_phase {
    PHASE_REQUESTED,
    PHASE_RUNNING,
    PHASE_STOPPED,
    PHASE_EXITED, /* + enum search_exit */
};

/* One letter per phase, in snapshots: requested, running, stopped, then the exits done,
 * errored, canceled, invalid. */
static const char phase_letters[] = "rusdeci";

enum { STATE_VERSION = 2, RNG_BYTES = 4 * RNG_WORDS };

#define PROGRESS_ONE ((uint64_t)1 << PROGRESS_BITS)

/* The size of the configuration is limited elsewhere; this limit is only a safeguard. */
#define SPACE_LIMIT_BYTES ((size_t)256 << 20)

/* ---- making and ending ----------------------------------------------------------- */

static det_status set_up(struct searcher *s, const struct json *hyperparameters,
                         struct err *err)
{
    det_status status = hparam_space_new(hyperparameters, s->method->needs_grid,
                                         &s->mem, &s->space, err);

    if (status)
        return status;
    s->state = mem_alloc(MAX(s->method->state_size, 1u));
    if (!s->state)
        return err_default(err, DET_NOMEM);
    return s->method->init(s, err);
}

det_status searcher_new(const struct json *searcher_config,
                        const struct json *hyperparameters, uint32_t seed,
                        struct searcher **ret_searcher, struct err *err)
{
    const char *name = json_str(json_get(searcher_config, "name"), "");
    const struct search_method *method = search_method_find(name);
    struct searcher *s;
    det_status status;

    if (!method)
        return err_set(err, DET_UNSUPPORTED, "the searcher '%s' is not built", name);
    s = mem_new(struct searcher);
    if (!s)
        return err_default(err, DET_NOMEM);

    *s = (struct searcher){
        .method = method,
        .config = searcher_config,
        .text = BUF_INIT,
        .mem = ARENA_INIT(SPACE_LIMIT_BYTES),
    };
    rng_seed(&s->rng, seed);
    status = set_up(s, hyperparameters, err);
    if (status) {
        searcher_free(s);
        return status;
    }
    *ret_searcher = s;
    return DET_OK;
}

void searcher_free(struct searcher *s)
{
    if (!s)
        return;
    if (s->method->done && s->state)
        s->method->done(s);
    mem_free(s->state);
    vec_done(&s->trials);
    buf_done(&s->text);
    arena_done(&s->mem);
    mem_free(s);
}

/* ---- sizes ----------------------------------------------------------------------- */

uint32_t searcher_first(const struct searcher *s)
{
    return s->method->first(s);
}

size_t searcher_bytes(const struct searcher *s)
{
    return s->mem.used + s->trials.cap * sizeof(*s->trials.at);
}

det_status searcher_hparams_bytes(const struct searcher *s, size_t *ret_bytes)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    struct rng rng = s->rng;

    hparam_sample(s->space, &rng, &w);
    *ret_bytes = text.len;
    return text.status;
}

/* ---- operations ------------------------------------------------------------------ */

void search_fail(struct search_out *out, det_status status, const char *fmt, ...)
{
    va_list args;

    if (out->status)
        return;
    va_start(args, fmt);
    out->status = err_setv(&out->err, status, fmt, args);
    va_end(args);
}

static void fail_memory(struct search_out *out)
{
    search_fail(out, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
}

/* Appends an operation; NULL if `out` has failed. */
static struct search_op *add_op(struct search_out *out, enum search_op_kind kind)
{
    if (out->status)
        return NULL;
    if (out->count == out->cap) {
        uint32_t cap = out->cap ? out->cap * 2 : 4;
        struct search_op *op = arena_array(out->mem, struct search_op, cap);

        if (!op) {
            fail_memory(out);
            return NULL;
        }
        if (out->count)
            memcpy(op, out->op, out->count * sizeof(*op));
        out->op = op;
        out->cap = cap;
    }
    out->op[out->count] = (struct search_op){.kind = kind};
    return &out->op[out->count++];
}

/* Gives the trial whose hyperparameters are in s->text its number, id and seed. */
static uint32_t request_trial(struct searcher *s, struct search_out *out)
{
    unsigned char random[16];
    const char *hparams;
    struct search_op *op;

    if (s->trials.count >= SEARCH_NONE) {
        search_fail(out, DET_INVALID, "the search has run out of trial numbers");
        return SEARCH_NONE;
    }
    hparams =
        s->text.status ? NULL : arena_strndup(out->mem, s->text.data, s->text.len);
    if (!hparams || !vec_push(&s->trials, (struct search_trial){0})) {
        fail_memory(out);
        return SEARCH_NONE;
    }
    op = add_op(out, SEARCH_CREATE);
    if (!op)
        return SEARCH_NONE;

    op->trial = (uint32_t)s->trials.count - 1;
    op->hparams = hparams;
    rng_bytes(&s->rng, random, sizeof(random));
    uuid_format(random, op->request_id);
    op->trial_seed = (uint32_t)rng_upto(&s->rng, INT32_MAX);
    return op->trial;
}

uint32_t search_create(struct searcher *s, struct search_out *out)
{
    struct json_writer w = JSON_WRITER(&s->text);

    if (out->status || s->has_given_up)
        return SEARCH_NONE;
    buf_clear(&s->text);
    hparam_sample(s->space, &s->rng, &w);
    return request_trial(s, out);
}

uint32_t search_create_at(struct searcher *s, uint64_t point, struct search_out *out)
{
    struct json_writer w = JSON_WRITER(&s->text);

    if (out->status || s->has_given_up)
        return SEARCH_NONE;
    buf_clear(&s->text);
    hparam_point(s->space, point, &w);
    return request_trial(s, out);
}

void search_stop(struct searcher *s, uint32_t trial, struct search_out *out)
{
    struct search_op *op;

    if (trial >= s->trials.count || s->trials.at[trial].phase != PHASE_RUNNING)
        return;
    op = add_op(out, SEARCH_STOP);
    if (!op)
        return;
    op->trial = trial;
    s->trials.at[trial].phase = PHASE_STOPPED;
}

det_status search_config_u32(const struct searcher *s, const char *key, uint32_t least,
                             int64_t fallback, uint32_t *ret_value, struct err *err)
{
    int64_t value = json_i64(json_get(s->config, key), fallback);

    if (value < least || value > UINT32_MAX - 1)
        return err_set(err, DET_INVALID,
                       "searcher.%s must be a whole number from %u to %u", key, least,
                       UINT32_MAX - 1);
    *ret_value = (uint32_t)value;
    return DET_OK;
}

/* ---- the inputs ------------------------------------------------------------------ */

void searcher_start(struct searcher *s, struct search_out *out)
{
    s->method->start(s, out);
}

/* Constant-time checks of the counters (see the top). */
static void assert_counters(const struct searcher *s)
{
    (void)s;
    assert(s->closed <= s->trials.count);
    assert(s->failures + s->cancels <= s->closed);
    assert(s->counted <= s->trials.count);
    assert(s->progress <= (progress_sum)s->counted * PROGRESS_ONE);
}

/* Adds the contribution of `t` to the counters (see the top). */
static void count_trial(struct searcher *s, const struct search_trial *t)
{
    bool has_exited = t->phase >= PHASE_EXITED;

    if (t->phase == PHASE_REQUESTED)
        return;
    s->closed += has_exited;
    s->failures += t->phase == PHASE_EXITED + SEARCH_EXIT_ERRORED;
    s->cancels += t->phase == PHASE_EXITED + SEARCH_EXIT_CANCELED;
    if (t->phase == PHASE_EXITED + SEARCH_EXIT_INVALID_HPARAMS)
        return;
    s->counted++;
    s->progress += has_exited ? PROGRESS_ONE : t->progress;
}

/* The trial if it exists and has not exited, else NULL. */
static struct search_trial *open_trial(const struct searcher *s, uint32_t trial)
{
    if (trial >= s->trials.count || s->trials.at[trial].phase >= PHASE_EXITED)
        return NULL;
    return &s->trials.at[trial];
}

void searcher_trial_created(struct searcher *s, uint32_t trial, struct search_out *out)
{
    struct search_trial *t = open_trial(s, trial);

    if (!t || t->phase != PHASE_REQUESTED)
        return;
    t->phase = PHASE_RUNNING;
    count_trial(s, t);
    if (s->method->trial_created)
        s->method->trial_created(s, trial, out);
}

void searcher_validated(struct searcher *s, uint32_t trial, const struct json *metrics,
                        struct search_out *out)
{
    struct search_trial *t = open_trial(s, trial);

    if (!t || t->phase != PHASE_RUNNING)
        return;
    s->invalid_in_a_row = 0;
    if (s->method->validated)
        s->method->validated(s, trial, metrics, out);
}

void searcher_set_progress(struct searcher *s, uint32_t trial, double progress)
{
    struct search_trial *t = open_trial(s, trial);
    /* The comparison is false for NaN, which becomes 0. */
    double sane = progress > 0 ? fmin(progress, 1) : 0;

    if (!t || t->phase == PHASE_REQUESTED)
        return;
    s->progress -= t->progress;
    t->progress = (uint64_t)rint(ldexp(sane, PROGRESS_BITS));
    s->progress += t->progress;
    assert_counters(s);
}

/* Each open trial may be the replacement of many invalid ones, so the limit grows with
 * their number, up to SEARCH_INVALID_LANES. */
static bool search_gives_up(const struct searcher *s)
{
    uint64_t open = s->trials.count - s->closed;

    return s->invalid_in_a_row >=
           SEARCH_INVALID_LIMIT * MIN(open, (uint64_t)SEARCH_INVALID_LANES);
}

static void count_invalid(struct searcher *s)
{
    if (!s->method->replaces_invalid)
        return;
    s->invalid_in_a_row++;
    if (search_gives_up(s))
        s->has_given_up = true;
}

/* From RUNNING or STOPPED to EXITED + why. */
static void close_trial(struct searcher *s, struct search_trial *t,
                        enum search_exit why)
{
    assert(t->phase == PHASE_RUNNING || t->phase == PHASE_STOPPED);
    if (why == SEARCH_EXIT_INVALID_HPARAMS)
        count_invalid(s);
    else
        s->invalid_in_a_row = 0;

    s->counted--;
    s->progress -= t->progress;
    t->phase = (uint8_t)(PHASE_EXITED + why);
    t->progress = 0;
    count_trial(s, t);
}

static void shut_down_search(const struct searcher *s, struct search_out *out)
{
    struct search_op *op = add_op(out, SEARCH_SHUTDOWN);

    if (!op)
        return;
    op->is_failure = s->has_given_up || s->failures >= s->trials.count;
    op->is_cancel = s->cancels >= s->trials.count;
}

void searcher_trial_exited(struct searcher *s, uint32_t trial, enum search_exit why,
                           struct search_out *out)
{
    if (!open_trial(s, trial))
        return;
    searcher_trial_created(s, trial, out); /* does nothing if it is created already */
    close_trial(s, &s->trials.at[trial], why);
    s->method->trial_exited(s, trial, why, out);
    assert_counters(s);
    if (s->closed == s->trials.count)
        shut_down_search(s, out);
}

void searcher_trial_reopened(struct searcher *s, uint32_t trial)
{
    struct search_trial *t = trial < s->trials.count ? &s->trials.at[trial] : NULL;
    bool is_errored = t && t->phase == PHASE_EXITED + SEARCH_EXIT_ERRORED;
    bool is_canceled = t && t->phase == PHASE_EXITED + SEARCH_EXIT_CANCELED;

    if (!is_errored && !is_canceled)
        return;
    s->closed--;
    s->failures -= is_errored;
    s->cancels -= is_canceled;
    s->counted--;
    s->progress -= PROGRESS_ONE;
    t->phase = PHASE_RUNNING;
    count_trial(s, t);
    assert_counters(s);
}

double searcher_progress(const struct searcher *s)
{
    double progress = 0;

    if (s->method->progress)
        progress = s->method->progress(s);
    else if (s->counted)
        progress = ldexp((double)s->progress, -PROGRESS_BITS) /
                   ((double)s->counted + (s->method->left ? s->method->left(s) : 0));
    return progress > 0 ? fmin(progress, 1) : 0;
}

/* ---- snapshots -------------------------------------------------------------------
 *
 *   {"version": 2, "method": "random",
 *    "rng": {"key": "624 words of 8 hexadecimal digits", "pos": n},
 *    "trials": "ddeu",              one letter per trial
 *    "progress": [[3, 0.25]],       of the running ones that reported any
 *    "invalid_in_a_row": 0, "has_given_up": false,
 *    "state": {...}}                of the method
 *
 * In version 1 the key is a list of numbers.  The counters are not stored: they follow
 * from the trials. */

static void save_rng(const struct rng *rng, struct json_writer *w)
{
    unsigned char bytes[RNG_BYTES];
    char text[2 * RNG_BYTES + 1];

    for (size_t i = 0; i < RNG_WORDS; i++)
        put_u32(bytes + 4 * i, rng->key[i]);
    hex_encode(text, bytes, sizeof(bytes));
    jw_object(w, "rng");
    jw_strn(w, "key", text, sizeof(text) - 1);
    jw_i64(w, "pos", rng->pos);
    jw_end_object(w);
}

static void save_trials(const struct searcher *s, struct json_writer *w)
{
    CLEANUP(buf_done) struct buf phases = BUF_INIT;

    for (size_t i = 0; i < s->trials.count; i++)
        buf_putc(&phases, phase_letters[s->trials.at[i].phase]);
    if (phases.status && !w->out->status)
        w->out->status = phases.status;
    jw_strn(w, "trials", phases.data, phases.len);

    jw_array(w, "progress");
    for (size_t i = 0; i < s->trials.count; i++) {
        uint64_t progress = s->trials.at[i].progress;

        if (!progress)
            continue;
        jw_array(w, NULL);
        jw_i64(w, NULL, (int64_t)i);
        jw_real(w, NULL, ldexp((double)progress, -PROGRESS_BITS));
        jw_end_array(w);
    }
    jw_end_array(w);
}

void searcher_save(const struct searcher *s, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    jw_object(&w, NULL);
    jw_i64(&w, "version", STATE_VERSION);
    jw_str(&w, "method", s->method->name);
    save_rng(&s->rng, &w);
    save_trials(s, &w);
    jw_i64(&w, "invalid_in_a_row", s->invalid_in_a_row);
    jw_bool(&w, "has_given_up", s->has_given_up);
    jw_object(&w, "state");
    s->method->save(s, &w);
    jw_end_object(&w);
    jw_end_object(&w);
}

static det_status damaged(struct err *err, const char *what)
{
    return err_set(err, DET_CORRUPT, "the saved search has no usable '%s'", what);
}

static bool is_u32(const struct json *value, uint32_t most)
{
    return value && value->kind == JSON_INT && value->integer >= 0 &&
           value->integer <= most;
}

det_status search_saved_u32(const struct json *state, const char *key, uint32_t most,
                            uint32_t *ret_value, struct err *err)
{
    const struct json *value = json_get(state, key);

    if (!is_u32(value, most))
        return damaged(err, key);
    *ret_value = (uint32_t)value->integer;
    return DET_OK;
}

static bool load_key(struct rng *rng, const struct json *key)
{
    unsigned char bytes[RNG_BYTES];

    if (!key || key->kind != JSON_STRING || key->string.len != 2 * RNG_BYTES ||
        !hex_decode(bytes, sizeof(bytes), key->string.text))
        return false;
    for (size_t i = 0; i < RNG_WORDS; i++)
        rng->key[i] = get_u32(bytes + 4 * i);
    return true;
}

static bool load_key_of_version_1(struct rng *rng, const struct json *key)
{
    size_t count = 0;

    if (!key || key->kind != JSON_ARRAY || key->list.count != RNG_WORDS)
        return false;
    json_each(word, key) {
        if (!is_u32(word, UINT32_MAX))
            return false;
        rng->key[count++] = (uint32_t)word->integer;
    }
    return true;
}

static det_status load_rng(struct searcher *s, const struct json *saved,
                           int64_t version, struct err *err)
{
    const struct json *key = json_get(saved, "key");

    if (!(version == 1 ? load_key_of_version_1 : load_key)(&s->rng, key))
        return damaged(err, "rng");
    return search_saved_u32(saved, "pos", RNG_WORDS, &s->rng.pos, err);
}

static det_status load_phases(struct searcher *s, const struct json *saved,
                              struct err *err)
{
    if (!saved || saved->kind != JSON_STRING || saved->string.len >= SEARCH_NONE)
        return damaged(err, "trials");
    for (size_t i = 0; i < saved->string.len; i++) {
        const char *letter =
            memchr(phase_letters, saved->string.text[i], sizeof(phase_letters) - 1);

        if (!letter)
            return damaged(err, "trials");
        if (!vec_push(&s->trials, (struct search_trial){
                                      .phase = (uint8_t)(letter - phase_letters)}))
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

/* One pair of "progress". */
static bool load_progress(struct searcher *s, const struct json *pair)
{
    const struct json *trial = json_first(pair);
    struct search_trial *t;
    double progress;

    if (!is_u32(trial, UINT32_MAX) || !json_number(trial->next, &progress))
        return false;
    t = open_trial(s, (uint32_t)trial->integer);
    if (!t || t->phase == PHASE_REQUESTED || !(progress >= 0 && progress <= 1))
        return false;
    t->progress = (uint64_t)rint(ldexp(progress, PROGRESS_BITS));
    return true;
}

static det_status load_trials(struct searcher *s, const struct json *state,
                              struct err *err)
{
    det_status status = load_phases(s, json_get(state, "trials"), err);

    if (status)
        return status;
    json_each(pair, json_get(state, "progress")) {
        if (!load_progress(s, pair))
            return damaged(err, "progress");
    }
    for (size_t i = 0; i < s->trials.count; i++)
        count_trial(s, &s->trials.at[i]);
    return DET_OK;
}

/* Back to the state after searcher_new(), except for the generator. */
static det_status reset_searcher(struct searcher *s, struct err *err)
{
    if (s->method->done)
        s->method->done(s);
    memset(s->state, 0, s->method->state_size);
    vec_clear(&s->trials);
    s->closed = 0;
    s->failures = 0;
    s->cancels = 0;
    s->counted = 0;
    s->progress = 0;
    return s->method->init(s, err);
}

det_status searcher_load(struct searcher *s, const struct json *state, struct err *err)
{
    const char *method = json_str(json_get(state, "method"), "");
    int64_t version = json_i64(json_get(state, "version"), 0);
    det_status status;

    if (version < 1 || version > STATE_VERSION)
        return damaged(err, "version");
    if (strcmp(method, s->method->name))
        return err_set(err, DET_CORRUPT, "the saved search is by '%s', not '%s'",
                       method, s->method->name);

    status = reset_searcher(s, err);
    if (!status)
        status = load_rng(s, json_get(state, "rng"), version, err);
    if (!status)
        status = load_trials(s, state, err);
    if (!status)
        status = search_saved_u32(state, "invalid_in_a_row", UINT32_MAX,
                                  &s->invalid_in_a_row, err);
    if (status)
        return status;
    s->has_given_up = json_bool(json_get(state, "has_given_up"), false);
    return s->method->load(s, json_get(state, "state"), err);
}
