/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/proof/proof_profile.h"

#include <fnmatch.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/json/json.h"
#include "libdet/checkpoint/manifest.h"

enum { PATTERNS_MOST = 8 };

struct proof_profile {
    const char *name;
    const char *framework; /* of the metadata; NULL: none */
    const char *marker;    /* pattern of a file; NULL: none */
    const char *files[PATTERNS_MOST];
    const char *metrics[PATTERNS_MOST];
    const char *keys[PATTERNS_MOST];
};

/* To add a framework, add a row and describe it in docs/guide/exact-resume.md. */
static const struct proof_profile profiles[] = {
    {.name = "none"},
    {.name = "transformers",
     .framework = "transformers",
     .marker = "*trainer_state.json",
     /* Arguments with the names of folders and of the machine; TensorBoard's files. */
     .files = {"*training_args.bin", "*events.out.tfevents.*"},
     /* train_loss is a mean over the steps of the last run, not of the training. */
     .metrics = {"*_runtime", "*_per_second", "*_compilation_time",
                 "*_preparation_time", "train_loss"},
     .keys = {"*_runtime", "*_per_second", "*_compilation_time", "*_preparation_time",
              "best_model_checkpoint"}},
    {.name = "lightning",
     .framework = "lightning",
     /* Paths in the state of ModelCheckpoint; its scores are compared. */
     .keys = {"dirpath", "best_model_path", "last_model_path", "kth_best_model_path",
              "best_k_models"}},
};
enum { PROFILES = sizeof(profiles) / sizeof(*profiles) };

const char *proof_profile_name(const struct proof_profile *profile)
{
    return profile->name;
}

det_status proof_profile_find(const char *name,
                              const struct proof_profile **ret_profile, struct err *err)
{
    for (size_t i = 0; i < PROFILES; i++)
        if (!strcmp(profiles[i].name, name)) {
            *ret_profile = &profiles[i];
            return DET_OK;
        }
    return err_set(err, DET_INVALID,
                   "there is no profile '%s': use transformers, lightning or none",
                   name);
}

static bool has_marker(const struct manifest *files, const char *marker)
{
    for (size_t i = 0; marker && i < files->files.count; i++)
        if (!fnmatch(marker, files->files.at[i].path, 0))
            return true;
    return false;
}

const struct proof_profile *proof_profile_detect(const struct json *metadata,
                                                 const struct manifest *files)
{
    const char *framework = json_str(json_get(metadata, "framework"), "");

    for (size_t i = 0; i < PROFILES; i++)
        if (profiles[i].framework && !strcmp(profiles[i].framework, framework))
            return &profiles[i];
    for (size_t i = 0; i < PROFILES; i++)
        if (has_marker(files, profiles[i].marker))
            return &profiles[i];
    return &profiles[0];
}

/* ---- rules ----------------------------------------------------------------------- */

bool proof_rules_match(const struct field_strs *patterns, const char *name)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (!fnmatch(patterns->at[i], name, 0))
            return true;
    return false;
}

static bool add_patterns(struct field_strs *to, const char *const *patterns,
                         const struct json *more, struct arena *mem)
{
    size_t count = to->count;
    const char **all;

    json_each(name, more)
        count++;
    all = arena_array(mem, const char *, count + PATTERNS_MOST);
    if (!all)
        return false;
    count = 0;
    for (size_t i = 0; i < to->count; i++)
        all[count++] = to->at[i];
    for (size_t i = 0; i < PATTERNS_MOST && patterns[i]; i++)
        all[count++] = patterns[i];
    json_each(name, more)
        all[count++] = json_str(name, "");
    *to = (struct field_strs){.at = all, .count = count};
    return true;
}

det_status proof_rules_add(const struct proof_profile *profile,
                           const struct json *metadata, struct arena *mem,
                           struct proof_rules *rules, struct err *err)
{
    struct proof_rules all = *rules;

    if (!add_patterns(&all.files, profile->files, json_get(metadata, "not_state"),
                      mem) ||
        !add_patterns(&all.metrics, profile->metrics, NULL, mem) ||
        !add_patterns(&all.keys, profile->keys, NULL, mem))
        return err_default(err, DET_NOMEM);
    *rules = all;
    return DET_OK;
}
