/* SPDX-License-Identifier: Apache-2.0 */
/* locks.h - every lock that the master's threads take, what it guards, and their order.
 *
 * Most of what the master holds needs none: the heart, the writer's connection and the
 * janitor's work belong to lanes of width 1, a request to whoever has it in hand. Locks
 * are for what is left, are held for a few lines, and never while waiting, reading or
 * writing.  One is an exception: whoever looks at the table of experiments holds it
 * while he reads what has changed, and others who want to look wait for him.
 *
 *    level  lock                      guards
 *    -----  ------------------------ --------------------------------------------------
 *      1    agents   (rm/agents.c)    queues of commands, signs of life
 *      1    janitor  (janitor.c)      whether it is at work, and was woken meanwhile
 *      1    collector (collector.c)   likewise, and when it looks next
 *      1    gathers  (gather.c)       meetings and who sits in them
 *      1    known    (known.c)        callers that were looked up before
 *      1    pacer    (pacer.c)        whether changes are noted and their readers woken
 *      1    proxies  (proxies.c)     when programs behind us were last talked to
 *      1    policies (policies.c)     compiled log policies, and who uses them
 *      1    roster   (store/roster.c) the rows of the table of experiments (`look`)
 *      1    store    (store.c)        the writer's queue, idle readers
 *      2    changes  (changes.c)      what has changed lately
 *      2    heart    (heart.c)        the queue of events, whether the lane is posted
 *      2    roster   (store/roster.c) which of its rows have changed (`note`)
 *      2    waits    (wait.c)         who waits for which key
 *      2    relay    (net/relay.c)    a request that was handed on: its rings
 *      3    server   (server_http.c)  exchanges and their phases
 *      4    watcher  (net/gone.c)     sockets whose clients may leave
 *      5    executor (exec_threads.c) queues of lanes, due times, gates
 *
 * Who holds a lock takes only locks of a higher level.  What happens today:
 *
 *    agents -> heart -> executor     an agent has fallen silent, or is back
 *    janitor, collector -> executor  the next chore is posted
 *    roster look -> roster note      what has changed is taken over
 *    pacer -> changes -> executor    somebody listens, or nobody does any more
 *    changes -> executor             something was noted: readers are woken soon
 *    waits -> server -> watcher      a long poll parks and watches its client
 *    waits -> server                 a stream is woken
 *    relay -> server                 likewise, by the program behind it
 *    waits -> executor               a waiter is woken
 *
 * Functions of others run under a lock in one place only: wake() and parked() of a
 * waiter, which post and watch and do nothing else.  Under the server's and the
 * watcher's locks nobody's function runs.
 *
 * To add a lock: a row here, `lock_init()` beside what it guards, and a comment at the
 * member that names what follows it. */
#ifndef MASTER_LOCKS_H
#define MASTER_LOCKS_H

#endif
