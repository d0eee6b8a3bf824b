/* SPDX-License-Identifier: Apache-2.0 */
/* policies.c - see policies.h.
 *
 * Most patterns are plain words between ".*"; those are searched as words, which costs
 * next to nothing.  The rest are POSIX extended expressions. */
#include "master/policies.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/task.h"
#include "data/json.h"
#include "store/data.h"
#include "store/views.h"

enum { POLICIES_MOST = 32, POLICY_MEMORY = 4 << 20, KEPT = 64 };

struct policy {
    struct policy_match match;
    const char *word; /* NULL: `regex` decides */
    size_t word_len;
    regex_t regex;
    bool has_regex;
};

struct policy_set {
    struct arena mem;
    int64_t experiment_id;
    struct policy policy[POLICIES_MOST];
    uint32_t count;
};

struct policies {
    struct lock lock;              /* guards the sets; they are used while it is held */
    struct policy_set *kept[KEPT]; /* by experiment id, modulo */
};

static void set_free(struct policy_set *set)
{
    if (!set)
        return;
    for (uint32_t i = 0; i < set->count; i++)
        if (set->policy[i].has_regex)
            regfree(&set->policy[i].regex);
    arena_done(&set->mem);
    mem_free(set);
}

/* ".*CUDA out of memory.*" -> "CUDA out of memory"; NULL when it is no plain word. */
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

static void set_add(struct policy_set *set, const struct json *row)
{
    struct policy *policy = &set->policy[set->count];
    const char *pattern = json_str(json_get(row, "pattern"), NULL);
    const struct json *action = json_get(row, "action");
    const char *word = json_str(action, json_str(json_get(action, "type"), ""));
    const char *name = json_str(json_get(row, "name"), NULL);

    if (!pattern || set->count == POLICIES_MOST)
        return;
    snprintf(policy->match.name, sizeof(policy->match.name), "%s", name ? name : "");
    policy->match.cancels_retries = !strcmp(word, "cancel_retries");
    policy->match.excludes_node = !strcmp(word, "exclude_node");
    policy->word = plain_word(&set->mem, pattern);
    policy->word_len = policy->word ? strlen(policy->word) : 0;
    policy->has_regex =
        !policy->word && !regcomp(&policy->regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (policy->word || policy->has_regex)
        set->count++;
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
    json_each(row, json_get(config, "log_policies"))
        set_add(set, row);
    *ret_set = set;
    return DET_OK;
}

static bool policy_fits(const struct policy *policy, const struct log_line *line)
{
    if (policy->word)
        return memmem(line->text, line->len, policy->word, policy->word_len) != NULL;
    return regexec(&policy->regex, line->text, 0, NULL, 0) == 0;
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

det_status policies_match(struct policies *policies, struct db *db,
                          const struct policy_lines *lines,
                          struct policy_match *ret_match, struct err *err)
{
    struct policy_set **kept = &policies->kept[lines->experiment_id % KEPT];
    struct policy_match match = {0};
    det_status st = DET_OK;

    lock_take(&policies->lock);
    if (!*kept || (*kept)->experiment_id != lines->experiment_id) {
        set_free(*kept);
        *kept = NULL;
        st = set_load(db, lines->experiment_id, kept, err);
    }
    if (!st)
        match_lines(*kept, lines, &match);
    lock_give(&policies->lock);
    if (!st)
        *ret_match = match;
    return st;
}

det_status policies_new(struct policies **ret_policies, struct err *err)
{
    struct policies *policies = mem_new(struct policies);
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

void policies_free(struct policies *policies)
{
    if (!policies)
        return;
    for (size_t i = 0; i < KEPT; i++)
        set_free(policies->kept[i]);
    lock_done(&policies->lock);
    mem_free(policies);
}
