# SPDX-License-Identifier: Apache-2.0
# A trial that fails starts again: so many times, and from its latest checkpoint.
. "$(dirname "$0")/lib.sh"
need curl jq
platform
folder failing <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID fails"
exit 4
END
sed -i 's/max_restarts: 0/max_restarts: 2/' failing/const.yaml
fails 1 'a trial that always fails ends in ERROR' create failing -f
same 'after max_restarts + 1 runs' 3 "$(det t logs 1 | grep -c 'run [0-9]* fails$')"
ok 'the log says how it ended' det t logs 1
says 'exited with code 4'
says 'exceeded max restarts'
ok 'the experiment says why' det e describe 1
says_line '  failed       exited with code 4; more in: det trial logs 1'
says_line 'last lines of trial 1:'
says 'run 3 fails'
ok 'so does the trial' det t describe 1
says_line '  failed       exited with code 4; more in: det trial logs 1'
same 'restarts are counted' 2 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"

# Reports a checkpoint as a harness does, then fails once.
folder resuming <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID: checkpoint '${DET_LATEST_CHECKPOINT-none}' steps '$DET_STEPS_COMPLETED'"
[ "$DET_TRIAL_RUN_ID" = 1 ] || exit 0
for n in 1 2; do
    uuid=0000000$n-1111-4222-8333-444444444444
    dir=$(echo "$DET_EXPERIMENT_CONFIG" | jq -r .checkpoint_storage.host_path)/$uuid
    mkdir -p "$dir"
    echo weights >"$dir/weights"
    det report --steps $((n * 100)) --validation loss=0.$n
    curl -s -f -X POST "$DET_MASTER/api/v1/checkpoints" \
        -H "Grpc-Metadata-x-allocation-token: Bearer $DET_SESSION_TOKEN" \
        -d "{\"uuid\":\"$uuid\",\"taskId\":\"$DET_TASK_ID\",\"allocationId\":\"$DET_ALLOCATION_ID\",
             \"metadata\":{\"steps_completed\":$((n * 100))},\"resources\":{\"weights\":\"8\"},
             \"training\":{},\"reportTime\":\"2026-01-01T00:00:0${n}Z\",\"state\":\"STATE_COMPLETED\"}" || exit 9
done
exit 5
END
sed -i 's/max_restarts: 0/max_restarts: 1/' resuming/const.yaml
ok 'a trial that fails once completes' create resuming -f
says "run 1: checkpoint 'none' steps '0'"
says "run 2: checkpoint '00000002-1111-4222-8333-444444444444' steps '200'"
STORE=$DATA/checkpoints
ok 'its checkpoints are listed' det e list-checkpoints 2
says '00000002-1111-4222-8333-444444444444'
ok 'the latest is on the disk' test -e "$STORE/00000002-1111-4222-8333-444444444444/weights"
ok 'the one before it too' test -e "$STORE/00000001-1111-4222-8333-444444444444/weights"
ok 'delete takes the rest' det e delete 2 --yes
soon 'from the disk too' sh -c "! ls '$STORE' | grep -q 1111-4222"
soon 'and the experiment is gone' sh -c '! det e describe 2'
