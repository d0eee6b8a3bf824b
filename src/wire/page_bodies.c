/* SPDX-License-Identifier: Apache-2.0 */
/* page_bodies.c - the field tables of page_bodies.h. */
#include "wire/page_bodies.h"

#include <stddef.h>

const struct field act_on_experiments_body_fields[] = {
    FIELD_REQUIRED(
        STR, act_on_experiments_body, action,
        "pause, activate, cancel, kill, archive, unarchive, delete, label, unlabel, "
        "move or retain_logs"),
    FIELD_REQUIRED(I64S, act_on_experiments_body, ids, "the experiments"),
    FIELD(STR, act_on_experiments_body, label, "the label, for label and unlabel"),
    FIELD(I64, act_on_experiments_body, project_id, "the destination, for move"),
    FIELD(I64, act_on_experiments_body, num_days,
          "how long logs are kept, for retain_logs; -1: for ever"),
    FIELD_END,
};

const struct field check_body_fields[] = {
    FIELD_REQUIRED(STR, check_body, config, "the configuration, YAML"),
    FIELD(STR, check_body, kind, "experiment (default) or job"),
    FIELD(I64, check_body, continues,
          "experiment that it continues, with these changes"),
    FIELD_END,
};

const struct field model_def_file_body_fields[] = {
    FIELD(I64, model_def_file_body, experiment_id, "as in the path"),
    FIELD_REQUIRED(STR, model_def_file_body, path, "path of the file"),
    FIELD_END,
};
