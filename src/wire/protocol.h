/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the number of the language that agents and their supervisors speak with
 * the master.
 *
 * Raise it if an agent of this version cannot work with a master of the version before.
 * The master is upgraded first, so it serves older numbers; raise AGENT_PROTOCOL_OLDEST
 * only when it cannot serve an older one any more.  Programs from before this number do
 * not send it: they are 0. */
#ifndef WIRE_PROTOCOL_H
#define WIRE_PROTOCOL_H

enum { AGENT_PROTOCOL_OLDEST = 0, AGENT_PROTOCOL = 1 };

#endif
