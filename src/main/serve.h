/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h - `det serve` (master and agent) and `det master run` (master only). */
#ifndef MAIN_SERVE_H
#define MAIN_SERVE_H

struct serve_options;

/* Runs until a signal; returns the exit code. */
int serve_main(const struct serve_options *options);

#endif
