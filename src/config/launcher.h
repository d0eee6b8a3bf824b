/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - how many machines an entrypoint can use, as far as its text says. */
#ifndef CONFIG_LAUNCHER_H
#define CONFIG_LAUNCHER_H

struct json;

enum launcher_reach {
    REACH_UNKNOWN,  /* a script or a class; it may be one that uses a single agent */
    REACH_ONE_NODE, /* a launch layer that starts processes on one agent only */
    REACH_NODES     /* a launch layer that uses all agents of its task */
};

/* `entrypoint` is a command, a list of its words, or NULL. */
enum launcher_reach launcher_reach(const struct json *entrypoint);

#endif
