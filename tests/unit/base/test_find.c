/* SPDX-License-Identifier: Apache-2.0 */
/* What is found is what a plain loop finds, in either case, in texts of any length. */
#include "base/text/find.h"

#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "tests/support/test.h"

static const char *plainly(const char *text, size_t text_len, bool folds,
                           const char *bytes, size_t len)
{
    for (size_t at = 0; at + text_len <= len; at++) {
        size_t i = 0;

        while (i < text_len && (bytes[at + i] == text[i] ||
                                (folds && find_lower((unsigned char)bytes[at + i]) ==
                                              find_lower((unsigned char)text[i]))))
            i++;
        if (i == text_len)
            return bytes + at;
    }
    return NULL;
}

static const char *finds(const char *text, const char *in, bool folds)
{
    struct find find;

    find_init(&find, text, strlen(text), folds);
    return find_in(&find, in, strlen(in));
}

TEST(a_text_is_found_where_it_first_stands)
{
    const char *in = "epoch 3: loss=0.25, Loss=0.5, [rank] LOSS=1";

    CHECK(finds("loss", in, false) == in + 9);
    CHECK(finds("Loss", in, false) == in + 20);
    CHECK(finds("LOSS=1", in, true) == in + 37);
    CHECK(finds("[RANK]", in, true) == in + 30);
    CHECK_NULL(finds("[RANK]", in, false));
    CHECK_NULL(finds("{rank}", in, true)); /* only letters have cases */
    CHECK(finds("", in, true) == in);
    CHECK(finds("e", in, false) == in);
    CHECK_NULL(finds("a text that is longer than what it is looked for in", in, true));
    CHECK_NULL(finds("x", "", true));
}

TEST(it_agrees_with_a_plain_loop)
{
    struct rng64 rng = {.state = 11};
    static const char letters[] = "aAbBxX@`[{ 0\xc3";

    for (int round = 0; round < 20000; round++) {
        char bytes[300];
        char text[8];
        size_t len = rng64_below(&rng, sizeof(bytes));
        size_t text_len = 1 + rng64_below(&rng, sizeof(text));
        bool folds = rng64_below(&rng, 2);
        struct find find;

        /* of few letters, so that parts of it stand everywhere */
        for (size_t i = 0; i < len; i++)
            bytes[i] = letters[rng64_below(&rng, sizeof(letters))];
        for (size_t i = 0; i < text_len; i++)
            text[i] = letters[rng64_below(&rng, sizeof(letters))];
        find_init(&find, text, text_len, folds);
        CHECK(find_in(&find, bytes, len) == plainly(text, text_len, folds, bytes, len));
    }
}

/* Nothing is read in front of the bytes or behind them: for the sanitizers. */
TEST(it_reads_only_what_it_was_given)
{
    for (size_t len = 0; len < 200; len++) {
        char *bytes = malloc(len ? len : 1);
        struct find find;

        CHECK(bytes != NULL);
        memset(bytes, 'a', len);
        find_init(&find, "aaaab", 5, len % 2);
        CHECK_NULL(find_in(&find, bytes, len));
        if (len >= 5)
            bytes[len - 1] = 'b';
        CHECK(find_in(&find, bytes, len) == (len >= 5 ? bytes + len - 5 : NULL));
        free(bytes);
    }
}
