# SPDX-License-Identifier: Apache-2.0
# Core API scripts as people write them for Determined 0.38: metrics, checkpoints, preemption,
# operations of the searcher, hyperparameters that cannot work; searched, paused and resumed.
. "$(dirname "$0")/lib.sh"
need python3 jq
BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'the Core API works in tasks' 'the Python package is not built'
    exit 0
fi
platform

# ---- the whole of it, in one script

mkdir train
cat >train/train.py <<'END_OF_SCRIPT'
import json
import logging
import pathlib
import time

import determined as det


def save(core_context, step, state):
    metadata = {"steps_completed": step, "note": "mine"}
    with core_context.checkpoint.store_path(metadata) as (path, storage_id):
        (path / "state.json").write_text(json.dumps(state))
    return storage_id


def load(core_context, latest):
    with core_context.checkpoint.restore_path(latest) as path:
        return json.loads((path / "state.json").read_text())


def main(core_context, hparams, info):
    state = {"weight": 0.0, "step": 0}
    if info.latest_checkpoint is not None:
        state = load(core_context, info.latest_checkpoint)
        logging.info("resumed at step %d", state["step"])
    core_context.train.set_status("training")
    last = None
    for op in core_context.searcher.operations():
        while state["step"] < op.length:
            state["step"] += 1
            state["weight"] += hparams["optimizer"]["lr"]
            step = state["step"]
            core_context.train.report_training_metrics(step, {"weight": state["weight"]})
            if step % 10 == 0:
                last = step
                core_context.train.report_validation_metrics(step, {"loss": 1 / step, "step": step})
                op.report_progress(step)
            if hparams["wait"]:
                time.sleep(0.02 if info.latest_checkpoint else 0.2)
            if core_context.preempt.should_preempt():
                logging.info("stopping at step %d", step)
                save(core_context, step, state)
                return
        op.report_completed(1 / op.length)
    storage_id = save(core_context, state["step"], state)
    print("metadata", json.dumps(core_context.checkpoint.get_metadata(storage_id), sort_keys=True))
    core_context.checkpoint.download(storage_id, "got")
    print("downloaded", sorted(path.name for path in pathlib.Path("got").iterdir()))
    print("units", core_context.searcher.get_configured_units())
    print(f"ended at {state['step']} with {state['weight']:.6f}")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    assert info is not None, "this runs on a cluster"
    assert info.task_type == "TRIAL" and info.user_data == {"url": "here"}, info.user_data
    print("trial", info.trial.trial_id, "of", info.trial.experiment_id, sorted(info.trial.hparams))
    with det.core.init() as core_context:
        main(core_context, info.trial.hparams, info)
END_OF_SCRIPT
cat >train/const.yaml <<'END'
name: core-api
entrypoint: python3 train.py
data: {url: here}
hyperparameters:
  optimizer: {lr: 0.5}
  wait: false
searcher: {name: single, metric: loss, max_length: {batches: 40}}
max_restarts: 0
END
ok 'a script of the Core API runs' create train -f
says 'trial 1 of 1'
says "metadata {\"note\": \"mine\", \"steps_completed\": 40}"
says "downloaded ['metadata.json', 'state.json']"
says 'units Unit.BATCHES'
says 'ended at 40 with 20.000000'
says 'experiment 1 is COMPLETED'
same 'its training metrics are there' 40 "$(det t metrics 1 --csv | grep -c ,training,weight,)"
same 'and its validations' 4 "$(det t metrics 1 --csv | grep -c ,validation,loss,)"
same 'and its checkpoint' 1 "$(det e list-checkpoints 1 --csv | grep -c ,COMPLETED,)"
same 'and what it did last' '"training"' "$(api GET /api/v1/trials/1 | sed '$d' | jq -c .trial.runnerState)"

# ---- a search

sed -e 's/lr: 0.5/lr: {type: categorical, vals: [0.25, 0.5, 1.0]}/' -e 's/name: single/name: grid/' \
    train/const.yaml >train/grid.yaml
ok 'it is searched' det e create train/grid.yaml train -f
says 'experiment 2 is COMPLETED'
same 'with three trials' 3 "$(det e list-trials 2 --csv | grep -c ,COMPLETED,)"

# ---- paused and resumed

sed -e 's/wait: false/wait: true/' -e 's/batches: 40/batches: 150/' train/const.yaml >train/slow.yaml
ok 'a slow one begins' det e create train/slow.yaml train
has_reported() { det t metrics 5 --csv | grep -q ,validation,loss,; }
soon 'it trains' has_reported
ok 'it is paused' det e pause 3
soon 'and rests' is_state PAUSED 3
soon 'it left a checkpoint' sh -c 'det e list-checkpoints 3 --csv | grep -q ,COMPLETED,'
ok 'it is activated' det e activate 3
ok 'and finishes' det e wait 3
det t logs 5 >"$OUT"
says 'stopping at step'
says 'resumed at step'
says 'ended at 150 with 75.000000'
stopped=$(sed -n 's/.*stopping at step //p' "$OUT" | head -1)
resumed=$(sed -n 's/.*resumed at step //p' "$OUT" | head -1)
same 'it went on with the very next step' "$stopped" "$resumed"
same 'no step is missing, and none is there twice' 150 "$(det t metrics 5 --csv | grep -c ,training,weight,)"

# ---- odd things

mkdir odd
cat >odd/train.py <<'END_OF_SCRIPT'
import math

import determined as det


def refused(call, *args):
    try:
        call(*args)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")


with det.core.init() as core_context:
    train = core_context.train
    train.report_training_metrics(1, {"nan": math.nan, "inf": math.inf, "less": -math.inf, "n": 7})
    train.report_training_metrics(2, {"word": "hello", "none": None, "deep": {"list": [1, 2]}})
    train.report_training_metrics(3, {"picture": b"bytes", "loss": 0.5}, batch_metrics=[{"loss": 0.5}])
    train.report_metrics("mine", 3, {"speed": 3.5})
    refused(train.report_validation_metrics, 3, {"loss": None})
    refused(train.report_training_metrics, 4, {"loss": object()})
    refused(train.report_training_metrics, "4", {"loss": 1.0})
    refused(train.report_progress, 1.5)
    refused(core_context.checkpoint.upload, ".", {})
    refused(core_context.searcher.operations)
    refused(core_context.preempt.acknowledge_preemption_signal)
    refused(core_context.checkpoint.delete, "0e5ad1f5-9bd7-43f4-b1ea-7f5b32f9e96b")
    print("metadata", train.get_metadata())
    print("metadata", train.set_metadata({"a": {"b": 1}}))
    print("metadata", train.get_metadata())
    print("best", train.get_experiment_best_validation())
    train.report_validation_metrics(3, {"loss": 0.25})
    core_context._det.flush(30000)
    print("best", train.get_experiment_best_validation())
    saved = []
    for step in (3, 4):
        with core_context.checkpoint.store_path({"steps_completed": step}) as (path, storage_id):
            (path / "file").write_text("x")
        saved.append(storage_id)
    core_context.alert(title="look", description="at this", level="info")
    core_context.checkpoint.delete(saved[0])
    refused(core_context.checkpoint.delete, saved[1])
END_OF_SCRIPT
cat >odd/const.yaml <<'END'
name: odd
entrypoint: python3 train.py
hyperparameters: {lr: 0.1}
searcher: {name: single, metric: loss}
max_restarts: 0
END
ok 'odd things are said, and the trial goes on' create odd -f
says "InvalidError: the validation metric 'loss' is null"
says "TypeError: metric 'loss' is of type object"
says "TypeError: steps_completed is '4'; expected a whole number"
says 'InvalidError: the progress is 1.5; expected 0 to 1'
says "ValueError: the metadata of a checkpoint needs 'steps_completed'"
says 'ValueError: the searcher of this experiment has no max_length'
says 'StateError: the platform has not asked this program to stop'
says 'NotFoundError: there is no checkpoint 0e5ad1f5'
says "metric 'picture' is bytes"
says 'metadata None'
says "metadata {'a': {'b': 1}}"
says 'best None'
says 'best 0.25'
says 'trial 6 is not over and would resume from it'
says '[alert] look: at this'
# Files are removed in the background: a deletion that was accepted may still be under way.
one_is_left() { [ "$(det e list-checkpoints 4 --csv | grep -c ,COMPLETED,)" = 1 ]; }
soon 'a checkpoint was deleted, the other is there' one_is_left
det t metrics 6 --csv >metrics
cp metrics "$OUT"
grep -qi ',training,nan,nan' metrics
result $? 'NaN is stored as such'
grep -qi ',training,less,-inf' metrics
result $? 'infinity too'
grep -q ',training,word,hello' metrics
result $? 'words too'
grep -q ',mine,speed,3.5' metrics
result $? 'a group of its own too'
! grep -q picture metrics
result $? 'bytes are not'

# ---- hyperparameters that cannot work

mkdir invalid
cat >invalid/train.py <<'END_OF_SCRIPT'
import determined as det

info = det.get_cluster_info()
with det.core.init() as core_context:
    if info.trial.hparams["lr"] > 1:
        raise det.InvalidHP("lr is too large")
    core_context.train.report_validation_metrics(1, {"loss": info.trial.hparams["lr"]})
END_OF_SCRIPT
sed -e 's/name: odd/name: invalid/' -e 's/lr: 0.1/lr: {type: categorical, vals: [0.1, 10.0]}/' \
    -e 's/name: single/name: grid/' odd/const.yaml >invalid/const.yaml
ok 'a search with hyperparameters that cannot work ends well' create invalid -f
says 'experiment 5 is COMPLETED'
det t logs 8 >"$OUT"
says_not 'Traceback'

# ---- without a platform

cat >offline.py <<'END_OF_SCRIPT'
import determined as det

assert det.get_cluster_info() is None
with det.core.init() as core_context:
    for op in core_context.searcher.operations():
        core_context.train.report_training_metrics(op.length, {"loss": 1.0})
        with core_context.checkpoint.store_path({"steps_completed": op.length}) as (path, storage_id):
            (path / "file").write_text("x")
    print("preempted", core_context.preempt.should_preempt())
END_OF_SCRIPT
ok 'a script runs without a platform' \
    env PYTHONPATH="$BUILD/pylib" DET_OFFLINE_DIR="$T/offline" python3 offline.py
says 'preempted False'
same 'its checkpoint is there' 1 "$(find offline/checkpoints -name file | wc -l)"
