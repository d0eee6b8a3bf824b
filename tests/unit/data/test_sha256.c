/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "data/sha256.h"
#include "tests/support/test.h"

TEST(a_sum_is_that_of_everybody_else)
{
    struct sha256 sum;
    char text[SHA256_TEXT];

    sha256_init(&sum);
    sha256_add(&sum, "a", 1);
    sha256_add(&sum, "", 0);
    sha256_add(&sum, "bc", 2);
    sha256_text(&sum, text);

    CHECK_STR(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(parts_do_not_run_into_one_another)
{
    struct sha256 one, other;
    char first[SHA256_TEXT], second[SHA256_TEXT];

    sha256_init(&one);
    sha256_part(&one, "ab");
    sha256_part(&one, "c");
    sha256_text(&one, first);
    sha256_init(&other);
    sha256_part(&other, "a");
    sha256_part(&other, "bc");
    sha256_text(&other, second);

    CHECK(strcmp(first, second) != 0);
}

TEST(the_instructions_of_the_processor_give_the_same_sum)
{
    sha256_fn *fast = sha256_fastest();
    unsigned char bytes[1000];
    unsigned char a[SHA256_BYTES], b[SHA256_BYTES];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7 + i / 13);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        fast(bytes, len, a);
        sha256_plain(bytes, len, b);
        CHECK(memcmp(a, b, sizeof(a)) == 0);
    }
}
