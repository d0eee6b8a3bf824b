/* SPDX-License-Identifier: Apache-2.0 */
/* check_list.h - every check of `det doctor`, one row each:
 *
 *   X(id, "name", scope, facts, "what it looks at")
 *
 * checks.c makes the table of it, with the functions gather_<facts>() (gather.h), which
 * looks, and judge_<id>() (judge.h), which decides.  The help, the man page and the guide
 * list the rows.  To add a check: a row here, its facts in facts.h, and the two
 * functions. */
#ifndef CLI_DOCTOR_CHECK_LIST_H
#define CLI_DOCTOR_CHECK_LIST_H

/* clang-format off */
#define DOCTOR_CHECKS(X)                                                                                    \
    X(space,         "space",         HOST,    disk,          "free space where the data directory is")     \
    X(sync,          "sync",          HOST,    disk,          "how long the disk takes to make a write durable") \
    X(file_system,   "file-system",   HOST,    disk,          "its type, and whether its locks work")       \
    X(directory,     "directory",     HOST,    disk,          "owner and permissions of the data directory") \
    X(keys,          "keys",          HOST,    keys,          "permissions of keys, tokens and sessions")   \
    X(open_files,    "open-files",    HOST,    limits,        "how many files a process may open")          \
    X(processes,     "processes",     HOST,    limits,        "how many processes and threads there may be") \
    X(namespaces,    "namespaces",    HOST,    isolation,     "whether tasks can be isolated")              \
    X(control_group, "control-group", HOST,    isolation,     "whether a task's memory and processes can be limited") \
    X(libraries,     "libraries",     HOST,    libraries,     "libraries that are opened at run time")      \
    X(libdet,        "libdet",        HOST,    libraries,     "the library for C programs, and its version") \
    X(python,        "python",        HOST,    python,        "python3, the Python package, and its version") \
    X(gpus,          "gpus",          HOST,    gpus,          "GPUs, their driver and its library")         \
    X(master,        "master",        CLUSTER, agents,        "whether the master answers, and can store data") \
    X(certificate,   "certificate",   CLUSTER, master,        "validity and names of the master's certificate") \
    X(clocks,        "clocks",        CLUSTER, agents,        "clocks of this host, the master and the agents") \
    X(versions,      "versions",      CLUSTER, agents,        "versions of this program, the master and the agents") \
    X(agents,        "agents",        CLUSTER, agents,        "each agent's last sign of life")             \
    X(agent_disks,   "agent-disks",   CLUSTER, agents,        "free space where agents keep their tasks")
/* clang-format on */

#define DOCTOR_HELP_LINE(id, name, scope, facts, text) name ": " text "\n"
/* For the command's help: a line for each check. */
#define DOCTOR_HELP DOCTOR_CHECKS(DOCTOR_HELP_LINE)

#endif
