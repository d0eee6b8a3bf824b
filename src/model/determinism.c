/* SPDX-License-Identifier: Apache-2.0 */
#include "model/determinism.h"

#include "base/compiler.h"
#include "data/json/json.h"

const struct determinism_variable determinism_variables[] = {
    {DETERMINISM_MARK, "1"},
    {"CUBLAS_WORKSPACE_CONFIG",
     ":4096:8"}, /* cuBLAS uses one workspace, in one order */
    {"TF_DETERMINISTIC_OPS", "1"},
    {"TF_CUDNN_DETERMINISTIC", "1"},
    {"XLA_FLAGS", "--xla_gpu_deterministic_ops=true"}, /* JAX, TensorFlow's compiler */
};
const size_t determinism_variable_count = ARRAY_LEN(determinism_variables);

bool determinism_is_wanted(const struct json *config)
{
    return json_bool(json_path(config, "reproducibility.deterministic"), false);
}
