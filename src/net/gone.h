/* SPDX-License-Identifier: Apache-2.0 */
/* gone.h - notices that the other side of a quiet connection has left. */
#ifndef NET_GONE_H
#define NET_GONE_H

#include "base/err.h"

struct gone;
struct gone_watch;

typedef void gone_fn(struct gone_watch *watch);

/* Embedded in what waits; its owner frees it after gone_remove(). */
struct gone_watch {
    gone_fn *fn;
    int fd; /* -1: not watched (any more) */
};

det_status gone_new(struct gone **ret_gone, struct err *err);
/* Nothing is watched any more. */
void gone_free(struct gone *gone);

/* Borrows `watch` and `fd`.  `fn` is called at most once, on the watcher's thread, with
 * no lock held; it may call gone_remove().  When the kernel
 * does not take it, nothing is noticed. */
void gone_add(struct gone *gone, struct gone_watch *watch, int fd, gone_fn *fn);
/* Afterwards `fn` is not running (unless this is called by it) and will not run.  Waits
 * for it: not to be called with a lock that `fn` takes.  May be called twice. */
void gone_remove(struct gone *gone, struct gone_watch *watch);

#endif
