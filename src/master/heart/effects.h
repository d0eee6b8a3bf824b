/* SPDX-License-Identifier: Apache-2.0 */
/* effects.h - what the master does with each effect of the core.
 *
 * Rows are written first, all of a batch in one transaction (effects_write()).  After the
 * commit the actions follow (effects_carry_out()): commands to agents, waking of long
 * polls, notes for open pages.  An action may be carried out twice, because after a crash
 * the core derives it again from the rows; each is keyed by its allocation.
 *
 * To add a kind of effect: a member of enum core_effect_kind, and a case in each of the
 * two switches of effects.c and in the one of change_notes.c.  The compiler names the switch
 * that lacks one. */
#ifndef MASTER_HEART_EFFECTS_H
#define MASTER_HEART_EFFECTS_H

#include <stdbool.h>

#include "base/err.h"

struct arena;
struct core_out;
struct db;
struct master;

/* On the writer lane, inside the heart's job.  `mem` is scratch memory. */
det_status effects_write(struct master *master, struct db *db,
                         const struct core_out *out, struct arena *mem,
                         struct err *err);

/* On the heart lane, after the commit.  False: memory was short for at least one action;
 * the core must be restored from the rows, which derives it again. */
bool effects_carry_out(struct master *master, const struct core_out *out);

#endif
