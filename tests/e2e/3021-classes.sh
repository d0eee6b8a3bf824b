# SPDX-License-Identifier: Apache-2.0
# Trials by their class: `entrypoint: model_def:Trial`.  How many processes are started, how user code
# fails, and the same without a master.  The trial is one of our own: no framework is needed.
. "$(dirname "$0")/lib.sh"
need python3 jq
BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'trials run by their class' 'the Python package is not built'
    exit 0
fi
mkdir model
cat >model/model_def.py <<'END'
import os
import determined as det


class Controller(det.TrialController):
    def __init__(self, context, trial):
        super().__init__(context)
        self.trial = trial

    def run(self):
        ranks, core = self.context.distributed, self.context._core
        words = [self.context.get_hparam("lr"), os.environ.get("DET_LAUNCH"), os.environ.get("DET_TEST_MODE")]
        print(f"process {ranks.rank} of {ranks.size}", *words, flush=True)
        self.trial.train()
        ranks.allgather(None)
        if ranks.rank == 0:
            core.train.report_validation_metrics(1, {"loss": 0.5})


class Base(det.LegacyTrial):
    trial_controller_class = Controller


class Trial(Base):
    def __init__(self, context):
        self.context = context

    def train(self):
        pass


class Broken(Trial):
    def train(self):
        self.context.get_hparam("width")


class Invalid(Trial):
    def train(self):
        raise det.InvalidHP("the learning rate is odd")


class Quits(Trial):
    def train(self):
        raise SystemExit(3)


class Other:
    pass
END
cat >model/const.yaml <<'END'
name: model
entrypoint: model_def:Trial
hyperparameters: {lr: 0.5}
resources: {slots_per_trial: 1}
searcher: {name: single, metric: loss}
max_restarts: 0
END

# ---- without a master

ok 'it runs here' det e create --local model/const.yaml model
says_line 'process 0 of 1 0.5 None None'
ok 'it is shown like any run' det e list --local --csv
says '1,model,COMPLETED'
ok 'with its metrics' det e metrics 1 --local --csv
says ',validation,loss,0.5'
ok 'a test is asked to be short' det e create --local=runs/test --test model/const.yaml model
says_line 'process 0 of 1 0.5 None 1'
ok 'in a folder that has a name' det e list --local=runs --csv
says '1,model,COMPLETED'
ok 'a search has its first trial here' det e create --local=runs/search model/const.yaml model \
    --config 'hyperparameters={lr: {type: categorical, vals: [1, 2, 3, 4, 5, 6, 7, 8]}}' \
    --config searcher.name=grid --config reproducibility.experiment_seed=3 --config resources.slots_per_trial=2
first=$(sed -n 's/process 0 of 1 \([1-8]\) None None/\1/p' "$OUT")
says "searcher 'grid': only the first trial runs here"
says 'slots_per_trial is 2: here the trial is one process'
ok 'inside of a task, too' env DET_ALLOCATION_ID=1.1 DET_RUN_DIR=/nowhere DET_LAUNCH=mpi \
    det e create --local=runs/inside model/const.yaml model
says_line 'process 0 of 1 0.5 None None'
ok 'any entrypoint does' det e create --local=runs/echo model/const.yaml model --config 'entrypoint=echo $DET_HPARAMS'
says_line '{"lr":0.5}'
if command -v mpirun >/dev/null; then
    ok 'a launch layer starts one process' det e create --local=runs/mpi model/const.yaml model \
        --config 'entrypoint=det launch mpi -- python3 -m determined.exec.harness model_def:Trial'
    says_line '[rank=0] process 0 of 1 0.5 mpi None'
fi
fails 11 'a test needs no master' det e create --test model/const.yaml model
says 'use --local --test'
fails 2 'nor does it fork' det e create --local --fork 1
says '--local and --fork cannot be used together'

here() { det e create --local=runs/bad model/const.yaml model --config "entrypoint=model_def:$1"; }
fails 1 'user code that raises fails' here Broken
says_line 'Traceback (most recent call last):'
says 'self.context.get_hparam("width")'
says_line "ValueError: there is no hyperparameter 'width'; there are: lr"
says_not 'harness.py'
says_not '_trial.py'
ok 'its run has failed' det e list --local=runs/bad --csv
says '1,model,ERROR'
fails 3 'an exit is kept' here Quits
fails 2 'what is no trial is refused' here Other
says_line "determined: 'model_def:Other' is not a trial: expected a subclass of TFKerasTrial, PyTorchTrial or another Trial of a front end"
fails 2 'what is not there too' here Nobody
says_line "determined: the module 'model_def' has no 'Nobody'; its trials are: Broken, Invalid, Quits, Trial"
fails 2 'or not complete' here Base
says "cannot be run: it does not define __init__"
fails 2 'a module that is not there' det e create --local=runs/bad model/const.yaml model --config entrypoint=model:Trial
says_line "determined: the entrypoint names the module 'model', but there is no 'model' in the model definition: it has model_def.py"
mkdir package
cp model/const.yaml package
sed -i '/entrypoint/d' package/const.yaml
cp model/model_def.py package
fails 2 'no entrypoint and no package' det e create --local=runs/bad package/const.yaml package
says 'the model definition has no __init__.py'
echo 'from .model_def import Trial; import model_def' >package/__init__.py
ok 'the one trial of the folder is its entrypoint' det e create --local=runs/package package/const.yaml package
says_line 'process 0 of 1 0.5 None None'
echo 'from model_def import *' >package/__init__.py
fails 2 'several are not' det e create --local=runs/bad package/const.yaml package
says 'this one has 4: Broken, Invalid, Quits, Trial'

# ---- in tasks

platform
ok 'a class is an entrypoint' create model -f
says '|| process 0 of 1 0.5 None None'
ok 'a search is the same there' create model -f \
    --config 'hyperparameters={lr: {type: categorical, vals: [1, 2, 3, 4, 5, 6, 7, 8]}}' \
    --config searcher.name=grid --config reproducibility.experiment_seed=3 --config 'entrypoint=exit 0'
same '... and has the first trial that was run here' "$first" "$(det t describe "$ID" --json | jq -r '[.. | .hparams? // empty][0].lr')"
fails 1 'user code that raises fails the trial' create model -f --config entrypoint=model_def:Broken
says 'ValueError: there is no hyperparameter'
says_not 'harness.py'
ok 'odd hyperparameters end it' create model --config entrypoint=model_def:Invalid
det e wait "$ID" >/dev/null 2>&1
det e logs "$ID" >"$OUT"
says 'these hyperparameters cannot be trained: the learning rate is odd'
says_not 'Traceback'
if [ "$(det slot list --csv | grep -c ,)" -lt 3 ] || ! command -v mpirun >/dev/null; then
    skip 'two slots are two processes' 'there are not two slots, or no mpirun'
    exit 0
fi
processes() { grep -o 'process [0-9] of [0-9].*' "$OUT" | sort | xargs; }
ok 'two slots are two processes' create model -f --config resources.slots_per_trial=2
same 'which started themselves' 'process 0 of 2 0.5 mpi None process 1 of 2 0.5 mpi None' "$(processes)"
says '[rank=1] || process 1 of 2'
ok 'where a launcher is named' create model -f --config resources.slots_per_trial=2 \
    --config 'entrypoint=det launch mpi -- python3 -m determined.exec.harness --train-entrypoint model_def:Trial'
same 'they are not launched again' 'process 0 of 2 0.5 mpi None process 1 of 2 0.5 mpi None' "$(processes)"
ok 'also where it is not ours' create model -f --config resources.slots_per_trial=2 \
    --config 'entrypoint=mpirun --allow-run-as-root --oversubscribe -n 2 python3 -m determined.exec.harness model_def:Trial'
# mpirun by itself may mix the ends of lines
same '... and are two' 'process 0 of 2 process 1 of 2' "$(grep -o 'process [0-9] of [0-9]' "$OUT" | sort | xargs)"
ok 'one process for all slots' create model -f --config resources.slots_per_trial=2 \
    --config 'entrypoint=det launch tensorflow_distributed -- python3 -m determined.exec.harness model_def:Trial'
same '... is one' 'process 0 of 1 0.5 tensorflow_distributed None' "$(processes)"
printf 'from determined import _launch\nimport os\nos.chdir("/")\n_launch.relaunch_if_needed()\nprint("process", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], __import__("sys").argv[1:])\n' >model/train.py
ok 'a script starts itself with its arguments' create model -f --config resources.slots_per_trial=2 \
    --config 'entrypoint=python3 -u train.py --x "a b"'
same '... once a slot' "process 0 of 2 [--x, a b] process 1 of 2 [--x, a b]" "$(processes)"
ok 'one from standard input cannot' create model --config resources.slots_per_trial=2 \
    --config 'entrypoint=python3 - <train.py'
det e wait "$ID" >/dev/null 2>&1
det e logs "$ID" >"$OUT"
says 'a program from standard input cannot be started again'
fails 1 'user code that raises fails them all' create model -f --config resources.slots_per_trial=2 \
    --config entrypoint=model_def:Broken
says 'ValueError: there is no hyperparameter'
