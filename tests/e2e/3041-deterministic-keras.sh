# SPDX-License-Identifier: Apache-2.0
# reproducibility.deterministic: TensorFlow's operations are deterministic, and its generators have the trial's seed.
. "$(dirname "$0")/lib.sh"
need_tensorflow
platform --slots 1

folder tf <<'END'
#!/bin/sh
exec python3 -c '
import determined
import tensorflow as tf, keras
from tensorflow.python.framework import config
print("determinism", config.is_op_determinism_enabled())
layer = keras.layers.Dense(2)
layer.build((1, 2))
print("drawn", tf.random.uniform([2]).numpy().tolist(), layer.kernel.numpy().tolist())'
END
drawn() {
    det e logs "$ID" | sed -n 's/.*drawn //p'
}
ok 'without the key TensorFlow is as it is' create tf --config reproducibility.experiment_seed=3 -f
says 'determinism False'
ok 'with it, the operations are deterministic' create tf --config reproducibility.experiment_seed=3 \
    --config reproducibility.deterministic=true -f
says 'determinism True'
FIRST=$(drawn)
ok 'once more' create tf --config reproducibility.experiment_seed=3 --config reproducibility.deterministic=true -f
same 'and weights and numbers are the same' "$FIRST" "$(drawn)"
