/* SPDX-License-Identifier: Apache-2.0 */
/* flood.h - as if all users together held all memory that the master has for requests. */
#ifndef TESTS_API_FLOOD_H
#define TESTS_API_FLOOD_H

struct master;

void flood_begin(struct master *master);
void flood_end(struct master *master);

#endif
