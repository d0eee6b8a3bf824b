/* SPDX-License-Identifier: Apache-2.0 */
/* serve_addresses.h - where other machines reach a master that listens on all addresses. */
#ifndef MAIN_SERVE_ADDRESSES_H
#define MAIN_SERVE_ADDRESSES_H

struct arena;
struct url;

/* "https://192.168.1.5:8080, https://10.0.0.3:8080": the addresses of this machine except
 * loopback, with scheme and port of `like`; "" if there are none, or `host` is not one
 * that stands for all (0.0.0.0, ::).  In `mem`. */
const char *serve_addresses(const char *host, const struct url *like,
                            struct arena *mem);

/* The address of this machine, and a second line with those of `others` unless that is
 * ""; in `mem`. */
const char *serve_addresses_both(const char *url, const char *others,
                                 struct arena *mem);
/* Prints such a text: the first line, which programs read, to stdout. */
void serve_addresses_print(const char *text);

#endif
