# SPDX-License-Identifier: Apache-2.0
# Trials that do not stop when asked, limits, and starts from another trial.
. "$(dirname "$0")/lib.sh"
need curl jq
platform --slots 3
folder deaf <<'END'
#!/bin/sh
trap '' TERM
echo "run $DET_TRIAL_RUN_ID" >>"$HOME/deaf-$DET_EXPERIMENT_ID"
until [ -e "$HOME/end" ]; do sleep 0.05; done
END
echo 'preemption_timeout: 1' >>deaf/const.yaml
has() { grep -qx "run $2" "$HOME/deaf-$1"; }
create deaf >/dev/null
soon 'a trial that does not listen runs' has 1 1
ok 'it is paused' det e pause 1
soon 'and ended after the time it has for that' sh -c '! det task list --csv | grep -q "^1\."'
same 'it is PAUSED' PAUSED "$(state 1)"
ok 'it can be activated' det e activate 1
soon 'and runs again' has 1 2
ok 'it is canceled' det e cancel 1
fails 1 'and ends after that time too' det e wait 1 --timeout 120
same 'as CANCELED' CANCELED "$(state 1)"
touch "$HOME/end"

# At most so many trials at once.
folder count <<'END'
#!/bin/sh
mkdir "$HOME/running-$DET_TRIAL_ID"
ls -d "$HOME"/running-* | wc -l >>"$HOME/most"
sleep 0.3
rmdir "$HOME/running-$DET_TRIAL_ID"
END
cat >count/const.yaml <<'END'
name: count
entrypoint: ./run.sh
searcher: {name: grid}
hyperparameters: {x: {type: int, minval: 1, maxval: 6, count: 6}}
max_restarts: 0
END
ok 'a search with max_concurrent_trials: 1 completes' create count -f --config searcher.max_concurrent_trials=1
same 'its trials ran one by one' 1 "$(sort -n "$HOME/most" | tail -1)"
same 'all six' 6 "$(grep -c . "$HOME/most")"

# One that needs no slot at all.
printf '#!/bin/sh\necho "slots: $DET_SLOT_IDS"\n' | folder none
ok 'a trial without slots runs' create none -f --config resources.slots_per_trial=0
says 'slots: []'

# From another trial's checkpoint.
folder first <<'END'
#!/bin/sh
uuid=0000000a-1111-4222-8333-444444444444
mkdir -p "$(echo "$DET_EXPERIMENT_CONFIG" | jq -r .checkpoint_storage.host_path)/$uuid"
curl -s -f -X POST "$DET_MASTER/api/v1/checkpoints" \
    -H "Grpc-Metadata-x-allocation-token: Bearer $DET_SESSION_TOKEN" \
    -d "{\"uuid\":\"$uuid\",\"taskId\":\"$DET_TASK_ID\",\"allocationId\":\"$DET_ALLOCATION_ID\",
         \"metadata\":{\"steps_completed\":70},\"resources\":{},\"training\":{},
         \"reportTime\":\"2026-01-01T00:00:00Z\",\"state\":\"STATE_COMPLETED\"}"
END
ok 'a trial leaves a checkpoint' create first -f
TRIAL=$(det e list-trials "$ID" --csv | sed -n '2s/,.*//p')
printf '#!/bin/sh\necho "from ${DET_LATEST_CHECKPOINT-none} at $DET_STEPS_COMPLETED"\n' | folder second
ok 'another starts from that trial' create second -f --config searcher.source_trial_id="$TRIAL"
says 'from 0000000a-1111-4222-8333-444444444444 at'
ok 'or from the checkpoint itself' create second -f --config searcher.source_checkpoint_uuid=0000000a-1111-4222-8333-444444444444
says 'from 0000000a-1111-4222-8333-444444444444 at'
fails 4 'a trial that is not there is refused' create second --config searcher.source_trial_id=999
fails 4 'a checkpoint that is not there too' create second --config searcher.source_checkpoint_uuid=0000000b-1111-4222-8333-444444444444

# A shell that heads the task dies of SIGTERM at once; what it started has its time.
folder saver <<'END'
#!/bin/sh
trap 'sleep 1.5; echo saved at last; exit 0' TERM
echo ready to save
while :; do sleep 0.1; done
END
ok 'a task that saves when it is asked to end begins' create saver
until_true sh -c "det e logs $ID | grep -q 'ready to save'"
ok 'the platform is stopped' det stop
ok 'and started again' det e list
until_true sh -c "det e logs $ID | grep -q 'saved at last'"
ok 'the task had the time to save' sh -c "det e logs $ID | grep 'saved at last'"
# A kill and a stop while a run begins: nothing is left when it says "stopped".
ok 'it is killed in the end' det e kill "$ID"
ok 'and all is stopped' det stop
says_line 'stopped'
same 'no process is left' '' "$(ours)"

# Supervisors outlive their agent; a stop ends them all the same.
ok 'it starts again' det e list
ok 'a task begins' create saver
until_true sh -c "det e logs $ID | grep -q 'ready to save'"
AGENT=$(jq .pid "$DATA/agent/agent.json")
slay "$(jq .pid "$DATA/master.json")"
slay "$AGENT"
ok 'a stop after master and agent were killed' det stop
says_line 'stopped'
same 'leaves no process either' '' "$(ours)"
