/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h - looks at this host and asks the master; fills facts.h in and decides nothing.
 *
 * Each function fills one part.  Several checks share a part: the second call does nothing.
 * Nothing is changed: the one file that is written to measure the disk is removed at once,
 * and no master is started. */
#ifndef CLI_DOCTOR_GATHER_H
#define CLI_DOCTOR_GATHER_H

struct cli;
struct doctor_facts;

struct gather {
    struct cli *cli;
    const char *data_dir; /* NULL: the default */
};

void gather_disk(const struct gather *gather, struct doctor_facts *facts);
void gather_keys(const struct gather *gather, struct doctor_facts *facts);
void gather_limits(const struct gather *gather, struct doctor_facts *facts);
void gather_isolation(const struct gather *gather, struct doctor_facts *facts);
void gather_libraries(const struct gather *gather, struct doctor_facts *facts);
void gather_python(const struct gather *gather, struct doctor_facts *facts);
void gather_gpus(const struct gather *gather, struct doctor_facts *facts);
void gather_master(const struct gather *gather, struct doctor_facts *facts);
void gather_agents(const struct gather *gather, struct doctor_facts *facts);

#endif
