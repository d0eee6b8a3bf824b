/* SPDX-License-Identifier: Apache-2.0 */
/* normal_form.h - brings values that can be written in several ways into one form.
 *
 * This happens before merging, so a list can be merged with a map that means the same.
 * A value of an unknown form stays unchanged; the check reports it.  When memory runs
 * out, the arena's `has_failed` is set. */
#ifndef CONFIG_NORMAL_FORM_H
#define CONFIG_NORMAL_FORM_H

struct arena;
struct json;

/* Changes an experiment or job in place: image and environment_variables become maps by
 * device, devices become maps, duplicate labels go. */
void normal_form_apply(struct json *tree, struct arena *mem);
/* The master's task_container_defaults in the form of an experiment, to merge below one.
 */
struct json *normal_form_task_defaults(const struct json *defaults, struct arena *mem);
/* Appends the built-in log policies and removes those that are turned off. */
void normal_form_add_log_policies(struct json *tree, struct arena *mem);

/* Sorts members by name, at every depth. */
void normal_form_sort(struct json *tree);
/* Sets lines and columns to 0: values merged below a file are not from that file. */
void normal_form_clear_places(struct json *tree);

#endif
