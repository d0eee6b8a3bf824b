# SPDX-License-Identifier: Apache-2.0
# reproducibility.deterministic: PyTorch computes the same bits in every run; programs that do not import determined get
# the variables, and the log says so.
. "$(dirname "$0")/lib.sh"
need_torch
platform --slots 1

folder plain <<'END'
#!/bin/sh
exec python3 -c '
import os
names = ("CUBLAS_WORKSPACE_CONFIG", "TF_DETERMINISTIC_OPS", "XLA_FLAGS")
print(*(os.environ.get(name) for name in names), os.environ.get("PYTHONHASHSEED") == os.environ["DET_TRIAL_SEED"])'
END
ok 'without the key' create plain -f
says 'None None None False'
ok 'with the key a plain script gets the variables' create plain --config reproducibility.deterministic=true -f
says ':4096:8 1 --xla_gpu_deterministic_ops=true True'
says 'reproducibility.deterministic: the variables of libraries are set'
says 'in Python programs that import determined'
ok 'a configuration may set one otherwise' create plain --config reproducibility.deterministic=true \
    --config 'environment.environment_variables=["PYTHONHASHSEED=7"]' -f
says ':4096:8 1 --xla_gpu_deterministic_ops=true False'

folder torch <<'END'
#!/bin/sh
exec python3 -c '
import determined, random
import torch, numpy
print("algorithms", torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark)
print("drawn", torch.rand(2).tolist(), numpy.random.rand(), random.random(), hash("det"))'
END
drawn() { # the numbers that the last experiment drew
    det e logs "$ID" | sed -n 's/.*drawn //p'
}
ok 'without the key PyTorch is as it is' create torch --config reproducibility.experiment_seed=3 -f
says 'algorithms False'
WITHOUT=$(drawn)
ok 'with it, the algorithms are deterministic' create torch --config reproducibility.experiment_seed=3 \
    --config reproducibility.deterministic=true -f
says 'algorithms True False'
FIRST=$(drawn)
ok 'once more' create torch --config reproducibility.experiment_seed=3 --config reproducibility.deterministic=true -f
same 'and every generator draws the same numbers' "$FIRST" "$(drawn)"
ok 'another seed' create torch --config reproducibility.experiment_seed=4 --config reproducibility.deterministic=true -f
ok 'draws others' [ "$FIRST" != "$(drawn)" ]
ok 'as does a run without the key' [ "$FIRST" != "$WITHOUT" ]
ok 'a local run has it, too' det e create torch/const.yaml torch --local --config reproducibility.deterministic=true
says 'algorithms True False'
