/* SPDX-License-Identifier: Apache-2.0 */
/* create.h - what other commands that submit share with `det experiment create`. */
#ifndef CLI_CREATE_CREATE_H
#define CLI_CREATE_CREATE_H

struct cli;
struct json;

/* Prints the warnings in the master's reply to a submission. */
void create_show_warnings(struct cli *cli, const struct json *reply);

#endif
