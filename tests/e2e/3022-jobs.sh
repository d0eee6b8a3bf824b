# SPDX-License-Identifier: Apache-2.0
# Generic jobs, with data, a folder, logs and a state.
. "$(dirname "$0")/lib.sh"
need python3
platform --slots 2
job() { sed -n 's/^Created job //p' "$OUT"; }
job_state() { det task describe "$1" | sed -n 's/^ *state  *//p'; }
is_job() { [ "$(job_state "$1")" = "$2" ]; }

mkdir infer
cat >infer/batch_inference.yaml <<'END'
entrypoint_script: python3 batch_inference.py
data:
    trial_id: 777
    batch_size: 64
resources:
    slots: 1
END
cat >infer/batch_inference.py <<'END'
import os
import determined as det
info = det.get_cluster_info()
print("data", info.user_data, "type", info.task_type, "slots", info.slot_ids)
print("a trial's variables:", [n for n in os.environ if n.startswith(("DET_TRIAL", "DET_EXPERIMENT"))])
try:
    info.trial
except RuntimeError as error:
    print("no trial:", error)
with det.core.init() as context:
    print("preempted:", context.preempt.should_preempt())
    try:
        context.train.report_training_metrics(1, {"loss": 1})
    except Exception as error:
        print("no report:", error)
END
cd infer || exit 99
if [ -e "$(dirname "$DET")/pylib/determined/_det.abi3.so" ]; then
    ok 'the job of the document runs, and is followed to its end' det job run -f batch_inference.yaml .
    says "data {'trial_id': 777, 'batch_size': 64} type GENERIC slots [0]"
    says "a trial's variables: []"
    says "no trial: this task is a job, not a trial: only trials have 'trial'"
    says 'preempted: False'
    says 'no report: this task is a job, not a trial'
    says 'is COMPLETED'
else
    skip 'the job of the document runs' 'the Python package is not built'
fi
ok 'also in any other language' det job run -f batch_inference.yaml . \
    --config 'entrypoint_script=echo "data $DET_TASK_CONFIG"; ls'
says '"data":{"trial_id":777,"batch_size":64}'
says 'batch_inference.py'
cd .. || exit 99
FIRST=$(job)
ok 'it has a description' det task describe "$FIRST"
says 'COMPLETED'
says 'it finished'
ok 'the first digits of its name will do' det task logs "$(echo "$FIRST" | cut -c1-8)"
says '"batch_size":64'
ok 'its configuration is complete' det task config "$FIRST"
says 'trial_id: 777'
says 'preemption_timeout: 10'
ok 'what is over is not listed' det task list
says 'no task is running or waiting'
ok 'unless all is asked for' det task list --all
says "$FIRST"
ok 'the same again, with other data' det task fork "$FIRST" --config data.batch_size=8 -f
says '"batch_size":8'
ok 'which says what it came from' det task describe "$(job)"
says "forked from  $FIRST"

mkdir fail
printf 'entrypoint: "echo nearly; echo it broke >&2; exit 3"\nname: broken\n' >fail/job.yaml
fails 1 'one that fails says so with its exit code' det job run -f fail/job.yaml
says 'it broke'
says 'is ERROR: exited with code 3'
BROKEN=$(job)
ok 'it was tried once' det task describe "$BROKEN"
says "$BROKEN.1"
says 'last line    it broke'
says_not "$BROKEN.2"

# Goes on until it is asked to stop; remembers in the home what happened.
folder polite <<'END'
#!/bin/sh
echo "run $DET_ALLOCATION_ID $DET_SLOT_IDS" >>"$HOME/polite"
until det preempted; do
    [ -e "$HOME/end" ] && exit 0
    sleep 0.05
done
echo 'asked to stop' >>"$HOME/polite"
END
printf 'entrypoint: ./run.sh\nname: polite\nresources: {slots: 2}\n' >polite/job.yaml
ok 'det task create is the same command' det task create polite/job.yaml polite
POLITE=$(job)
soon 'it runs on both slots' grep -qxF "run $POLITE.1 [0,1]" "$HOME/polite"
ok 'a second one waits' det job run polite/job.yaml polite --config resources.slots=1 --no-pause
NEXT=$(job)
ok 'the queue shows jobs' det job list
says "$POLITE"
ok 'and experiments alike' create polite
ok 'in one list' sh -c 'det job list --csv | cut -d, -f3,11'
says_line 'SCHEDULED,job'
says_line 'QUEUED,job'
says_line 'QUEUED,experiment'
ok 'a job moves in the queue' det job update "$NEXT" --priority 3
ok 'det task list has them all' det task list
says "$NEXT"
says "Trial 1 (Experiment 1)"
ok 'pause asks it to stop' det task pause "$POLITE"
says_line "Paused task $POLITE"
soon 'it saw it' grep -qx 'asked to stop' "$HOME/polite"
soon 'and it rests' is_job "$POLITE" PAUSED
ok 'it is listed' sh -c "det task list | grep $POLITE"
says 'PAUSED'
ok 'pausing it changes nothing' det task pause "$POLITE"
says_line "task $POLITE was already PAUSED"
soon 'the next one has begun' grep -qF "run $NEXT.1" "$HOME/polite"
fails 5 'which may not be paused' det task pause "$NEXT"
says 'cannot be paused'
ok 'it can be killed' det task kill "$NEXT"
soon 'and is CANCELED' is_job "$NEXT" CANCELED
ok 'so can the experiment' det e kill 1
ok 'unpause lets the first begin again' det task unpause "$POLITE"
soon 'from its start' grep -qF "run $POLITE.2" "$HOME/polite"

slay "$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DATA/master.json")"
platform --slots 2
soon 'a master that was killed finds it running' is_job "$POLITE" ACTIVE
touch "$HOME/end"
soon 'it goes on to its end' is_job "$POLITE" COMPLETED
same 'in the same run' 2 "$(grep -c "run $POLITE" "$HOME/polite")"
fails 5 'what is over cannot be paused' det task pause "$POLITE"
says "task $POLITE had already ended (COMPLETED)"
fails 5 'nor unpaused' det task unpause "$POLITE"
ok 'killing it is no error' det task kill "$POLITE"
says "had already ended (COMPLETED)"

# A program that does not listen is ended in the time it has.
printf 'entrypoint: sleep 600\npreemption_timeout: 1\n' >fail/deaf.yaml
ok 'one that does not listen' det job run fail/deaf.yaml
DEAF=$(job)
soon 'runs' sh -c "det task list | grep $DEAF | grep -q RUNNING"
ok 'it is asked to stop' det task pause "$DEAF"
soon 'and killed after the time it has for that' is_job "$DEAF" PAUSED
ok 'a paused job is killed' det task kill "$DEAF"
same 'at once' CANCELED "$(job_state "$DEAF")"

if command -v mpirun >/dev/null; then
    mkdir ranks
    echo 'echo "I am $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE"' >ranks/rank.sh
    printf 'entrypoint: det launch mpi -- sh rank.sh\nresources: {slots: 2}\n' >ranks/job.yaml
    ok 'the launch layers start a process a slot' det job run -f ranks/job.yaml ranks
    says '[rank=0] || I am 0 of 2'
    says '[rank=1] || I am 1 of 2'
else
    skip 'the launch layers start a process a slot' 'mpirun is not here'
fi

# Bad input.
printf 'name: x\n' >bad.yaml
fails 2 'a job needs an entrypoint' det job run bad.yaml
says 'entrypoint'
printf 'entrypoint: a\nhyperparameters: {}\n' >bad.yaml
fails 2 'a key that jobs do not have is named with its place' det job run bad.yaml
says 'bad.yaml:2'
says 'hyperparameters'
printf 'entrypoint: a\nresources: {slots: 3}\n' >bad.yaml
fails 2 'more slots than there are' det job run bad.yaml
says 'slots requested exceeds cluster capacity: 3 are wanted'
printf 'entrypoint: a\nwork_dir: /tmp\n' >bad.yaml
fails 11 'what is not built is said' det job run bad.yaml
says 'work_dir'
printf 'entrypoint: a\n' >bad.yaml
fails 4 'a folder that is not there' det job run bad.yaml nowhere
says 'nowhere'
fails 4 'a file that is not there' det job run nowhere.yaml
for verb in describe logs config kill pause unpause fork; do
    fails 4 "$verb of a task that is not there" det task $verb 11111111-2222-4333-8444-555555555555
    says "task '11111111-2222-4333-8444-555555555555' not found"
done
fails 4 'nor is there one that begins so' det task kill abcdef
fails 2 'a trial is steered by its experiment' det task kill "$(det e list-trials 1 --json | sed -n 's/.*"taskIds":.*\["\([^"]*\)".*/\1/p' | head -1)"
