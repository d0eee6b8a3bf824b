/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/proof/proof_cause.h"

#include <stddef.h>
#include <string.h>

#include "cli/proof/proof_compare.h"

const char *proof_cause_name(enum proof_cause cause)
{
    return cause == PROOF_CAUSE_RESUME    ? "resume"
           : cause == PROOF_CAUSE_PROGRAM ? "program"
                                          : NULL;
}

/* Metrics come before files: they say when. */
static bool is_earlier(const struct proof_origin *a, const struct proof_origin *b)
{
    if (!b->difference || !a->group != !b->group)
        return !b->difference || a->group;
    return a->group && a->difference->place < b->difference->place;
}

struct proof_origin proof_origin_of(const struct proof_parts *parts)
{
    struct proof_origin first = {0};

    for (size_t i = 0; i < parts->all.count; i++) {
        const struct proof_part *part = &parts->all.at[i];

        for (size_t k = 0; k < part->differences.count; k++) {
            struct proof_origin it = {part->group, &part->differences.at[k]};

            if (is_earlier(&it, &first))
                first = it;
        }
    }
    return first;
}

enum proof_cause proof_find_cause(const struct proof_evidence *evidence,
                                  struct proof_origin *ret_origin)
{
    struct proof_origin killed = proof_origin_of(evidence->killed);
    struct proof_origin twin = {0};

    if (evidence->twin)
        twin = proof_origin_of(evidence->twin);
    *ret_origin = twin.difference ? twin : killed;
    if (!killed.difference)
        return PROOF_NO_CAUSE;
    if (twin.difference)
        return PROOF_CAUSE_PROGRAM;
    /* At the batch of the checkpoint itself, a resumed run may have reported again. */
    if (killed.group && killed.difference->place < evidence->first_resume)
        return PROOF_CAUSE_PROGRAM;
    if (!evidence->twin)
        return PROOF_CAUSE_UNKNOWN;
    return evidence->may_agree_by_chance ? PROOF_CAUSE_UNSURE : PROOF_CAUSE_RESUME;
}

static bool is_same_name(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool proof_has_difference(const struct proof_parts *parts, const char *group,
                          const char *name)
{
    for (size_t i = 0; i < parts->all.count; i++) {
        const struct proof_part *part = &parts->all.at[i];

        for (size_t k = 0; k < part->differences.count; k++)
            if (is_same_name(part->group, group) &&
                is_same_name(part->differences.at[k].name, name))
                return true;
    }
    return false;
}

/* ---- advice ---------------------------------------------------------------------- */

struct advice {
    const char *framework; /* how its name begins; NULL: all others */
    const char *lines[6];
};

static const struct advice advices[] = {
    {"keras",
     {"keras.utils.set_random_seed(SEED), with the seed of the trial",
      "tf.config.experimental.enable_op_determinism(), which also keeps the order of "
      "tf.data",
      "tf.config.optimizer.set_experimental_options({'arithmetic_optimization': "
      "False}), if only the last digits of a loss differ",
      "a 'seed' for each generator and augmentation of your own"}},
    {"torch",
     {"torch.manual_seed(SEED), with the seed of the trial; also random and numpy",
      "torch.use_deterministic_algorithms(True), and on GPUs the variable "
      "CUBLAS_WORKSPACE_CONFIG=:4096:8",
      "a 'generator' for each sampler and augmentation of your own"}},
    {"lightning",
     {"seed_everything(SEED, workers=True), with the seed of the trial",
      "Trainer(deterministic=True), and on GPUs the variable "
      "CUBLAS_WORKSPACE_CONFIG=:4096:8"}},
    {"transformers",
     {"TrainingArguments(seed=SEED, data_seed=SEED), with the seed of the trial",
      "TrainingArguments(full_determinism=True) on GPUs"}},
    {NULL,
     {"all seeds from the trial's seed (info.trial.trial_seed, det_get_info()->seed), "
      "none from the clock",
      "one order for files, hashes and threads; the deterministic mode of your "
      "libraries"}},
};

const char *const *proof_advice(const char *framework)
{
    const struct advice *advice = advices;

    while (advice->framework && (!framework || strncmp(framework, advice->framework,
                                                       strlen(advice->framework)) != 0))
        advice++;
    return advice->lines;
}
