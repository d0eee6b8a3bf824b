/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - the keys that a configuration file may have, as a table.
 *
 * A row describes one key.  Its path names members with dots, list elements with `[]`
 * and the members of a map with free names with `*`:
 *
 *   resources.slots_per_trial    bind_mounts[].host_path    environment.ports.*
 *
 * Rows of one level are in the order of the complete tree.  A map whose keys depend on
 * one of its members (searcher by name, checkpoint_storage by type) names that member in
 * `union_key`; the rows below it list their kinds in `kinds`.  Two rows may have the same
 * path if their kinds differ.
 *
 * Every key is refused (`refuse`, `not_built`), does nothing with a notice (`no_effect`), or
 * is used: tests/meta/key-uses.txt names the code, and tools/check-keys looks for it there.
 *
 * null means "not set" for every key.  An absent key takes its default; a key without
 * a default is left out of the complete tree. */
#ifndef CONFIG_KEYS_KEY_H
#define CONFIG_KEYS_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
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
    KEY_FREE = 1 << 1,       /* its content is not checked */
    KEY_NOT_EMPTY = 1 << 2,  /* "" and [] are refused */
    KEY_SECRET = 1 << 3,     /* never shown in messages */
    KEY_RELOADABLE = 1 << 4, /* takes effect without a restart */
    KEY_DEPRECATED = 1 << 5, /* works; new files should not use it */
    KEY_DROPPED = 1 << 6,    /* not in the complete tree */
};

enum key_bound { KEY_NO_BOUND, KEY_MIN, KEY_RANGE, KEY_ABOVE };

struct key_bounds {
    enum key_bound kind;
    double min; /* KEY_ABOVE: exclusive */
    double max;
};

struct config_key {
    const char *path;
    uint32_t types;      /* enum key_type */
    uint32_t flags;      /* enum key_flag */
    const char *def;     /* JSON; NULL: none */
    const char *example; /* for required keys without a default, so the file
                            of defaults is valid; maps: "" */
    struct key_bounds bounds;
    const char *const *words;       /* the strings allowed; ends with NULL */
    const char *const *later_words; /* of these, those not built yet */
    const char *union_key;          /* maps: the member that names the kind */
    const char *kinds;              /* separated by spaces; NULL: every kind */
    const char *not_built;          /* the message; refused if the value is set */
    const char *refuse;             /* the message; always refused */
    const char *no_effect; /* why it does nothing; accepted with this notice, unless the
                              value is empty or the default */
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

/* The row of member `name` below `pattern` ("" at the top) in a map of `kind` (NULL:
 * any), or NULL. */
const struct config_key *key_child(const struct key_table *table, const char *pattern,
                                   const char *name, const char *kind);
/* The name of `row` below `pattern`: "max_trials", "*" or "[]"; NULL if it is not
 * directly below. */
const char *key_name_below(const struct config_key *row, const char *pattern);
bool key_fits_kind(const struct config_key *row, const char *kind);

/* Whether `words` (ends with NULL, may be NULL) contains the word. */
bool key_has_word(const char *const *words, const char *word);
/* The values the row accepts: "a whole number >= 1", "one of best, all, none"; only words
 * that are built. */
void key_expects(const struct config_key *row, struct buf *out);
/* The value that was found: "'many'", "3", "a list"; of secrets only the type. */
void key_found(const struct config_key *row, const struct json *value, struct buf *out);

/* "1h30m", "25s", "300": whole seconds, rounded up. */
bool key_parse_duration(const char *text, int64_t *ret_seconds);

#endif
