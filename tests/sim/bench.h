/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - how many events per second the core handles. */
#ifndef TESTS_SIM_BENCH_H
#define TESTS_SIM_BENCH_H

/* Prints a line for each size; returns the exit status. */
int bench_run(void);

#endif
