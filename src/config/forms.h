/* SPDX-License-Identifier: Apache-2.0 */
/* forms.h - the several ways to write one thing, brought into one.
 *
 * Before merging, so that a list can be merged with a map that means the same; what has
 * no known form is left as it is for the check to complain about.  Out of memory shows
 * in the arena. */
#ifndef CONFIG_FORMS_H
#define CONFIG_FORMS_H

struct arena;
struct json;

/* An experiment or job, in place: image and environment_variables as maps by device,
 * devices as maps, labels only once each. */
void forms_normalise(struct json *tree, struct arena *mem);
/* task_container_defaults of the master, as the experiment they would be below. */
struct json *forms_of_task_defaults(const struct json *defaults, struct arena *mem);
/* The policies every experiment has, behind its own; then without those switched off.
 */
void forms_add_log_policies(struct json *tree, struct arena *mem);

/* Members in the order of their names, at every depth. */
void forms_sort(struct json *tree);
/* Forgets lines and columns: what is merged below a file is not from that file. */
void forms_forget_places(struct json *tree);

#endif
