/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - describes what a run ran on, for its record.
 *
 * The record contains nothing that is specific to one run: runs of the same code with
 * the same packages on the same machine have equal records, and the master stores them
 * once. */
#ifndef AGENT_ENV_MACHINE_H
#define AGENT_ENV_MACHINE_H

#include "base/err.h"

struct arena;
struct field_strs;
struct io;
struct json_writer;

/* Members of an object that is open: det, host, os, kernel, libc, cpu, memory, gpus. */
void machine_write(struct json_writer *w, struct io *io, const struct field_strs *gpus,
                   struct arena *mem);

/* ---- for tests ------------------------------------------------------------------- */

/* The value of KEY in lines "KEY<separator>value", without quotes; "" for none. */
const char *machine_value(const char *text, const char *key, char separator,
                          struct arena *mem);

#endif
