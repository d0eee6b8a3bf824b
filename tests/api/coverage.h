/* SPDX-License-Identifier: Apache-2.0 */
/* coverage.h - which routes the API tests have called.
 *
 * The suite consists of several programs.  When a program ends, it writes the routes
 * that it has called to the file $API_ROUTES_DIR/NAME, one "METHOD path" per line,
 * where test_api_NAME is its own name.  test_routes.c reads these files.  A file that
 * is older than its program is stale: the program was built again and has not run
 * since.  Without API_ROUTES_DIR nothing is written. */
#ifndef TESTS_API_COVERAGE_H
#define TESTS_API_COVERAGE_H

#include <stdbool.h>

#include "net/net.h"

/* Notes the route of a call; a path without a route is ignored. */
void coverage_note(enum net_method method, const char *path);

/* Sets called[ROUTE_COUNT] from the file of the program test_api_NAME.  False: the file
 * is absent or stale. */
bool coverage_read(const char *name, bool *called);

#endif
