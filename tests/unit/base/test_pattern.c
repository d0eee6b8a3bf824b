/* SPDX-License-Identifier: Apache-2.0 */
/* What a pattern finds, what is refused, and that no pattern and no text takes long. */
#include "base/text/pattern.h"

#include <pthread.h>
#include <regex.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "base/text/find.h"
#include "tests/support/test.h"

static bool finds(const char *text, const char *in)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;

    CHECK_OK(pattern_new(text, &pattern, &test_err));
    return pattern_matches(pattern, in, strlen(in));
}

static const char *why_not(const char *text)
{
    struct pattern *pattern = NULL;

    if (pattern_new(text, &pattern, &test_err) != DET_INVALID) {
        pattern_free(pattern);
        fail_msg("'%s' was taken", text);
    }
    CHECK_NULL(pattern);
    return test_err.text;
}

TEST(a_pattern_is_found_anywhere_in_a_text)
{
    static const struct {
        const char *pattern;
        const char *in;
        const char *not_in;
    } rows[] = {
        {"abc", "xxabcxx", "xxab"},
        {"", "", NULL},
        {"a.c", "a\nc", "ac"},
        {"^ab", "abc", "cab"},
        {"ab$", "cab", "abc"},
        {"^$", "", "a"},
        {"a|bc|d", "xbcx", "bxc"},
        {"^(a|bc|)$", "", "b"},
        {"x(ab)*y", "xababy", "xabay"},
        {"x(ab)+y", "xaby", "xy"},
        {"xa?y", "xy", "xaay"},
        {"^a{3}$", "aaa", "aa"},
        {"^a{2,3}$", "aa", "aaaa"},
        {"^a{2,}$", "aaaaa", "a"},
        {"^a{,2}$", "", "aaa"},
        {"^xa{0}y$", "xy", "xay"},
        {"^(ab|c){2,3}$", "abcab", "abcabc"},
        {"^(a{2}){3}$", "aaaaaa", "aaaaa"},
        {"^(a*)*b$", "aaab", "aaac"},
        {"^(?:ab){2}$", "abab", "ab"},
        {"[a-c]x", "bx", "dx"},
        {"[^a-c]x", "dx", "bx"},
        {"[]a]x", "]x", "bx"},
        {"[^]a]x", "bx", "]x"},
        {"[a-]x", "-x", "bx"},
        {"[[:digit:]_]+x", "4_x", "ax"},
        {"[[.-.]]x", "-x", "ax"},
        {"\\d+ of \\w+", "12 of a_b", "x of y"},
        {"^\\D\\S\\W$", "ab-",
         "ab "
         "x"},
        {"\\bend\\b", "the end.", "bends"},
        {"\\<end", "the ending", "bend"},
        {"end\\>", "bend it", "ending"},
        {"\\Bend", "bend", "end"},
        {"a\\.b\\{", "a.b{", "axb{"},
        {"a\\tb", "a\tb", "atb"},
        {"\xc3\xa9+x", "\xc3\xa9\xc3\xa9x", "\xa9\xa9y"},
        {"CUDA.*out of (memory|luck)", "CUDA error: out of luck", "out of CUDA"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!finds(rows[i].pattern, rows[i].in))
            fail_msg("'%s' does not find '%s'", rows[i].pattern, rows[i].in);
        if (rows[i].not_in && finds(rows[i].pattern, rows[i].not_in))
            fail_msg("'%s' finds '%s'", rows[i].pattern, rows[i].not_in);
    }
}

TEST(what_is_no_pattern_is_refused_with_the_reason)
{
    CHECK_HAS(why_not("a("), "'(' of the pattern has no ')'");
    CHECK_HAS(why_not("a)"), "')' of the pattern has no '('");
    CHECK_HAS(why_not("[a"), "a set of the pattern");
    CHECK_HAS(why_not("[]"), "a set of the pattern");
    CHECK_HAS(why_not("[z-a]"), "a set of the pattern");
    CHECK_HAS(why_not("[[:nothing:]]"), "a set of the pattern");
    CHECK_HAS(why_not("[[.a"), "a set of the pattern");
    CHECK_HAS(why_not("*a"), "nothing before a '*'");
    CHECK_HAS(why_not("(?i)a"), "nothing before a '?'");
    CHECK_HAS(why_not("a|+"), "nothing before a '+'");
    CHECK_HAS(why_not("^*"), "nothing before a '*'");
    CHECK_HAS(why_not("a{x}"), "begins no count");
    CHECK_HAS(why_not("a{3,2}"), "begins no count");
    CHECK_HAS(why_not("a{"), "begins no count");
    CHECK_HAS(why_not("a\\"), "ends with a backslash");
    CHECK_HAS(why_not("\\q"), "unknown escape, \\q");
}

static const char *times(struct buf *buf, const char *part, int count)
{
    for (int i = 0; i < count; i++)
        buf_puts(buf, part);
    return buf->data;
}

TEST(what_would_cost_too_much_is_refused)
{
    CLEANUP(buf_done) struct buf open = BUF_INIT;
    CLEANUP(buf_done) struct buf wide = BUF_INIT;
    CLEANUP(buf_done) struct buf many = BUF_INIT;

    CHECK_HAS(why_not(times(&open, "(", 500)), "nested more than 50 levels deep");
    CHECK_HAS(why_not(times(&wide, "a", 1025)), "longer than 1024 bytes");
    CHECK_HAS(why_not("(a*)\\1"), "back-reference");
    CHECK_HAS(why_not("a{256}"), "above 255");
    CHECK_HAS(why_not("a{99999999999999999999}"), "above 255");
    CHECK_HAS(why_not("((a{20}){20}){20}"), "too large");
    CHECK_HAS(why_not(times(&many, "(a?){255}", 10)), "too large");
}

/* The longest texts and the largest programs, on a stack as small as a worker's: what
 * took the C library's expressions seconds, or the process down. */
static void *match_the_worst(void *arg)
{
    static const char *const worst[] = {
        "(a|b)*a(a|b){200}c", "(a?){255}c",         "(.*.*.*.*.*.*)*c",
        "((((a+)+)+)+)+c",    "(.?){200}c$",        "(a|ab|aba|b|ba)*(a{30}|b){5}c",
        "([ab]{0,255})*c",    "a{255}b{255}a{255}c"};
    const struct buf *text = arg;

    for (size_t i = 0; i < ARRAY_LEN(worst); i++) {
        CLEANUP(pattern_freep) struct pattern *pattern = NULL;

        CHECK_OK(pattern_new(worst[i], &pattern, &test_err));
        CHECK(!pattern_matches(pattern, text->data, text->len));
    }
    return NULL;
}

TEST(no_pattern_and_no_text_needs_much_stack_or_time)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct rng rng;
    pthread_attr_t attr;
    pthread_t thread;

    rng_seed(&rng, 1);
    for (int i = 0; i < PATTERN_TEXT_BYTES; i++)
        buf_putc(&text, rng_u32(&rng) & 1 ? 'a' : 'b');
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    CHECK_EQ(pthread_create(&thread, &attr, match_the_worst, &text), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

TEST(only_the_beginning_of_a_long_text_is_looked_at)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    times(&text, "b", PATTERN_TEXT_BYTES);
    CHECK(finds("b$", text.data));
    buf_putc(&text, 'a');
    CHECK(!finds("a", text.data));
    CHECK(!finds("b$", text.data)); /* that is not its end */
}

TEST(a_text_ends_where_its_length_says)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;

    CHECK_OK(pattern_new("b\\b.c$", &pattern, &test_err));
    CHECK(pattern_matches(pattern, "ab\0cd", 4));
    CHECK(!pattern_matches(pattern, "ab\0cd", 5));
    CHECK(!pattern_matches(pattern, "ab\0cd", 3));
}

static void random_text(struct rng *rng, const char *signs, struct buf *text)
{
    size_t len = rng_u32(rng) % 9;

    buf_clear(text);
    while (len--)
        buf_putc(text, signs[rng_u32(rng) % strlen(signs)]);
}

/* Small patterns the C library can be trusted with. */
TEST(it_finds_what_the_c_library_finds)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf in = BUF_INIT;
    struct rng rng;
    int compared = 0;

    rng_seed(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        CLEANUP(pattern_freep) struct pattern *pattern = NULL;
        regex_t regex;

        random_text(&rng, "aabbc.()|*+?$^", &text);
        if (pattern_new(text.data, &pattern, NULL))
            continue;
        if (regcomp(&regex, text.data, REG_EXTENDED | REG_NOSUB))
            continue;
        for (int k = 0; k < 4; k++) {
            random_text(&rng, "abc", &in);
            compared++;
            if (pattern_matches(pattern, in.data, in.len) !=
                !regexec(&regex, in.data, 0, NULL, 0))
                fail_msg("'%s' in '%s'", text.data, in.data);
        }
        regfree(&regex);
    }
    CHECK(compared > 10000);
}

/* `want`: the literals, with commas between. */
static void check_literal(const char *text, bool folds, const char *want)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;
    CLEANUP(buf_done) struct buf got = BUF_INIT;
    const struct pattern_literal *literal;
    size_t count;

    CHECK_OK(folds ? pattern_new_folding(text, &pattern, &test_err)
                   : pattern_new(text, &pattern, &test_err));
    count = pattern_literals(pattern, &literal);
    buf_puts(&got, "");
    for (size_t i = 0; i < count; i++)
        buf_printf(&got, "%s%.*s", i ? "," : "", (int)literal[i].len, literal[i].text);
    if (strcmp(got.len ? got.data : "", want) != 0)
        fail_msg("'%s' must hold '%s', not '%s'", text, got.data, want);
}

TEST(what_every_match_holds_is_known)
{
    check_literal("loss=[0-9]+", false, "loss=");
    check_literal("^epoch (1|2) done$", false, "epoch ");
    check_literal("a|b", false, "a,b");
    check_literal("error|fat(al)?|.*x{2}y", false, "error,fat,xxy");
    check_literal("a|[bc]", false, "");
    check_literal("(a|b)", false, "a,b");
    check_literal("a|", false, "");
    check_literal("a?|b", false, "");
    check_literal("(a|b)c|d*e", false, "c,e");
    check_literal("a|b|c|d|e|f|g|h", false, "a,b,c,d,e,f,g,h");
    check_literal("a|b|c|d|e|f|g|h|i", false, "");
    check_literal("(abc|d)ef", false, "ef");
    check_literal("x(abc)?yz", false, "yz");
    check_literal("(abc)*yz", false, "yz");
    check_literal("(abc)+d", false, "abc");
    check_literal("ab{3}c", false, "abbbc");
    check_literal("ab{0,3}c", false, "a");
    check_literal("ab{0}c", false, "ac");
    check_literal("LOSS", true, "loss");
    check_literal(".*", false, "");
    check_literal("\\bERROR\\b", false, "ERROR");
}

TEST(letters_fold_where_wanted)
{
    static const struct {
        const char *pattern;
        const char *in;
        bool is_there;
    } rows[] = {
        {"Error", "an eRROR", true},     {"[^a]", "A", false},     {"[^A]", "a", false},
        {"[x-z]+$", "XyZ", true},        {"[X-Z]+$", "xYz", true}, {"\\W", "A", false},
        {"[[:upper:]]", "a", true},      {"[_]", "\x7f", false},   {"@", "`", false},
        {"\xc3\xa4", "\xc3\x84", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(pattern_freep) struct pattern *pattern = NULL;

        CHECK_OK(pattern_new_folding(rows[i].pattern, &pattern, &test_err));
        if (pattern_matches(pattern, rows[i].in, strlen(rows[i].in)) !=
            rows[i].is_there)
            fail_msg("'%s' in '%s'", rows[i].pattern, rows[i].in);
    }
}

static void compare_folding(const char *text, const char *in)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;
    struct pattern_matcher *matcher;
    const struct pattern_literal *literal;
    struct find find;
    size_t count;
    bool is_there;
    regex_t regex;

    if (pattern_new_folding(text, &pattern, NULL) ||
        regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | REG_ICASE))
        return;
    is_there = pattern_matches(pattern, in, strlen(in));
    CHECK_OK(pattern_matcher_new(pattern, &matcher, &test_err));
    CHECK_EQ(pattern_matcher_finds(matcher, in, strlen(in)), is_there);
    CHECK_EQ(pattern_matcher_finds(matcher, in, strlen(in)), is_there); /* by heart */
    pattern_matcher_free(matcher);
    if (is_there != !regexec(&regex, in, 0, NULL, 0))
        fail_msg("'%s' in '%s'", text, in);
    regfree(&regex);
    count = pattern_literals(pattern, &literal);
    for (size_t i = 0; i < count; i++) {
        find_init(&find, literal[i].text, literal[i].len, true);
        if (find_in(&find, in, strlen(in)))
            return;
    }
    if (is_there && count)
        fail_msg("'%s' is in '%s' without any of its literals", text, in);
}

TEST(folding_agrees_with_the_c_library_and_matches_hold_their_literal)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(buf_done) struct buf in = BUF_INIT;
    struct rng rng;

    rng_seed(&rng, 8);
    for (int i = 0; i < 20000; i++) {
        random_text(&rng, "aAbBc.()|*+?$^", &text);
        random_text(&rng, "abcABC", &in);
        if (text.len)
            compare_folding(text.data, in.len ? in.data : "");
    }
}

TEST(a_match_is_where_its_first_end_is)
{
    enum { NOWHERE = 99 };
    static const struct {
        const char *pattern;
        const char *in;
        size_t begin, end; /* NOWHERE: it is not there */
    } rows[] = {
        {"step [0-9]+: oom", "step 1: ok step 2: ok step 99: oom step 3", 22, 34},
        {"a+b", "xaaaab", 4, 6},
        {"^a.*b", "ab ab", 0, 2},
        {"^b", "ab", NOWHERE, NOWHERE},
        {"b.*c$", "c bc bc c", 5, 9},
        {"c$", "c c", 2, 3},
        {"\\bon\\b", "only upon on", 10, 12},
        {"\\Bon", "on upon", 5, 7},
        {"\\<a|\\<b", "xa b", 3, 4},
        {"$", "ab", 2, 2},
        {"x*", "ab", 0, 0},
        {"(ab|b)c", "abc", 1, 3},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(pattern_freep) struct pattern *pattern = NULL;
        bool is_nowhere = rows[i].begin == NOWHERE;
        struct pattern_matcher *matcher;
        size_t begin = 0, end = 0;

        CHECK_OK(pattern_new(rows[i].pattern, &pattern, &test_err));
        CHECK_OK(pattern_matcher_new(pattern, &matcher, &test_err));
        CHECK_EQ(pattern_matcher_where(matcher, rows[i].in, strlen(rows[i].in), &begin,
                                       &end),
                 !is_nowhere);
        if (!is_nowhere && (begin != rows[i].begin || end != rows[i].end))
            fail_msg("'%s' in '%s': %zu to %zu", rows[i].pattern, rows[i].in, begin,
                     end);
        pattern_matcher_free(matcher);
    }
}

/* One matcher, many texts: also places between bytes, and more states than it keeps. */
static void compare_matcher(const char *text, const char *signs, bool folds)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;
    CLEANUP(buf_done) struct buf in = BUF_INIT;
    struct pattern_matcher *matcher;
    struct rng rng;

    rng_seed(&rng, 9);
    CHECK_OK(folds ? pattern_new_folding(text, &pattern, &test_err)
                   : pattern_new(text, &pattern, &test_err));
    CHECK_OK(pattern_matcher_new(pattern, &matcher, &test_err));
    for (int i = 0; i < 2000; i++) {
        size_t len = rng_u32(&rng) % 40;

        buf_clear(&in);
        while (len--)
            buf_putc(&in, signs[rng_u32(&rng) % strlen(signs)]);
        if (pattern_matcher_finds(matcher, in.data, in.len) !=
            pattern_matches(pattern, in.data, in.len))
            fail_msg("'%s' in '%.*s'", text, (int)in.len, in.data);
    }
    pattern_matcher_free(matcher);
}

TEST(a_matcher_finds_what_the_pattern_finds)
{
    static const char *const patterns[] = {"\\bab\\b",
                                           "\\Bab",
                                           "\\<a.*b\\>",
                                           "^a|b$",
                                           "^$",
                                           "^(a|b)+$",
                                           "a\\b b",
                                           "(a|b)*a(a|b){12}c",
                                           "[^a]b|\\W\\w{3}$",
                                           "b\\>$",
                                           "(^| )ab( |$)",
                                           "(.?){20}c$",
                                           "aab+c", /* what each match begins with */
                                           "aba\\b",
                                           "aab(a|b)*c$",
                                           "aba$",
                                           "(aba)+ ",
                                           "aab.*bba"};

    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        compare_matcher(patterns[i], "aabb cA_.", false);
        compare_matcher(patterns[i], "aabb cA_.", true);
    }
}

TEST(a_matcher_looks_at_the_beginning_of_a_long_text_only)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct pattern_matcher *matcher;

    times(&text, "b", PATTERN_TEXT_BYTES);
    CHECK_OK(pattern_new("b$|a", &pattern, &test_err));
    CHECK_OK(pattern_matcher_new(pattern, &matcher, &test_err));
    CHECK(pattern_matcher_finds(matcher, text.data, text.len));
    buf_putc(&text, 'a');
    CHECK(!pattern_matcher_finds(matcher, text.data, text.len));
    pattern_matcher_free(matcher);
}

TEST(a_matcher_without_memory_matches_as_slowly_as_the_pattern)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;

    CHECK_OK(pattern_new("(a|b){9}c+", &pattern, &test_err));
    EACH_ALLOCATION_FAILS() {
        struct pattern_matcher *matcher = NULL;
        det_status st = pattern_matcher_new(pattern, &matcher, NULL);
        size_t begin, end;

        if (st) {
            CHECK_EQ(st, DET_NOMEM);
        } else {
            CHECK(pattern_matcher_where(matcher, "xxababababaccx", 14, &begin, &end));
            CHECK(begin <= 2 && end >= 12 && end <= 14);
            CHECK(pattern_matcher_finds(matcher, "xxababababaccx", 14));
        }
        pattern_matcher_free(matcher);
    }
}

TEST(a_pattern_out_of_memory_is_no_pattern)
{
    EACH_ALLOCATION_FAILS() {
        struct pattern *pattern = NULL;
        det_status st = pattern_new("([a-z]|b){9}c+", &pattern, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        pattern_free(pattern);
    }
}
