# SPDX-License-Identifier: Apache-2.0
# The Trainer API of Keras: its document's own snippets as experiments, two slots, a pause, a
# model of another trial, whole models out of checkpoints, the profiler.
. "$(dirname "$0")/lib.sh"
need mpirun jq
need_tensorflow
BUILD=$(cd "$(dirname "$DET")" && pwd)
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'Keras is trained' 'the Python package is not built'
    exit 0
fi
platform --slots 2

# Each folder has data.py, and a const.yaml that its arguments add to.
trainer() { # NAME [LINE...]
    mkdir -p "$1"
    cat >"$1/train.py"
    cat >"$1/data.py" <<'END'
import numpy as np

random = np.random.default_rng(3)
images = random.random((96, 28, 28)).astype("float32")
labels = (images.reshape(96, -1)[:, :10]).argmax(1)
END
    cat >"$1/const.yaml" <<END
name: $1
entrypoint: python3 train.py
searcher: {name: single, metric: val_loss}
reproducibility: {experiment_seed: 7}
max_restarts: 0
END
    trainer_in=$1
    shift
    printf '%s\n' "$@" >>"$trainer_in/const.yaml"
}
log() { det t logs "$1" >"$OUT"; }
steps() { # TRIAL: of its checkpoints
    det c list --trial "$1" --json | jq -r '[.[].metadata.steps_completed] | sort | map(tostring) | join(" ")'
}

# ---- the document's first snippet, as it is printed

cat >snippet.diff <<'END'
 # Initialize a train context
+with det.keras.init() as train_context:
     # Define your model
     model = keras.models.Sequential([
         keras.layers.Flatten(input_shape=(28, 28)),
         keras.layers.Dense(128, activation='relu'),
         keras.layers.Dense(10),
         keras.layers.Dropout(1.0)
     ])
 
     # Access hparams from the ClusterInfo API
-    learning_rate = 0.001
+    learning_rate = det.get_cluster_info().trial.hparams["learning_rate"]
 
     # Wrap your optimizer
     # This is needed before model.compile
     # Train context wraps the optimizer with HorovodOptimizer if doing distributed training and
     # makes sure optimizer state is saved correctly in checkpoints
     optimizer = keras.optimizers.Adam(learning_rate)
+    optimizer = train_context.wrap_optimizer(optimizer)
     
     # Wrap your datasets
     # This ensures proper sharding happens for distributed training before the .fit call
+    ds_train = train_context.wrap_dataset(ds_train)
+    ds_test = train_context.wrap_dataset(ds_test)
     
     # Compile your model as usual
     model.compile(
         optimizer=optimizer,
         loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
         metrics=[keras.metrics.SparseCategoricalAccuracy()],
     )

     # Training is done with a fit call on the context object with a similar API as native Keras but the
     # model is passed in.
          
-    model.fit(
+    train_context.fit(
+        model=model,
         x=ds_train,
         epochs=6,
         # Validation data must be passed into the fit call instead of a separate evaluate call
         validation_data=ds_test,
         validation_split=0.0,
         # Add custom callbacks here. The Trainer will by default inject certain Determined callbacks to
         # handle automatic checkpointing and metrics reporting
         callbacks=[],
     )
END
{
    cat <<'END'
import determined as det
import tensorflow as tf
from tensorflow import keras

from data import images, labels

ds_train = tf.data.Dataset.from_tensor_slices((images[:64], labels[:64])).batch(16)
ds_test = tf.data.Dataset.from_tensor_slices((images[64:], labels[64:])).batch(16)
END
    sed -n '/^-/d; s/^[ +]//; p' snippet.diff
} | trainer printed 'hyperparameters: {learning_rate: 0.001}'
ok "the document's snippet is trained" create printed -f
says 'experiment 1 is COMPLETED'
log 1
says 'val_sparse_categorical_accuracy'
says 'loss: 2.30'
same 'every second epoch was saved, and the best' '4 8 16 24' "$(steps 1)"
ok 'its metrics are known' det trial describe 1
says val_loss
says sparse_categorical_accuracy

# ---- two slots, with no launch layer named; paused, it goes on to the bit

trainer two 'hyperparameters: {stop_at: 0}' 'checkpoint_policy: none' 'resources: {slots_per_trial: 2}' \
    'searcher: {name: single, metric: sparse_categorical_accuracy, smaller_is_better: false}' <<'END'
import hashlib
import time

import determined as det
import numpy as np
from tensorflow import keras

from data import images, labels


class Waits(keras.callbacks.Callback):
    """In the first run, until the platform wants to have the slots back."""

    def __init__(self, preempt, batch):
        super().__init__()
        self.preempt, self.batch, self.done = preempt, batch, 0

    def on_train_batch_end(self, batch, logs=None):
        self.done += 1
        while self.done == self.batch and not self.preempt.should_preempt():
            print("waiting", flush=True)
            time.sleep(0.2)


with det.keras.init() as train_context:
    info = det.get_cluster_info()
    model = keras.Sequential([
        keras.layers.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(16), keras.layers.Dropout(0.5),
        keras.layers.Dense(10),
    ])
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    stop_at = 0 if info.latest_checkpoint else info.trial.hparams["stop_at"]
    history = train_context.fit(
        model, det.Batches(3), images[:64], labels[:64], 16, 3,
        validation_data=(images[64:], labels[64:]), validation_batch_size=8,
        callbacks=[Waits(train_context.core.preempt, stop_at)],
    )
    digest = hashlib.sha256(b"".join(each.tobytes() for each in model.get_weights())).hexdigest()
    print("weights", digest)
    print("history", sorted(history.history), [f"{value:.6f}" for value in history.history["val_loss"]])
    if train_context._loop.epochs == 3:
        together = train_context.predict(model, images, batch_size=8, verbose=0)
        alone = model.predict(images, batch_size=8, verbose=0)
        print("predicted", together.shape, "in order" if np.array_equal(together, alone) else "wrong")
END
# Of every rank at the end of its last run, each once.
weights() { det t logs "$1" | sed -n 's/.*weights \([0-9a-f]*\)$/\1/p' | tail -2 | sort -u; }
ok 'two slots are two processes' create two -f
says 'experiment 2 is COMPLETED'
log 2
says '[rank=0] || predicted (96, 10) in order'
says '[rank=1] || predicted (96, 10) in order'
same 'both have the same weights' 1 "$(weights 2 | wc -l)"
same 'it was saved every three batches' '3 6 9 12' "$(steps 2)"
create two --config hyperparameters.stop_at=6 >/dev/null
# However long TensorFlow takes to start.
det t logs 3 -f | grep -q waiting
ok 'another is paused in the middle of an epoch' det e pause 3
until_true is_state PAUSED 3 || until_true is_state PAUSED 3
ok 'it goes on' det e activate 3
ok 'and completes' det e wait 3
log 3
says 'continuing after 6 batches, 1 epochs'
same 'with the same bits' "$(weights 2)" "$(weights 3)"

# ---- a source trial, its model, and the profiler

trainer fork 'hyperparameters: {learning_rate: 0.1}' <<'END'
import determined as det
from determined.keras import DeterminedProfilerCallback
from tensorflow import keras

from data import images, labels

trial_id = 2
with det.keras.init() as train_context:
    model = train_context.load_model_from_checkpoint(trial_id)
    print("loaded", model.predict(images[:3], verbose=0).shape, "after", int(model.optimizer.iterations))

    model = keras.Sequential([keras.layers.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(10)])
    model.compile("sgd", "mse")
    history = train_context.fit(
        model,
        x=images[:64],
        y=labels[:64],
        batch_size=4,
        validation_data=(images[64:], labels[64:]),
        callbacks=[
            DeterminedProfilerCallback(
                profiling=True,
                profiling_start=0,
                profiling_end=10,
                sync_timings=None,
            )
        ]
    )
    print("trained", len(history.model.layers), "layers, step", int(history.model.optimizer.iterations))
END
ok 'a trial begins with the model of another' create fork -f --config searcher.source_trial_id=2
says 'experiment 4 is COMPLETED'
log 4
says 'loaded (3, 10) after'
says 'model, optimizer and loss come from trial 2'
says 'trained 4 layers, step 28'
det trial profile 4 --json >profile.json
same 'ten batches were profiled, and none beside them' 10 \
    "$(jq -r '.[] | select(.name == "step") | .count' profile.json)"

# ---- elsewhere

cat >predict.py <<'END'
import sys

import determined as det

with det.keras.init() as train_context:
    model = train_context.load_model_from_checkpoint(sys.argv[1])
    print("it has", len(model.layers), "layers and", model.optimizer.name)
END
export PYTHONPATH="$BUILD/pylib"
ok 'a whole model is loaded on a laptop, by its trial' python3 predict.py 2
says 'it has 4 layers and adam'
mkdir -p run/info
cat >run/info/cluster.json <<END
{"master_url": "$(url)", "cluster_id": "c", "agent_id": "a", "slot_ids": [], "task_id": "t",
 "allocation_id": "t.1", "session_token": "s", "task_type": "COMMAND"}
END
UUID=$(det c list --trial 2 --json | jq -r '[.[] | select(.state == "STATE_COMPLETED")][0].uuid')
ok 'and in a job, by its checkpoint' env DET_RUN_DIR="$T/run" DET_MASTER="$(url)" DET_SESSION_TOKEN=s DET_TASK_ID=t \
    DET_ALLOCATION_ID=t.1 DET_TASK_TYPE=COMMAND python3 predict.py "$UUID"
says 'it has 4 layers and adam'
fails 1 'a trial that is not there has no model' python3 predict.py 99
says 'trial 99'
