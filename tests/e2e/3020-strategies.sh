# SPDX-License-Identifier: Apache-2.0
# TensorFlow's strategies in trials: two nodes with MultiWorkerMirroredStrategy, paused in the middle of an
# epoch; two slots of one node with MirroredStrategy; and one slot.  All three train the same.
. "$(dirname "$0")/lib.sh"
need jq
need_tensorflow
mkdir model
cat >model/train.py <<'END'
import sys
import time

import determined as det
import keras
import numpy as np


class Slow(keras.callbacks.Callback):
    """The first run of several nodes has not ended when it is paused."""

    def on_train_batch_end(self, batch, logs=None):
        if batch > 5 and distributed.size > 1 and info.latest_checkpoint is None:
            time.sleep(0.3)


info = det.get_cluster_info()
distributed, strategy = det.core.DistributedContext.from_tf_config()
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(160, 4)).astype("float32")
y = x.sum(1, keepdims=True)
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse", metrics=["mae"])
with det.core.init(distributed=distributed) as core_context:
    callback = det.keras.DeterminedCallback(
        core_context, checkpoint=info.latest_checkpoint, continue_id=info.trial.trial_id
    )
    print("trains from", info.latest_checkpoint, flush=True)
    model.fit(x, y, batch_size=8, epochs=2, verbose=0, validation_data=(x, y), callbacks=[Slow(), callback])
    weights = sum(np.abs(array).sum() for array in model.get_weights())
    words = [type(strategy).__name__, strategy.num_replicas_in_sync, sys.argv[1:]]
    print(f"rank {distributed.rank} of {distributed.size}:", *words, f"{weights:.5f}", flush=True)
END
cat >model/own.py <<'END'
import determined as det
import numpy as np
import tensorflow as tf

x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
y = x.sum(1, keepdims=True)
with det.keras.init() as train_context:
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.05), metrics=["mae"])
    train_context.fit(model, x=x, y=y, batch_size=8, epochs=2, validation_data=(x, y), verbose=0)
    print("replicas:", strategy.num_replicas_in_sync)
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
ok 'two nodes train together' create model
begun() { det t logs 1 | grep -q 'trains from'; }
until_true begun # TensorFlow takes its time
soon 'they begin' begun
ok 'they are paused' det e pause 1
soon 'and rest' is_state PAUSED 1
ok 'they are activated' det e activate 1
ok 'and finish' det e wait 1
det t logs 1 | sed -n '/trains from [0-9a-f]*-/,$p' >"$OUT"
same 'both from the same checkpoint' 2 "$(grep -c 'trains from [0-9a-f]*-' "$OUT")"
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
ok 'the trainer with a strategy of the program'"'"'s own' create model -f --config resources.is_single_node=true \
    --config 'entrypoint=python3 -m determined.launch.tensorflow_distributed own.py'
same '... in one process' 1 "$(grep -c 'replicas: 2' "$OUT")"
same '... which reports' 2 "$(det t metrics 4 --csv | grep -c ,validation,val_loss,)"
# shellcheck disable=SC2086 # several numbers
kill $AGENTS
wait
