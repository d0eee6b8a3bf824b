/* SPDX-License-Identifier: Apache-2.0 */
/* determinism.h - what reproducibility.deterministic sets for a trial's processes.
 *
 * These variables reach every program.  The package `determined` reads the first of them and
 * does the rest in a Python program that imports it: what only a call can set, and seeds
 * (pylib/determined/_determinism.py). */
#ifndef MODEL_DETERMINISM_H
#define MODEL_DETERMINISM_H

#include <stdbool.h>
#include <stddef.h>

struct json;

#define DETERMINISM_MARK "DET_DETERMINISTIC"
#define DETERMINISM_HASH "PYTHONHASHSEED" /* the seed of the trial */

struct determinism_variable {
    const char *name;
    const char *value;
};
extern const struct determinism_variable determinism_variables[];
extern const size_t determinism_variable_count;

/* Whether a complete configuration asks for it. */
bool determinism_is_wanted(const struct json *config);

#endif
