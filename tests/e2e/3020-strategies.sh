# SPDX-License-Identifier: Apache-2.0
# TensorFlow's strategies in trials: two nodes with MultiWorkerMirroredStrategy, two slots of one with
# MirroredStrategy, and one slot; all three train the same.
. "$(dirname "$0")/lib.sh"
need jq
need_tensorflow
mkdir model
cat >model/train.py <<'END'
import sys

import determined as det
import keras
import numpy as np

distributed, strategy = det.core.DistributedContext.from_tf_config()
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
y = x.sum(1, keepdims=True)
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse", metrics=["mae"])
with det.core.init(distributed=distributed) as core_context:
    callback = det.keras.DeterminedCallback(core_context, checkpoint=None, continue_id="x")
    model.fit(x, y, batch_size=8, epochs=2, verbose=0, validation_data=(x, y), callbacks=[callback])
    weights = sum(np.abs(array).sum() for array in model.get_weights())
    words = [type(strategy).__name__, strategy.num_replicas_in_sync, sys.argv[1:]]
    print(f"rank {distributed.rank} of {distributed.size}:", *words, f"{weights:.5f}", flush=True)
END
cat >model/own.py <<'END'
import tensorflow as tf
import determined
print("replicas:", tf.distribute.MirroredStrategy().num_replicas_in_sync)
END
cat >model/const.yaml <<'END'
name: model
entrypoint: python3 -m determined.launch.tensorflow -- python3 train.py --my-arg1
resources: {slots_per_trial: 2}
reproducibility: {experiment_seed: 5}
searcher: {name: single, metric: val_loss}
max_restarts: 0
END
platform --no-agent
agent() {
    det agent run --id "$1" --slots "$2" --data-dir "$T/agent-$1" >>"agent-$1.log" 2>&1 &
    AGENTS="${AGENTS-} $!"
}
slots() { [ "$(det slot list --csv | sed 1d | grep -c .)" = "$1" ]; }
agent a 1
agent b 1
soon 'two agents of one slot join' slots 2
said() { grep -o 'rank [0-9] of [0-9]: .*' "$OUT" | sort; }
ok 'two nodes train together' create model -f
said >both
same 'with a strategy over workers' \
    "rank 0 of 2: CollectiveAllReduceStrategy 2 ['--my-arg1'] rank 1 of 2: CollectiveAllReduceStrategy 2 ['--my-arg1']" \
    "$(sed 's/ [0-9.]*$//' both | xargs -d '\n')"
same 'and agree on every weight' 1 "$(sed 's/.* //' both | sort -u | grep -c .)"
rows() { det t metrics "$1" --csv | grep -o '\(training\|validation\),.*' | sed 's/\(\.[0-9]\{4\}\)[0-9]*/\1/' | sort; }
rows 1 >rows-both
[ -s rows-both ]
result $? 'metrics were reported, once for both' rows-both
ok 'one slot trains' create model -f --config resources.slots_per_trial=1
said >alone
same 'without a strategy' "rank 0 of 1: _DefaultDistributionStrategy 1 ['--my-arg1']" "$(sed 's/ [0-9.]*$//' alone)"
same 'to the same weights' "$(sed 's/.* //' both | sort -u)" "$(sed 's/.* //' alone)"
same 'and reports the same' "$(cat rows-both)" "$(rows 2)"
agent c 2
soon 'an agent of two slots joins' slots 4
ok 'two slots of one node train in one process' create model -f --config resources.is_single_node=true
said >mirrored
same 'with a replica each' "rank 0 of 1: MirroredStrategy 2 ['--my-arg1']" "$(sed 's/ [0-9.]*$//' mirrored)"
same '... to the same weights' "$(sed 's/.* //' alone)" "$(sed 's/.* //' mirrored)"
ok 'a strategy of the program'"'"'s own has them, too' create model -f --config resources.is_single_node=true \
    --config 'entrypoint=python3 -m determined.launch.tensorflow_distributed own.py'
says 'replicas: 2'
# shellcheck disable=SC2086 # several numbers
kill $AGENTS
wait
