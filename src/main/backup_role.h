/* SPDX-License-Identifier: Apache-2.0 */
/* backup_role.h - `det backup` and `det restore`.
 *
 * They work on files, not through the master: they work while it is down, need no session,
 * and whoever cannot read the data directory cannot back it up. */
#ifndef MAIN_BACKUP_ROLE_H
#define MAIN_BACKUP_ROLE_H

struct backup_options;
struct restore_options;

int backup_main(const struct backup_options *options, const char *vault);
int restore_main(const struct restore_options *options, const char *vault);

#endif
