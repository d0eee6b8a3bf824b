/* SPDX-License-Identifier: Apache-2.0 */
/* locks.h - every lock that the master's threads take, what it guards, and their order.
 *
 * Most of the master needs no lock: the heart, the writer's connection and the janitor's
 * work belong to lanes of width 1, and a request belongs to the code that runs it.  Locks
 * are held for a few lines, and never while waiting, reading or writing.  One exception: a
 * reader of the table of experiments holds its lock while it reads the changed rows, and
 * other readers wait.
 *
 *    level  lock                                guards
 *    -----  ----------------------------------  -------------------------------------------
 *      1    agents      (rm/agents.c)           queues of commands, signs of life
 *      1    janitor     (janitor.c)             whether it is busy, and was woken meanwhile
 *      1    collector   (collector.c)           likewise, and the time of the next check
 *      1    rendezvous  (rendezvous.c)          meetings and their guests
 *      1    callers     (caller_cache.c)        cached callers
 *      1    logins      (login_limit.c)         counts of failed logins
 *      1    pacer       (pacer.c)               whether it runs, and when somebody listened
 *      1    activity    (proxy_activity.c)      when programs behind the proxy were used
 *      1    policies    (log_policies.c)        compiled log policies and their users
 *      1    sign-in     (signin.c)              sign-ins that were completed
 *      1    oidc        (signin/oidc.c)         the provider's documents
 *      1    handovers   (signin/handover.c)     sign-ins that wait for a person
 *      1    roster look (store/roster/roster.c) the rows of the table of experiments
 *      1    store       (store.c)               the writer's queue, idle readers
 *      2    changes     (changes.c)             the list of recent changes
 *      2    heart       (heart.c)               the queue of events, whether `run` is posted
 *      2    roster note (store/roster/roster.c) which of its rows have changed
 *      2    relay       (net/relay.c)           a relayed request: its rings
 *      2    leash       (request_relay.c)       whether a relay is over, or is still watched
 *      3    log watch   (watch/log_tail.c)      whom to tell of a new line of the log
 *      4    waits       (waits.c)               waiters by key
 *      5    server      (server_http.c)         exchanges and their phases
 *      6    watcher     (net/client_watch.c)    sockets whose clients may leave
 *      7    executor    (executor_threads.c)    queues of lanes, due times, gates
 *      8    log lines   (watch/log_tail.c)      the last lines of the log
 *
 * Every line of the log takes the two locks of log_tail.c, one after the other.  So nobody
 * logs while holding a lock of level 3 or higher; the rooms below the master never log.
 *
 * A thread that holds a lock takes only locks of a higher level.  These chains exist:
 *
 *    agents -> heart -> executor     an agent fell silent, or is back
 *    janitor, collector -> executor  the next step is posted
 *    roster look -> roster note      a reader takes over the changes
 *    pacer -> changes -> executor    the first listener joins, or the last one has left
 *    changes -> executor             a change was noted: readers are woken soon
 *    waits -> server -> watcher      a long poll parks and watches its client
 *    waits -> server                 a stream is woken
 *    relay -> server                 likewise, by the program behind the proxy
 *    waits -> executor               a waiter is woken
 *    log watch -> waits -> server    a line was logged, and somebody follows the log
 *    leash -> executor               the timer that watches a relay's session is set
 *
 * Callbacks run under a lock in three places only: wake() and parked() of a waiter, noted()
 * of the changes, and the watch of the log.  They post work, watch clients and wake waiters,
 * nothing else.
 *
 * To add a lock: a row here, `lock_init()` beside the data it guards, and a comment at the
 * member that names what follows it. */
#ifndef MASTER_LOCKS_H
#define MASTER_LOCKS_H

#endif
