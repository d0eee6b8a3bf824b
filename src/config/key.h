/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - what a configuration file may hold, as a table of keys.
 *
 * A row describes one key.  Its path names members with dots, list elements with `[]`
 * and the members of a map with free names with `*`:
 *
 *   resources.slots_per_trial    bind_mounts[].host_path    environment.ports.*
 *
 * Rows of one level stand in the order in which the complete tree shows them.  A map
 * whose keys depend on one of its members (searcher by name, checkpoint_storage by
 * type) names that member in `union_key`; the rows below it say in `kinds` where they
 * belong. Two rows may share a path when their kinds differ.
 *
 * null means "not set" for every key.  An absent key takes its default; a key without
 * a default is left out of the complete tree. */
#ifndef CONFIG_KEY_H
#define CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct config_report;
struct json;

enum key_type {
    KEY_STR = 1 << 0,
    KEY_PATH = 1 << 1, /* a string that starts with '/' */
    KEY_INT = 1 << 2,
    KEY_NUM = 1 << 3,
    KEY_BOOL = 1 << 4,
    KEY_LIST = 1 << 5,
    KEY_MAP = 1 << 6,
    KEY_LENGTH = 1 << 7,   /* {batches: N}, {records: N} or {epochs: N} */
    KEY_SIZE = 1 << 8,     /* "4GiB" or bytes; complete: bytes */
    KEY_DURATION = 1 << 9, /* "1h30m" or seconds; complete: seconds */
    KEY_ANY = KEY_STR | KEY_NUM | KEY_BOOL | KEY_LIST | KEY_MAP,
};

enum key_flag {
    KEY_REQUIRED = 1 << 0,
    KEY_FREE = 1 << 1,       /* what is inside is not looked at */
    KEY_NOT_EMPTY = 1 << 2,  /* "" and [] are refused */
    KEY_SECRET = 1 << 3,     /* never shown in messages */
    KEY_RELOADABLE = 1 << 4, /* takes effect without a restart */
    KEY_DEPRECATED = 1 << 5, /* works; new files should not use it */
    KEY_IGNORED = 1 << 6,    /* accepted with a notice; has no effect */
    KEY_DROPPED = 1 << 7,    /* not in the complete tree */
};

enum key_bound { KEY_NO_BOUND, KEY_MIN, KEY_RANGE, KEY_ABOVE };

struct key_bounds {
    enum key_bound kind;
    double min; /* KEY_ABOVE: not itself allowed */
    double max;
};

struct config_key {
    const char *path;
    uint32_t types;      /* enum key_type */
    uint32_t flags;      /* enum key_flag */
    const char *def;     /* JSON; NULL: none */
    const char *example; /* of what is required and has no default, for a file of
                            defaults that is valid; maps: "" */
    struct key_bounds bounds;
    const char *const *words;       /* the strings allowed; ends with NULL */
    const char *const *later_words; /* of these, those not built yet */
    const char *union_key;          /* maps: the member that tells the kind */
    const char *kinds;     /* space between; NULL: every kind of the map around */
    const char *not_built; /* the sentence; refused when it is set to something */
    const char *refuse;    /* the sentence; always refused */
    const char *help;      /* at most 60 columns */
};

#define KEY(type, path_, ...)                                                          \
    {                                                                                  \
        .path = (path_), .types = (type), __VA_ARGS__                                  \
    }
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AT_LEAST(n)                                                                    \
    {                                                                                  \
        KEY_MIN, (n), 0                                                                \
    }
#define FROM_TO(a, b)                                                                  \
    {                                                                                  \
        KEY_RANGE, (a), (b)                                                            \
    }
#define ABOVE(n)                                                                       \
    {                                                                                  \
        KEY_ABOVE, (n), 0                                                              \
    }

struct key_table {
    const struct config_key *keys;
    size_t count;
};

/* The tables. */
struct key_table experiment_table(void);
struct key_table master_table(void);
struct key_table agent_table(void);
struct key_table job_table(void);

/* Reports everything in `tree` that the table does not allow. */
void key_check(const struct key_table *table, const struct json *tree,
               struct config_report *report);
/* The same for one map that the row's table does not reach by itself (what is inside a
 * KEY_FREE key): `row` describes it, `path` is where it is. */
void key_check_map(const struct key_table *table, const struct config_key *row,
                   const struct json *map, const char *path,
                   struct config_report *report);
/* A new tree in `mem`: every key in the table's order, defaults filled in, sizes and
 * durations as numbers.  Expects a tree that key_check() passed.  NULL: out of memory.
 */
struct json *key_complete(const struct key_table *table, const struct json *tree,
                          struct arena *mem);

struct json *key_complete_map(const struct key_table *table,
                              const struct config_key *row, const struct json *map,
                              struct arena *mem);

/* The row of member `name` below `pattern` ("" at the top) in a map of `kind` (NULL:
 * any), or NULL. */
const struct config_key *key_child(const struct key_table *table, const char *pattern,
                                   const char *name, const char *kind);
/* The name that `row` has below `pattern`: "max_trials", "*" or "[]"; NULL when it is
 * not directly below. */
const char *key_name_below(const struct config_key *row, const char *pattern);
bool key_fits_kind(const struct config_key *row, const char *kind);

/* Whether a list that ends with NULL, or is NULL, has the word. */
bool key_has_word(const char *const *words, const char *word);
/* What the row accepts: "a whole number >= 1", "one of best, all, none"; of words only
 * those that are built. */
void key_expects(const struct config_key *row, struct buf *out);
/* What was found: "'many'", "3", "a list"; secrets only by their kind. */
void key_found(const struct config_key *row, const struct json *value, struct buf *out);

/* "1h30m", "25s", "300": whole seconds, rounded up. */
bool key_parse_duration(const char *text, int64_t *ret_seconds);

#endif
