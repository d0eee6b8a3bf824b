/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are names. */
#include <string.h>

#include "base/compiler.h"
#include "model/name.h"
#include "tests/support/test.h"

TEST(ordinary_names_are_fine)
{
    static const char *const names[] = {"a",
                                        "Vision 2",
                                        "_x%",
                                        "a.b",
                                        "\xe6\xa8\xa1\xe5\x9e\x8b",
                                        "...",
                                        "a'b\"c?",
                                        "12345678901234567890"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_OK(given_name_check("a name", names[i], 20, &test_err));
}

TEST(others_are_refused_in_one_sentence)
{
    static const struct {
        const char *name;
        const char *says;
    } bad[] = {
        {NULL, "at least 1 character"},
        {"", "at least 1 character"},
        {" \t", "not a space"},
        {"123456789012345678901", "at most 20 bytes; this one has 21"},
        {"a\nb", "control characters"},
        {"a\x1b[1m", "control characters"},
        {"a\x7f", "control characters"},
        {"a\xc2\x85", "control characters"},
        {"a\xff", "UTF-8"},
        {"../x", "path"},
        {"a/b", "path"},
        {"a\\b", "path"},
        {".", "path"},
        {"..", "path"},
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_EQ(given_name_check("a name", bad[i].name, 20, &test_err), DET_INVALID);
        CHECK(strstr(test_err.text, bad[i].says) != NULL);
    }
}
