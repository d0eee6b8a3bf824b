# SPDX-License-Identifier: Apache-2.0
# The Keras user guide's script as a real experiment: launcher, strategy, callback, TensorBoard.  It
# is paused in the middle of an epoch and goes on there; another begins with its weights.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need jq
need_tensorflow
platform --slots 1

mkdir guide
cat >guide/my_train.py <<'END'
import sys
import time

import determined as det
import numpy as np
import tensorflow as tf
from tensorflow import keras


def my_build_model():
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(4), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    return model


class Slowly(keras.callbacks.Callback):
    """So that there is a middle of an epoch to be paused in."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)


def main(core_context, strategy):
    with strategy.scope():
        model = my_build_model()
        model.compile("adam", "mse", ["mae"])

    info = det.get_cluster_info()
    assert info and info.task_type == "TRIAL", "this example only runs as a trial on the cluster"

    det_cb = det.keras.DeterminedCallback(
        core_context,
        checkpoint=info.latest_checkpoint or info.trial.hparams["start"] or None,
        continue_id=info.trial.trial_id,
    )
    tb_cb = det.keras.TensorBoard(core_context, histogram_freq=1)

    random = np.random.RandomState(1)
    x, y = random.rand(800, 4), random.rand(800, 1)
    print("begins at", det_cb.batches, "of", sys.argv[1:])
    history = model.fit(
        x,
        y,
        epochs=info.trial.hparams["epochs"],
        batch_size=8,
        validation_split=0.5,
        verbose=0,
        callbacks=[det_cb, tb_cb, Slowly()],
    )
    print("trained", history.epoch, "and", int(model.optimizer.iterations.numpy()), "batches")


if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    distributed, strategy = det.core.DistributedContext.from_tf_config()
    with det.core.init(distributed=distributed) as core_context:
        main(core_context, strategy)
END
cat >guide/const.yaml <<'END'
name: guide
entrypoint: >-
  python3 -m determined.launch.tensorflow --
  python3 my_train.py --my-arg 7
hyperparameters: {epochs: 12, start: ""}
searcher: {name: single, metric: val_loss}
max_restarts: 0
END
ok "the guide's script" create guide
trains() { det trial metrics 1 --csv | grep -q ',training,loss,'; }
soon 'it trains' trains
ok 'it is paused' det e pause 1
soon '... and stops' is_state PAUSED 1
ok 'it goes on' det e activate 1
ends_well() { det e wait "$1" || { det e logs "$1" | tail -30; return 1; }; }
ok '... to its end' ends_well 1
det e logs 1 >"$OUT"
says "begins at 0 of ['--my-arg', '7']"
says 'continuing after'
says 'trained [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] and 600 batches'
says 'model.compile() with metrics as third argument is of Keras 2 and still understood'
det trial metrics 1 --csv >metrics.csv
count() { grep -c ",$1,$2," metrics.csv; }
same 'an epoch has one report' 12 "$(count training loss)"
same '... and one validation' 12 "$(count validation loss)"
same '... which the searcher finds by its other name' 12 "$(count validation val_loss)"
same '... of batches and epochs' '600 12' "$(sed -n 's/.*,validation,batches,//p' metrics.csv | tail -1) $(sed -n 's/.*,validation,epochs,//p' metrics.csv | tail -1)"
events() { find "$DATA" -name '*tfevents*' -path '*tensorboard*' | grep -q validation; }
ok "TensorBoard's files lie in the checkpoint storage" events

UUID=$(det e list-checkpoints 1 --csv | grep ,COMPLETED, | tail -1 | grep -o "[0-9a-f-]\{36\}")
ok 'another experiment' det e create guide/const.yaml guide -f --config hyperparameters.epochs=1 --config hyperparameters.start="$UUID"
says 'beginning with the weights of the checkpoint'
says 'trained [0] and 50 batches'
