/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles are read without running them, and compared by what they build. */
#include <string.h>

#include "base/memory/arena.h"
#include "data/pickle/pickle.h"
#include "tests/support/test.h"

struct bytes {
    const char *at;
    size_t len;
};
#define BYTES(text)                                                                    \
    {                                                                                  \
        text, sizeof(text) - 1                                                         \
    }

/* Python's pickle.dumps() of the objects in the comments. */
static const struct bytes SHARED =
    BYTES("\200\002]q\000(X\004\000\000\000nameq\001h\001"
          "e."); /* s = 'name'; [s, s] */
static const struct bytes COPIED =
    BYTES("\200\002]q\000(X\004\000\000\000nameq\001X\004\000\000\000nameq\002e.");
static const struct bytes NESTED =
    BYTES("\200\004}\224\214\005state\224]\224}\224\214\001m\224G\077\370\000\000\000"
          "\000\000\000sas."); /* {'state': [{'m': 1.5}]} */
static const struct bytes NESTED_TOO =
    BYTES("\200\004}\224\214\005state\224]\224}\224\214\001m\224G@\004\000\000\000"
          "\000\000\000sas."); /* {'state': [{'m': 2.5}]} */

struct result {
    enum pickle_result result;
    char path[64];
};

static bool is_m(void *arg, const struct pickle *key)
{
    (void)arg;
    return pickle_is_str(key, "m");
}

static struct result compare_by(struct bytes a, struct bytes b,
                                const struct pickle_rules *rules)
{
    struct arena mem = ARENA_INIT(16 << 20);
    struct pickle *x = NULL, *y = NULL;
    struct result result = {.result = PICKLE_UNDECIDED};

    CHECK_OK(pickle_parse(a.at, a.len, &mem, &x, &test_err));
    CHECK_OK(pickle_parse(b.at, b.len, &mem, &y, &test_err));
    CHECK_EQ(x->count, 1);
    result.result = pickle_compare(x->items[0], y->items[0], rules, result.path,
                                   sizeof(result.path));
    arena_done(&mem);
    return result;
}

static struct result compare(struct bytes a, struct bytes b)
{
    static const struct pickle_rules none = {0};

    return compare_by(a, b, &none);
}

TEST(an_object_that_is_shared_equals_its_copies)
{
    CHECK_EQ(compare(SHARED, COPIED).result, PICKLE_EQUAL);
    CHECK_EQ(compare(COPIED, SHARED).result, PICKLE_EQUAL);
}

TEST(the_first_difference_has_a_path)
{
    struct pickle_rules without_m = {.is_ignored = is_m};
    struct result result = compare(NESTED, NESTED_TOO);

    CHECK_EQ(result.result, PICKLE_DIFFERENT);
    CHECK_STR(result.path, "['state'][0]['m']");
    CHECK_EQ(compare(NESTED, SHARED).result, PICKLE_DIFFERENT);
    CHECK_EQ(compare_by(NESTED, NESTED_TOO, &without_m).result, PICKLE_EQUAL);
}

TEST(negative_keys_have_their_sign_in_the_path)
{
    static const struct bytes one = BYTES("\200\002}J\377\377\377\377K\001s.");
    static const struct bytes two = BYTES("\200\002}J\377\377\377\377K\002s.");
    static const struct bytes more = BYTES("\200\002}J\000\377\377\377K\001s.");
    static const struct bytes most = BYTES("\200\002}J\000\377\377\377K\002s.");

    CHECK_STR(compare(one, two).path, "[-1]");
    CHECK_STR(compare(more, most).path, "[-256]");
}

TEST(pairs_are_equal_or_not_as_python_says)
{
    static const struct {
        struct bytes a, b;
        enum pickle_result result;
    } rows[] = {
        /* {'a': 1, 'b': 2} and {'b': 2, 'a': 1} */
        {BYTES("\200\004}\224(\214\001a\224K\001\214\001b\224K\002u."),
         BYTES("\200\004}\224(\214\001b\224K\002\214\001a\224K\001u."), PICKLE_EQUAL},
        /* the same with 3 */
        {BYTES("\200\004}\224(\214\001a\224K\001\214\001b\224K\002u."),
         BYTES("\200\004}\224(\214\001a\224K\001\214\001b\224K\003u."),
         PICKLE_DIFFERENT},
        /* the same as OrderedDict: the order counts */
        {BYTES("\200\004\214\013collections\224\214\013OrderedDict\224\223\224)R\224("
               "\214\001a\224K\001\214\001b\224K\002u."),
         BYTES("\200\004\214\013collections\224\214\013OrderedDict\224\223\224)R\224("
               "\214\001b\224K\002\214\001a\224K\001u."),
         PICKLE_DIFFERENT},
        {BYTES("\200\004\214\013collections\224\214\013OrderedDict\224\223\224)R\224("
               "\214\001a\224K\001\214\001b\224K\002u."),
         BYTES("\200\002ccollections\012OrderedDict\012q\000)Rq\001("
               "X\001\000\000\000aK\001X\001\000\000\000bK\002u."),
         PICKLE_EQUAL},
        /* {1, 2} of protocols 4 and 2, in another order */
        {BYTES("\200\004\217\224(K\001K\002\220."),
         BYTES(
             "\200\002c__builtin__\012set\012q\000]q\001(K\002K\001e\205q\002Rq\003."),
         PICKLE_EQUAL},
        {BYTES("\200\004\217\224(K\001K\002\220."), BYTES("\200\004(K\001K\003\221."),
         PICKLE_DIFFERENT},
        /* 1 as one, two, four and many bytes; -1 and 255 */
        {BYTES("\200\002K\001."), BYTES("\200\002M\001\000."), PICKLE_EQUAL},
        {BYTES("\200\002J\001\000\000\000."), BYTES("\200\002\212\002\001\000."),
         PICKLE_EQUAL},
        {BYTES("\200\002J\377\377\377\377."), BYTES("\200\002\212\001\377."),
         PICKLE_EQUAL},
        {BYTES("\200\002K\377."), BYTES("\200\002\212\001\377."), PICKLE_DIFFERENT},
        {BYTES("\200\002K\000."), BYTES("\200\002\212\000."), PICKLE_EQUAL},
        /* 0.0 and -0.0: all bits count */
        {BYTES("\200\002G\000\000\000\000\000\000\000\000."),
         BYTES("\200\002G\200\000\000\000\000\000\000\000."), PICKLE_DIFFERENT},
        /* (None, True) and (None, False) */
        {BYTES("\200\002N\210\206."), BYTES("\200\002N\211\206."), PICKLE_DIFFERENT},
        {BYTES("\200\002N\210\206."), BYTES("\200\002(N\210t."), PICKLE_EQUAL},
        /* b'x' and 'x' */
        {BYTES("\200\004C\001x."), BYTES("\200\004\214\001x."), PICKLE_DIFFERENT},
        /* lists that contain themselves */
        {BYTES("\200\004]\224h\000a."), BYTES("\200\004]\224h\000a."), PICKLE_EQUAL},
        /* Fraction(1, 3) and Fraction(1, 2) */
        {BYTES("\200\002cfractions\012Fraction\012K\001K\003\206R."),
         BYTES("\200\002cfractions\012Fraction\012K\001K\002\206R."), PICKLE_DIFFERENT},
        /* objects with other states */
        {BYTES("\200\002cm\012C\012)\201}X\001\000\000\000xK\001sb."),
         BYTES("\200\002cm\012C\012)\201}X\001\000\000\000xK\002sb."),
         PICKLE_DIFFERENT},
        {BYTES("\200\002cm\012C\012)\201}X\001\000\000\000xK\001sb."),
         BYTES("\200\002cm\012D\012)\201}X\001\000\000\000xK\001sb."),
         PICKLE_DIFFERENT},
        /* pickles that repeat an element or a key: {1} and {1, 2}; {'a': 1} and
         * {'a': 1, 'b': 2} */
        {BYTES("\200\004\217\224(K\001K\001\220."),
         BYTES("\200\004\217\224(K\001K\002\220."), PICKLE_DIFFERENT},
        {BYTES("\200\004}\224(\214\001a\224K\001\214\001a\224K\001u."),
         BYTES("\200\004}\224(\214\001a\224K\001\214\001b\224K\002u."),
         PICKLE_DIFFERENT},
        /* {p, q} and {q, p}: p.tag = 2, q.tag = 1, q.child.parent = q; p.child has the
         * parent p in the first pickle, but is the child of q in the second */
        {BYTES("\200\002c__builtin__\012set\012](cm\012N\012q\000)\201q\001}("
               "X\005\000\000\000childq\002h\000)\201}"
               "X\006\000\000\000parentq\003h\001sb"
               "X\003\000\000\000tagq\004K\002ubh\000)\201q\005}(h\002h\000)\201}h\003"
               "h\005sbh\004K\001ube\205R."),
         BYTES("\200\002c__builtin__\012set\012](cm\012N\012q\000)\201q\001}("
               "X\005\000\000\000childq\002h\000)\201q\003}X\006\000\000\000parenth\001"
               "sbX\003\000\000\000tagq\004K\001ubh\000)\201}(h\002h\003h\004K\002ube"
               "\205R."),
         PICKLE_DIFFERENT},
        /* persistent ids */
        {BYTES("\200\002X\001\000\000\000xQ."), BYTES("\200\002X\001\000\000\000xQ."),
         PICKLE_EQUAL},
        {BYTES("\200\002X\001\000\000\000xQ."), BYTES("\200\002X\001\000\000\000yQ."),
         PICKLE_DIFFERENT},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CHECK_EQ(compare(rows[i].a, rows[i].b).result, rows[i].result);
        CHECK_EQ(compare(rows[i].b, rows[i].a).result, rows[i].result);
        CHECK_EQ(compare(rows[i].a, rows[i].a).result, PICKLE_EQUAL);
    }
}

TEST(several_pickles_are_a_list)
{
    static const struct bytes two = BYTES("\200\002K\001.\200\004N.");
    struct arena mem = ARENA_INIT(1 << 20);
    struct pickle *list = NULL;

    CHECK_OK(pickle_parse(two.at, two.len, &mem, &list, &test_err));
    CHECK_EQ(list->count, 2);
    CHECK_EQ(list->items[1]->kind, PICKLE_NONE);
    arena_done(&mem);
}

TEST(damaged_and_foreign_bytes_are_refused)
{
    static const struct {
        struct bytes bytes;
        det_status status;
    } rows[] = {
        {BYTES(""), DET_CORRUPT},
        {BYTES("text"), DET_CORRUPT},
        {BYTES("\200\002"), DET_CORRUPT},
        {BYTES("\200\002."), DET_CORRUPT},
        {BYTES("\200\002K\001K\002."), DET_CORRUPT},
        {BYTES("\200\002X\377\377\377\377x."), DET_CORRUPT},
        {BYTES("\200\002h\005."), DET_CORRUPT},
        {BYTES("\200\002Nr\377\377\377\177."), DET_CORRUPT},
        {BYTES("\200\002Na."), DET_CORRUPT},
        {BYTES("\200\002}K\001a."), DET_CORRUPT},
        {BYTES("\200\002}(K\001u."), DET_CORRUPT},
        {BYTES("\200\002]K\001K\002s."), DET_CORRUPT},
        {BYTES("\200\002e."), DET_CORRUPT},
        {BYTES("\200\002(\205."), DET_CORRUPT},
        {BYTES("\200\002cos\012system"), DET_CORRUPT},
        {BYTES("\200\001N."), DET_UNSUPPORTED},
        {BYTES("\200\006N."), DET_UNSUPPORTED},
        {BYTES("\200\005\227."), DET_UNSUPPORTED},
        {BYTES("\200\002I1\012."), DET_UNSUPPORTED},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct arena mem = ARENA_INIT(1 << 20);
        struct pickle *list;

        CHECK_EQ(pickle_parse(rows[i].bytes.at, rows[i].bytes.len, &mem, &list, NULL),
                 rows[i].status);
        arena_done(&mem);
    }
}

/* Each put may leave a gap, but all of them together need no more memory than the file. */
TEST(the_memo_is_not_larger_than_the_pickle)
{
    static const struct bytes gap = BYTES("\200\002Nr\010\000\000\0000N.");
    static const struct bytes gaps = BYTES("\200\002Nr\016\000\000\000r\030\000\000\000"
                                           "0N0N0N0N.");
    struct arena mem = ARENA_INIT(1 << 20);
    struct pickle *list;

    CHECK_OK(pickle_parse(gap.at, gap.len, &mem, &list, &test_err));
    CHECK_EQ(pickle_parse(gaps.at, gaps.len, &mem, &list, NULL), DET_CORRUPT);
    arena_done(&mem);
}

TEST(too_deep_nesting_is_not_decided)
{
    enum { DEPTH = 5000 };
    static char text[2 * DEPTH + 3] = "\200\002N";
    struct bytes deep = {text, sizeof(text)};

    memset(text + 3, '\205', DEPTH); /* (((...None,),),) */
    text[3 + DEPTH] = '.';
    deep.len = 3 + DEPTH + 1;
    CHECK_EQ(compare(deep, deep).result, PICKLE_UNDECIDED);
}

TEST(reading_survives_each_failing_allocation)
{
    EACH_ALLOCATION_FAILS() {
        struct arena mem = ARENA_INIT(1 << 20);
        struct pickle *list = NULL;
        det_status st = pickle_parse(NESTED.at, NESTED.len, &mem, &list, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        arena_done(&mem);
    }
}
