/* SPDX-License-Identifier: Apache-2.0 */
/* pickle.h - reads Python's pickles without running them.
 *
 * A pickle is a program that builds objects.  This reader runs it on a machine whose
 * objects are descriptions: "the class collections.OrderedDict, called with no arguments,
 * then these items".  It imports nothing and calls nothing, so it is safe for any file.
 *
 * Two pickles of equal objects may differ in every byte behind the first string that one
 * of them repeats and the other one refers to (its memo).  pickle_compare() compares the
 * objects instead: dicts and sets in any order, OrderedDicts in theirs, and a shared
 * object like its copies.
 *
 * Protocols 2 to 5; the older ones, extension codes and out-of-band buffers are
 * DET_UNSUPPORTED. */
#ifndef DATA_PICKLE_PICKLE_H
#define DATA_PICKLE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_STR,
    PICKLE_BYTES, /* also a bytearray */
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT, /* items: key, value, key, value, ... */
    PICKLE_SET,  /* also a frozenset */
    PICKLE_GLOBAL,
    PICKLE_OBJECT,
    PICKLE_PERSISTENT, /* items: its id.  PyTorch's storages */
};

struct pickle {
    enum pickle_kind kind;
    double real;
    const char *text; /* STR, BYTES; INT: little-endian, two's complement, shortest */
    size_t len;
    struct pickle *module; /* GLOBAL: strings */
    struct pickle *name;
    struct pickle *maker; /* OBJECT: what is called */
    struct pickle *args;
    struct pickle *state;   /* NULL: none */
    struct pickle *entries; /* a DICT; NULL: none */
    struct pickle **items;
    size_t count;
    size_t cap;
    /* For pickle_compare(). */
    const struct pickle *twin; /* equal to this one, or being compared with it */
    struct pickle *trail;      /* the value that got a twin before this one */
};

/* Reads all pickles of `bytes` as one list.  The tree borrows from `bytes`.  DET_CORRUPT:
 * it is not a sequence of pickles; DET_UNSUPPORTED; DET_NOMEM. */
det_status pickle_parse(const void *bytes, size_t len, struct arena *mem,
                        struct pickle **ret_list, struct err *err);

enum pickle_result {
    PICKLE_EQUAL,
    PICKLE_DIFFERENT,
    PICKLE_UNDECIDED, /* too deep, or too much work */
};

struct pickle_rules {
    /* Compares the ids of two persistent objects, or their contents.  NULL: the ids. */
    bool (*is_same)(void *arg, const struct pickle *a, const struct pickle *b);
    /* Whether values with this key (a string) are not compared.  NULL: none. */
    bool (*is_ignored)(void *arg, const struct pickle *key);
    void *arg;
};

/* `ret_path`: where the first difference is, like "['state'][0]['momentum']"; cut if it is
 * longer than `path_size`.  Writes the `twin`s and `trail`s of `a`. */
enum pickle_result pickle_compare(struct pickle *a, struct pickle *b,
                                  const struct pickle_rules *rules, char *ret_path,
                                  size_t path_size);

/* Whether it is this string. */
bool pickle_is_str(const struct pickle *value, const char *text);

#endif
