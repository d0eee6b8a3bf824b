/* SPDX-License-Identifier: Apache-2.0 */
/* methods.h - the search methods by name. */
#ifndef SEARCH_METHODS_H
#define SEARCH_METHODS_H

struct search_method;

/* NULL if there is no such method. */
const struct search_method *search_method_find(const char *name);

#endif
