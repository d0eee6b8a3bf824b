/* SPDX-License-Identifier: Apache-2.0 */
/* metric_goal.c - see metric_goal.h.
 *
 * Words are compared without regard to case and must stand alone: 'acc' is found in
 * 'val_acc', 'acc5' and 'valAcc', but not in 'accumulated_loss'.  Words that are long
 * enough to be unmistakable are found anywhere.  A name that also has a word such as
 * 'loss' names something to minimise.  To add a word, add it to the tables. */
#include "config/metric/metric_goal.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"

struct metric_word {
    const char *text;
    bool is_anywhere; /* also as a part of a longer word */
};

static const struct metric_word larger[] = {
    {"accuracy", true},    {"precision", true},   {"recall", true},
    {"specificity", true}, {"sensitivity", true}, {"similarity", true},
    {"acc", false},        {"f1", false},         {"fbeta", false},
    {"auc", false},        {"auroc", false},      {"auprc", false},
    {"rocauc", false},     {"iou", false},        {"miou", false},
    {"dice", false},       {"jaccard", false},    {"map", false},
    {"ndcg", false},       {"mrr", false},        {"bleu", false},
    {"rouge", false},      {"meteor", false},     {"r2", false},
    {"kappa", false},      {"mcc", false},        {"psnr", false},
    {"ssim", false},       {"reward", false},
};

static const struct metric_word smaller[] = {
    {"loss", true},
    {"error", true},
    {"err", false},
    {"distance", true},
};

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) != 0;
}

/* Whether a word may begin between these characters: not in the middle of letters,
 * unless a capital begins a new word, as in "valAcc". */
static bool is_start(char before, char first)
{
    return !is_letter(before) ||
           (islower((unsigned char)before) && isupper((unsigned char)first));
}

static bool is_end(char last, char after)
{
    return !is_letter(after) ||
           (!isupper((unsigned char)last) && isupper((unsigned char)after));
}

static bool has_word(const char *name, const struct metric_word *word)
{
    size_t len = strlen(word->text);

    for (const char *at = name; *at; at++) {
        if (strncasecmp(at, word->text, len))
            continue;
        if (word->is_anywhere ||
            ((at == name || is_start(at[-1], at[0])) && is_end(at[len - 1], at[len])))
            return true;
    }
    return false;
}

static bool has_any_word(const char *name, const struct metric_word *words,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_word(name, &words[i]))
            return true;
    return false;
}

bool metric_goal_is_larger(const char *metric)
{
    return has_any_word(metric, larger, ARRAY_LEN(larger)) &&
           !has_any_word(metric, smaller, ARRAY_LEN(smaller));
}

const char *metric_goal_doubt(const struct json *searcher, struct arena *mem)
{
    const char *metric = json_str(json_get(searcher, "metric"), NULL);

    if (!metric || !json_is_null(json_get(searcher, "smaller_is_better")) ||
        !metric_goal_is_larger(metric))
        return NULL;
    return arena_printf(mem,
                        "larger values of '%s' are usually better, but smaller ones "
                        "count as better here: set searcher.smaller_is_better to "
                        "false, or to true if that is meant",
                        metric);
}
