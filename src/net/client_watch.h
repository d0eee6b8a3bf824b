/* SPDX-License-Identifier: Apache-2.0 */
/* client_watch.h - notices that the client of a suspended connection has left. */
#ifndef NET_CLIENT_WATCH_H
#define NET_CLIENT_WATCH_H

#include "base/err.h"

struct client_watch;
struct client_watch_entry;

typedef void client_watch_fn(struct client_watch_entry *entry);

/* Embedded in the object that waits.  The owner may free it after
 * client_watch_remove(). */
struct client_watch_entry {
    client_watch_fn *fn;
    int fd; /* -1: not watched */
};

det_status client_watch_new(struct client_watch **ret_watch, struct err *err);
/* Only after every entry was removed. */
void client_watch_free(struct client_watch *watch);

/* Borrows `entry` and `fd`.  Calls `fn` at most once, on the watcher's thread, without a
 * lock; `fn` may call client_watch_remove().  If the kernel refuses to watch `fd`, `fn`
 * is never called. */
void client_watch_add(struct client_watch *watch, struct client_watch_entry *entry,
                      int fd, client_watch_fn *fn);
/* After this returns, `fn` will not run.  Waits while `fn` runs, unless `fn` itself calls
 * this: do not hold a lock that `fn` takes.  May be called twice. */
void client_watch_remove(struct client_watch *watch, struct client_watch_entry *entry);

#endif
