# SPDX-License-Identifier: Apache-2.0
# TFKerasTrial through a real master: the tutorial's snippets as they are printed, every kind of data,
# callbacks, TensorBoard's files, pausing, what is wrong, and the native API.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need jq
DRAWN_DATA=640
need_tensorflow
platform --slots 2

submit() { # FOLDER [ARGS...]: in the folder, as the tutorial does it; $ID is the experiment
    (cd "$1" && shift && det experiment create const.yaml . "$@") >"$T/created" 2>&1
    code=$?
    cat "$T/created"
    ID=$(sed -n 's/^Created experiment //p' "$T/created")
    return $code
}
ends_well() {
    det e wait "$1" && return
    det e logs "$1" | tail -40
    return 1
}
trial_of() { det e list-trials "$1" --csv | sed -n '2s/,.*//p'; }
metrics() { det t metrics "$(trial_of "$1")" --csv | grep ",$2,$3,"; } # EXPERIMENT GROUP NAME
batches() { metrics "$@" | cut -d, -f3 | tr '\n' ' '; }
patiently() { until_true "$@" || until_true "$@"; } # TensorFlow takes its time to load
said() { det e logs "$1" | grep -F -- "$2"; }

# ---- the tutorial, its snippets as they are printed; the names they use come first

mkdir mnist
cat >mnist/model_def.py <<'END'
import determined as det
import keras
import tensorflow as tf
from determined.keras import data, datasets

datasets.allow_drawn()

from determined.keras import InMemorySequence, TFKerasTrial

class MNISTTrial(TFKerasTrial):
    def __init__(self, context: det.keras.TFKerasTrialContext):
        self.context = context

    def build_training_data_loader(self):
        mnist = keras.datasets.mnist
        (train_images, train_labels), (_, _) = mnist.load_data()

        global_batch_size = self.context.get_hparam('global_batch_size')
        train = data.InMemorySequence(data=train_images, labels=train_labels, batch_size=global_batch_size)
        return train

    def build_validation_data_loader(self):
        mnist = keras.datasets.mnist
        (_, _), (test_images, test_labels) = mnist.load_data()

        batch_size = self.context.get_per_slot_batch_size()
        test = data.InMemorySequence(data=test_images, labels=test_labels, batch_size=batch_size)
        return test

    def build_model(self):
        model = keras.Sequential(
            [
                keras.layers.Flatten(input_shape=(28, 28)),
                keras.layers.Dense(128, activation="relu"),
                keras.layers.Dense(10),
            ]
        )
        model = self.context.wrap_model(model)
        model.compile(
            optimizer="adam",
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model
END
echo 'from model_def import MNISTTrial' >mnist/__init__.py
cat >mnist/const.yaml <<'END'
description: mnist_keras_const_simple
hyperparameters:
    global_batch_size: 32
searcher:
    name: single
    metric: val_accuracy
    max_steps: 2
min_validation_period: 1
entrypoint: model_def:MNISTTrial
END
ok 'the tutorial' submit mnist
MNIST=$ID
says 'Preparing files'
says "Created experiment $MNIST"
says "Activated experiment $MNIST"

# ---- every kind of data; callbacks and TensorBoard with the first

mkdir kinds
cat >kinds/model_def.py <<'END'
import keras
import numpy as np
import tensorflow as tf
from determined.keras import InMemorySequence, SequenceAdapter, TFKerasTensorBoard, TFKerasTrial, callbacks

def points(count, seed):
    x = np.random.default_rng(seed).random((count, 4)).astype("float32")
    return x, (x.sum(1) > 2).astype("int32"), np.linspace(0.5, 1.5, count, dtype="float32")

class Points(keras.utils.Sequence):
    def __init__(self, batch_size):
        super().__init__()
        self.parts, self.batch_size = points(256, 0), batch_size

    def __len__(self):
        return 256 // self.batch_size

    def __getitem__(self, index):
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return tuple(part[rows] for part in self.parts)

class Told(callbacks.Callback):
    def on_train_workload_end(self, total_batches_trained, logs=None):
        print(f"told of {sorted(logs)} after {total_batches_trained}")

class Kinds(TFKerasTrial):
    def __init__(self, context):
        self.context = context
        self.kind = context.get_hparam("kind")

    def build_model(self):
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation="relu"),
                                  keras.layers.Dropout(self.context.get_hparam("dropout")), keras.layers.Dense(2)])
        model = self.context.wrap_model(model)
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), weighted_metrics=["accuracy"])
        return model

    def load(self, count, seed):
        x, y, weights = points(count, seed)
        size = self.context.get_per_slot_batch_size()
        if self.kind == "arrays":
            return x, y
        if self.kind == "weighted":
            return x, y, weights
        if self.kind == "dataset":
            made = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((x, y, weights)))
            return made.shuffle(count, seed=7).batch(size)
        if self.kind == "sequence":
            return Points(self.context.get_global_batch_size())
        if self.kind == "adapter":
            return SequenceAdapter(Points(size), workers=2, use_multiprocessing=False)
        cache = self.context.experimental.cache_train_dataset if seed == 0 else self.context.experimental.cache_validation_dataset

        @cache(f"points-{seed}", "v1", shuffle=seed == 0)
        def make():
            return tf.data.Dataset.from_tensor_slices((x, y, weights))

        return make().batch(size)

    def build_training_data_loader(self):
        return self.load(256, 0)

    def build_validation_data_loader(self):
        return self.load(64, 1)

    def keras_callbacks(self):
        kept = [callbacks.EarlyStopping(patience=100), callbacks.ReduceLROnPlateau(patience=1), Told()]
        return kept + ([TFKerasTensorBoard(update_freq="batch")] if self.kind == "arrays" else [])
END
cat >kinds/const.yaml <<'END'
name: kinds
hyperparameters:
    global_batch_size: 16
    dropout: 0.2
    kind: {type: categorical, vals: [arrays, weighted, dataset, sequence, adapter, cached]}
searcher:
    name: grid
    metric: val_accuracy
    max_length: {epochs: 2}
min_validation_period: {batches: 10}
min_checkpoint_period: {batches: 7}
entrypoint: model_def:Kinds
max_restarts: 0
END
ok 'every kind of data' submit kinds
GRID=$ID

# ---- the same on one slot and on two: each takes its part of every batch

mkdir shared
cp kinds/model_def.py shared
cat >shared/const.yaml <<'END'
name: shared
hyperparameters: {global_batch_size: 16, dropout: 0.0, kind: sequence}
searcher: {name: single, metric: val_accuracy, max_length: {batches: 40}}
min_validation_period: {batches: 20}
reproducibility: {experiment_seed: 7}
entrypoint: model_def:Kinds
max_restarts: 0
END
ok 'one on one slot' submit shared
ONE=$ID
if command -v mpirun >/dev/null; then
    ok 'one on two' submit shared --config resources.slots_per_trial=2
    TWO=$ID
else
    TWO=
fi

# ---- one that takes long, and two that cannot be trained

cp -r kinds paused
cat >paused/const.yaml <<'END'
name: one
hyperparameters: {global_batch_size: 16, dropout: 0.2, kind: dataset}
searcher: {name: single, metric: val_accuracy, max_length: {batches: 100000}}
min_checkpoint_period: {batches: 50}
entrypoint: model_def:Kinds
max_restarts: 0
END
cp -r paused wrong
sed -i 's/val_accuracy/f1/; s/batches: 100000/batches: 4/; s/max_restarts: 0/max_restarts: 5/' wrong/const.yaml
ok 'a metric that nobody reports' submit wrong
WRONG=$ID
cp -r paused raises
sed -i 's/def load(self, count, seed):/&\n        raise KeyError("no such column")/' raises/model_def.py
ok 'an exception of ones own' submit raises
RAISES=$ID

# ---- the native API: the script submits itself

mkdir native
cat >native/train.py <<'END'
import sys

import determined as det
import keras
import numpy as np
from determined.experimental import keras as native

context = native.init(
    config={
        "name": "native",
        "searcher": {"name": "random", "max_trials": 1, "metric": "val_loss", "max_length": {"epochs": 2}},
        "hyperparameters": {"global_batch_size": det.Constant(8), "units": det.Integer(2, 4, count=1)},
        "max_restarts": 0,
    },
    context_dir=sys.path[0],
    local="--local" in sys.argv,
    test="--test" in sys.argv,
)
print("in the trial, with", sys.argv[1:])
x = np.random.default_rng(0).random((64, 4)).astype("float32")
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(context.get_hparam("units")), keras.layers.Dense(1)])
model = context.wrap_model(model)
model.compile("sgd", "mse")
model.fit(x, x.sum(1), batch_size=context.get_per_slot_batch_size(), validation_split=0.25)
END
native() {
    PYTHONPATH=$(dirname "$DET")/pylib python3 native/train.py "$@" >"$T/created" 2>&1
    code=$?
    cat "$T/created"
    ID=$(sed -n 's/^Created experiment //p' "$T/created")
    return $code
}
ok 'a script submits itself' native --flag
NATIVE=$ID
says_not 'in the trial'
ok '... and a test of it' native --test
TESTED=$ID

# ---- what became of them

ok 'the tutorial is trained' ends_well "$MNIST"
same '... 200 batches, in two steps' '100 200 ' "$(batches "$MNIST" training loss)"
same '... validated after each' '100 200 ' "$(batches "$MNIST" validation val_accuracy)"
ok 'the kinds of data are' ends_well "$GRID"
same '... in six trials' 6 "$(det e list-trials "$GRID" --csv | grep -c ,COMPLETED,)"
for trial in $(det e list-trials "$GRID" --csv | sed -n 's/^\([0-9]*\),.*/\1/p'); do
    same "... trial $trial is validated in the middle of epochs" '10 20 30 32 ' \
        "$(det t metrics "$trial" --csv -n val_accuracy | sed 1d | cut -d, -f3 | tr '\n' ' ')"
done
told() { det t logs "$trial" | grep -F "told of ['accuracy', 'loss'] after 10"; }
ok '... and its callback is told' told
board() { find "$DATA" -path "*tensorboard*" -path "*$1*" -name '*tfevents*' | grep .; }
ok "... TensorBoard's callback has written where the platform looks" board /train/
ok '... of validations, too' board /validation/
ok 'the native experiment is' ends_well "$NATIVE"
ok '... with the command line of the script' said "$NATIVE" "in the trial, with ['--flag']"
same '... validated after each of two epochs' '6 12 ' "$(batches "$NATIVE" validation val_loss)"
saved() { det e list-checkpoints "$1" --csv | grep COMPLETED; }
ok '... saved' saved "$NATIVE"
ok 'its test is' ends_well "$TESTED"
same '... one batch' '1 ' "$(batches "$TESTED" validation val_loss)"

ok 'one slot trains' ends_well "$ONE"
if [ -n "$TWO" ]; then
    ok 'two train' ends_well "$TWO"
    values() { metrics "$1" validation val_loss; metrics "$1" training loss; }
    values "$ONE" | cut -d, -f3,5-7 >one.csv
    values "$TWO" | cut -d, -f3,5-7 >two.csv
    nearly() { paste -d, one.csv two.csv | awk -F, '{ d = $4 - $8 } $1 != $5 || d > 1e-4 || d < -1e-4 { bad = 1 } END { exit bad || NR < 3 }'; }
    paste one.csv two.csv >"$OUT"
    ok '... the same thing' nearly
else
    skip 'two train' 'Open MPI is not here'
fi

# ---- paused in the middle (killed: 7014-keras-resume-proof.sh)

ok 'one that takes long' submit paused
PAUSED=$ID
has_saved() { det e list-checkpoints "$PAUSED" --csv | grep -q COMPLETED; }
ok '... saves checkpoints' patiently has_saved
ok '... is paused' det e pause "$PAUSED"
soon '... stops' is_state PAUSED "$PAUSED"
ok '... goes on' det e activate "$PAUSED"
goes_on() { said "$PAUSED" 'continuing after ' | grep -v 'after 0 batches'; }
ok '... where it was' patiently goes_on
ok '... is given up' det e kill "$PAUSED"

# ---- what cannot be trained

det e wait "$WRONG" >/dev/null 2>&1
same 'a metric that nobody reports fails the trial' ERROR "$(state "$WRONG")"
ok '... and says which there are' said "$WRONG" "the searcher's metric 'f1' is not among the validation metrics: val_accuracy, val_loss"
ok '... after one run' said "$WRONG" 'is not retried, because it would fail again: exited with code 1: determined.errors.SearcherMetricError'
ok '... and so does the master' said "$WRONG" "has no 'f1'; it has val_accuracy, val_loss: name one of these in searcher.metric"
det e wait "$RAISES" >/dev/null 2>&1
same 'an exception of ones own does' ERROR "$(state "$RAISES")"
ok '... with its line' said "$RAISES" 'raise KeyError("no such column")'
fails 1 '... and none of the platform' said "$RAISES" 'determined/keras/_trial.py'
