/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - `random`: max_trials samples, max_concurrent_trials at a time; and
 * `single`: one. */
#include "data/json/json.h"
#include "search/method.h"
#include "search/preview.h"

struct random_state {
    uint32_t max_trials;
    uint32_t at_once; /* max_concurrent_trials; max_trials if that is 0 */
    uint32_t created; /* without invalid ones, which are replaced */
};

static det_status single_init(struct searcher *s, struct err *err)
{
    struct random_state *r = s->state;

    (void)err;
    r->max_trials = 1;
    r->at_once = 1;
    return DET_OK;
}

static det_status random_init(struct searcher *s, struct err *err)
{
    struct random_state *r = s->state;
    det_status status = search_config_u32(s, "max_trials", 1, -1, &r->max_trials, err);

    if (status)
        return status;
    status = search_config_u32(s, "max_concurrent_trials", 0, 16, &r->at_once, err);
    if (status)
        return status;
    if (!r->at_once || r->at_once > r->max_trials)
        r->at_once = r->max_trials;
    return DET_OK;
}

static void create_next(struct searcher *s, struct search_out *out)
{
    struct random_state *r = s->state;

    if (search_create(s, out) != SEARCH_NONE)
        r->created++;
}

static void random_start(struct searcher *s, struct search_out *out)
{
    const struct random_state *r = s->state;

    for (uint32_t i = 0; i < r->at_once && !out->status; i++)
        create_next(s, out);
}

static uint32_t random_first(const struct searcher *s)
{
    const struct random_state *r = s->state;

    return r->at_once;
}

static void random_trial_exited(struct searcher *s, uint32_t trial,
                                enum search_exit why, struct search_out *out)
{
    struct random_state *r = s->state;

    (void)trial;
    if (why == SEARCH_EXIT_INVALID_HPARAMS && s->method->replaces_invalid)
        r->created--; /* a replacement is drawn */
    if (r->created < r->max_trials)
        create_next(s, out);
}

static uint32_t random_left(const struct searcher *s)
{
    const struct random_state *r = s->state;

    return r->max_trials - r->created;
}

static void random_save(const struct searcher *s, struct json_writer *w)
{
    const struct random_state *r = s->state;

    jw_i64(w, "created", r->created);
}

static det_status random_load(struct searcher *s, const struct json *state,
                              struct err *err)
{
    struct random_state *r = s->state;

    return search_saved_u32(state, "created", r->max_trials, &r->created, err);
}

static void random_preview(const struct searcher *s, struct arena *mem,
                           struct json *trials)
{
    const struct random_state *r = s->state;

    search_preview_row(mem, trials, r->max_trials);
}

const struct search_method search_single = {
    .name = "single",
    .state_size = sizeof(struct random_state),
    .init = single_init,
    .start = random_start,
    .first = random_first,
    .trial_exited = random_trial_exited,
    .left = random_left,
    .save = random_save,
    .load = random_load,
    .preview = random_preview,
};

const struct search_method search_random = {
    .name = "random",
    .state_size = sizeof(struct random_state),
    .replaces_invalid = true,
    .init = random_init,
    .start = random_start,
    .first = random_first,
    .trial_exited = random_trial_exited,
    .left = random_left,
    .save = random_save,
    .load = random_load,
    .preview = random_preview,
};
