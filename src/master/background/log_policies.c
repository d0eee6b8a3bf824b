/* SPDX-License-Identifier: Apache-2.0 */
/* log_policies.c - see log_policies.h.
 *
 * Most patterns are plain words between ".*"; they are searched as words, which is cheap.
 * The others are patterns of base/text/pattern.h.
 *
 * The cache keeps the sets of recent experiments, the newest first.  The lock is held only
 * to look one up; reading a configuration and matching lines happen without it.  A set does
 * not change.  It is freed when it has left the cache and its last user is done. */
#include "master/background/log_policies.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/text/pattern.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "store/experiment/experiment.h"
#include "store/log/log_line.h"

enum { POLICIES_MOST = 32, POLICY_MEMORY = 4 << 20, KEPT = 64 };

struct policy {
    struct policy_match match;
    const char *word; /* NULL: `pattern` decides */
    size_t word_len;
    struct pattern *pattern;
};

struct policy_set {
    struct arena mem;
    int64_t experiment_id;
    struct policy policy[POLICIES_MOST];
    uint32_t count;
    uint32_t users; /* the cache counts as one; guarded by the lock */
};

struct log_policies {
    struct lock lock;              /* guards what follows, and `users` of each set */
    struct policy_set *kept[KEPT]; /* most recently used first */
    uint32_t count;
};

static void set_free(struct policy_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        pattern_free(set->policy[i].pattern);
    arena_done(&set->mem);
    mem_free(set);
}

/* With the lock held. */
static void drop_user(struct policy_set *set)
{
    assert(set->users > 0);
    if (!--set->users)
        set_free(set);
}

/* ".*CUDA out of memory.*" -> "CUDA out of memory"; NULL: not a plain word. */
static const char *plain_word(struct arena *mem, const char *pattern)
{
    size_t len = strlen(pattern);

    while (len >= 2 && !strncmp(pattern, ".*", 2))
        pattern += 2, len -= 2;
    while (len >= 2 && !strncmp(pattern + len - 2, ".*", 2))
        len -= 2;
    if (!len || strcspn(pattern, ".[]{}()\\*+?|^$") < len)
        return NULL;
    return arena_strndup(mem, pattern, len);
}

/* Older versions accepted invalid patterns; they match nothing. */
static det_status add_policy(struct policy_set *set, const struct json *row,
                             struct err *err)
{
    struct policy *policy = &set->policy[set->count];
    const char *pattern = json_str(json_get(row, "pattern"), NULL);
    const struct json *action = json_get(row, "action");
    const char *word = json_str(action, json_str(json_get(action, "type"), ""));
    const char *name = json_str(json_get(row, "name"), NULL);
    det_status st = DET_OK;

    if (!pattern || set->count == POLICIES_MOST)
        return DET_OK;
    snprintf(policy->match.name, sizeof(policy->match.name), "%s", name ? name : "");
    policy->match.cancels_retries = !strcmp(word, "cancel_retries");
    policy->match.excludes_node = !strcmp(word, "exclude_node");
    policy->word = plain_word(&set->mem, pattern);
    policy->word_len = policy->word ? strlen(policy->word) : 0;
    if (!policy->word && !set->mem.has_failed)
        st = pattern_new(pattern, &policy->pattern, err);
    if (set->mem.has_failed)
        st = err_default(err, DET_NOMEM);
    if (!st)
        set->count++;
    return st == DET_INVALID ? DET_OK : st;
}

static det_status set_load(struct db *db, int64_t experiment_id,
                           struct policy_set **ret_set, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct experiment_view view;
    struct policy_set *set;
    struct json *config;
    det_status st = store_experiment_get(db, experiment_id, &mem, &view, err);

    if (!st)
        st = json_parse(view.row.config, strlen(view.row.config), &mem, &config, err);
    if (st)
        return st;
    set = mem_new(struct policy_set);
    if (!set)
        return err_default(err, DET_NOMEM);
    set->mem = (struct arena)ARENA_INIT(POLICY_MEMORY);
    set->experiment_id = experiment_id;
    set->users = 1;
    json_each(row, json_get(config, "log_policies")) {
        st = add_policy(set, row, err);
        if (st) {
            set_free(set);
            return st;
        }
    }
    *ret_set = set;
    return DET_OK;
}

/* ---- the cache --------------------------------------------------------------- */

/* With the lock held; NULL: not in the cache. */
static struct policy_set *find_kept(struct log_policies *policies,
                                    int64_t experiment_id)
{
    for (uint32_t i = 0; i < policies->count; i++) {
        struct policy_set *set = policies->kept[i];

        if (set->experiment_id != experiment_id)
            continue;
        memmove(&policies->kept[1], &policies->kept[0], i * sizeof(set));
        policies->kept[0] = set;
        set->users++;
        return set;
    }
    return NULL;
}

/* With the lock held.  The caller stays a user of `set`. */
static void keep_set(struct log_policies *policies, struct policy_set *set)
{
    if (policies->count == KEPT)
        drop_user(policies->kept[--policies->count]);
    memmove(&policies->kept[1], &policies->kept[0], policies->count * sizeof(set));
    policies->kept[0] = set;
    policies->count++;
    set->users++;
}

/* The caller gives it back with set_give(). */
static det_status set_take(struct log_policies *policies, struct db *db,
                           int64_t experiment_id, struct policy_set **ret_set,
                           struct err *err)
{
    struct policy_set *set, *other;
    det_status st;

    lock_take(&policies->lock);
    set = find_kept(policies, experiment_id);
    lock_give(&policies->lock);
    if (!set) {
        st = set_load(db, experiment_id, &set, err);
        if (st)
            return st;
        lock_take(&policies->lock);
        other = find_kept(policies, experiment_id);
        if (!other)
            keep_set(policies, set);
        lock_give(&policies->lock);
        if (other) { /* another thread was faster */
            set_free(set);
            set = other;
        }
    }
    *ret_set = set;
    return DET_OK;
}

static void set_give(struct log_policies *policies, struct policy_set *set)
{
    lock_take(&policies->lock);
    drop_user(set);
    lock_give(&policies->lock);
}

/* ---- matching -------------------------------------------------------------------- */

static bool policy_fits(const struct policy *policy, const struct log_line *line)
{
    if (policy->word)
        return memmem(line->text, line->len, policy->word, policy->word_len) != NULL;
    return pattern_matches(policy->pattern, line->text, line->len);
}

static void match_lines(const struct policy_set *set, const struct policy_lines *lines,
                        struct policy_match *match)
{
    for (uint32_t p = 0; p < set->count; p++)
        for (uint32_t i = 0; i < lines->count; i++) {
            const struct policy *policy = &set->policy[p];

            if (!policy_fits(policy, &lines->line[i]))
                continue;
            match->cancels_retries |= policy->match.cancels_retries;
            match->excludes_node |= policy->match.excludes_node;
            if (policy->match.name[0])
                memcpy(match->name, policy->match.name, sizeof(match->name));
            break;
        }
}

det_status log_policies_match(struct log_policies *policies, struct db *db,
                              const struct policy_lines *lines,
                              struct policy_match *ret_match, struct err *err)
{
    struct policy_match match = {0};
    struct policy_set *set;
    det_status st = set_take(policies, db, lines->experiment_id, &set, err);

    if (st)
        return st;
    match_lines(set, lines, &match);
    set_give(policies, set);
    *ret_match = match;
    return DET_OK;
}

det_status log_policies_new(struct log_policies **ret_policies, struct err *err)
{
    struct log_policies *policies = mem_new(struct log_policies);
    det_status st;

    if (!policies)
        return err_default(err, DET_NOMEM);
    st = lock_init(&policies->lock, err);
    if (st) {
        mem_free(policies);
        return st;
    }
    *ret_policies = policies;
    return DET_OK;
}

void log_policies_free(struct log_policies *policies)
{
    if (!policies)
        return;
    for (uint32_t i = 0; i < policies->count; i++)
        set_free(policies->kept[i]);
    lock_done(&policies->lock);
    mem_free(policies);
}
