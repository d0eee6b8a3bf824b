/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c - see launcher.h.
 *
 * An entrypoint names its launch layer either as a module of Python,
 * "determined.launch.mpi", or as the words "launch mpi" of `det`.  To add another layer,
 * add its row here. */
#include "config/launcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "data/json/json.h"

#define MODULE "determined.launch."

static const struct {
    const char *layer;
    enum launcher_reach reach;
} layers[] = {
    {"mpi", REACH_ONE_NODE},
    {"tensorflow", REACH_NODES},
    {"tensorflow_distributed", REACH_ONE_NODE},
    {"torch_distributed", REACH_NODES},
};

struct word {
    const char *text;
    size_t len;
};

static bool word_is(struct word word, const char *text)
{
    return word.len == strlen(text) && !memcmp(word.text, text, word.len);
}

/* Whether the word is the program `det`, with or without its directory. */
static bool word_is_det(struct word word)
{
    return word_is(word, "det") ||
           (word.len > 4 && !memcmp(word.text + word.len - 4, "/det", 4));
}

static enum launcher_reach reach_of_layer(struct word layer)
{
    for (size_t i = 0; i < ARRAY_LEN(layers); i++)
        if (word_is(layer, layers[i].layer))
            return layers[i].reach;
    return REACH_UNKNOWN;
}

/* Takes the next word; words of a shell command end at blanks. */
static bool next_word(const char **at, struct word *ret_word)
{
    const char *text = *at + strspn(*at, " \t\n");

    *ret_word = (struct word){text, strcspn(text, " \t\n")};
    *at = text + ret_word->len;
    return ret_word->len > 0;
}

/* The two words before the current one. */
struct context {
    struct word last;
    struct word before_last;
};

static enum launcher_reach reach_of_words(const char *text, struct context *context)
{
    enum launcher_reach found = REACH_UNKNOWN;
    struct word word;

    while (found == REACH_UNKNOWN && next_word(&text, &word)) {
        size_t prefix = strlen(MODULE);

        if (word.len > prefix && !memcmp(word.text, MODULE, prefix))
            found =
                reach_of_layer((struct word){word.text + prefix, word.len - prefix});
        else if (word_is(context->last, "launch") && word_is_det(context->before_last))
            found = reach_of_layer(word);
        context->before_last = context->last;
        context->last = word;
    }
    return found;
}

enum launcher_reach launcher_reach(const struct json *entrypoint)
{
    struct context context = {{"", 0}, {"", 0}};
    enum launcher_reach found = REACH_UNKNOWN;

    if (!entrypoint || entrypoint->kind != JSON_ARRAY)
        return reach_of_words(json_str(entrypoint, ""), &context);
    json_each(word, entrypoint) {
        found = reach_of_words(json_str(word, ""), &context);
        if (found != REACH_UNKNOWN)
            break;
    }
    return found;
}
