# SPDX-License-Identifier: Apache-2.0
# libdet in tasks: examples/xor_c, searched; paused and resumed to the bit; checkpoints of
# scripts.
. "$(dirname "$0")/lib.sh"
need cc jq
platform

cp -r "$HERE/../../examples/xor_c" xor_c
ok 'the example runs' det e create xor_c/xor.yaml xor_c -f
says 'experiment 1 is COMPLETED'
same 'with six trials' 6 "$(det e list-trials 1 --csv | grep -c ,COMPLETED,)"
same 'each with 100 training reports' 100 "$(det t metrics 1 --csv | grep -c ,training,loss,)"
same 'and 20 validations' 20 "$(det t metrics 1 --csv | grep -c ,validation,accuracy,)"
same 'and two checkpoints, some of which may go' 12 "$(det e list-checkpoints 1 --csv | tail -n +2 | grep -vc ',ERROR,')"

# ---- disturbed and undisturbed

sed -e 's/lr: .*/lr: 0.1/' -e 's/hidden: .*/hidden: 16/' -e 's/steps: .*/steps: 12000000/' \
    -e 's/name: grid/name: single/' -e '/max_concurrent/d' xor_c/xor.yaml >xor_c/long.yaml
ok 'an undisturbed run' det e create xor_c/long.yaml xor_c -f
says 'experiment 2 is COMPLETED'
ok 'another one begins' det e create xor_c/long.yaml xor_c
has_reported() { det t metrics 8 --csv | grep -q ,training,loss,; }
soon 'it trains' has_reported
ok 'it is paused in the middle' det e pause 3
soon 'and rests' is_state PAUSED 3
soon 'it left a checkpoint' sh -c 'det e list-checkpoints 3 --csv | grep -q ,COMPLETED,'
ok 'it is activated' det e activate 3
ok 'and finishes' det e wait 3
says 'experiment 3 is COMPLETED'
det t logs 8 >log
cp log "$OUT"
grep -q 'run 2 begins at step [1-9]' log
result $? 'it went on where it was'
bits() { det t logs "$1" | sed -n 's/.*the first weight is //p'; }
[ -n "$(bits 7)" ]
result $? 'the weights are known to the bit'
same 'both ended with the same bits' "$(bits 7)" "$(bits 8)"
rows() { det t metrics "$1" --csv | cut -d, -f1,3- | sed 's/^[0-9]*,//' | grep -o '\(training\|validation\),.*' | sort; }
same 'and the same curves' "$(rows 7)" "$(rows 8)"

# ---- from outside

uuid=$(det c list --trial 7 --json | jq -r '[.[] | select(.state == "STATE_COMPLETED")][0].uuid')
ok 'a checkpoint is downloaded' det c download "$uuid" -o got
says 'checked against its manifest'
ok 'with the state of the trial' test -s got/state

# ---- scripts

folder scripts <<'END'
#!/bin/sh
try() { "$@" 2>&1; echo "exit code $?"; }
try det report loss=
try det checkpoint restore back
try det checkpoint save nowhere --steps 1
try det checkpoint save state
mkdir -p state/deep
echo hello >state/deep/file
uuid=$(det checkpoint save state --steps 5 --metadata '{"note": "mine"}' --wait)
echo "saved $uuid"
try det checkpoint restore back
cat back/deep/file back/metadata.json
root=$(echo "$DET_EXPERIMENT_CONFIG" | jq -r '.checkpoint_storage.host_path + "/" + (.checkpoint_storage.storage_path // "")')
echo bad >"$root/$uuid/deep/file"
try det checkpoint restore again
echo hull0 >"$root/$uuid/deep/file"
try det checkpoint restore again --uuid "$uuid"
try det checkpoint restore again --uuid "$uuid" --unchecked
try det checkpoint restore back
echo '{"mine": 1}' >state/metadata.json
try det checkpoint save state --steps 6
mv "$root/$uuid" "$root/elsewhere"
try det checkpoint restore gone
mv "$root/elsewhere" "$root/$uuid"
try det report --status resting
try det report --steps 3 --validation loss=1 --wait
curl -s -H "Authorization: Bearer $DET_SESSION_TOKEN" "$DET_MASTER/api/v1/trials/$DET_TRIAL_ID" | jq -c '{state: .trial.runnerState, loss: .trial.latestValidation.metrics.avgMetrics.loss}'
END
ok 'a script uses checkpoints' create scripts -f
says "'loss=' has no value"
says 'this trial has no checkpoint yet'
says '--steps is missing'
says 'saved '
says '|| hello'
says '{"note":"mine","steps_completed":5}'
says "'deep/file' of the checkpoint has 4 bytes, not 6"
says "'deep/file' of the checkpoint has changed"
says 'it was removed, or the storage is not mounted here'
says "'metadata.json' in 'state' cannot be saved"
says '{"state":"resting","loss":1}'
det t logs 9 | sed 's/^[^|]*|| //' >log
same 'with these exit codes' '2 4 4 2 0 8 8 0 8 2 8 0 0' \
    "$(sed -n 's/^exit code //p' log | tr '\n' ' ' | sed 's/ $//')"
ok 'the checkpoint is listed' det e list-checkpoints 4
ok 'one that was not validated is not called the best' det t describe 9
says 'last saved'
bad=$(det c list --trial 9 --json | jq -r '.[0].uuid')
fails 8 'a damaged one is not downloaded' det c download "$bad" -o damaged
says "checkpoint $bad: the file 'deep/file' of the checkpoint is damaged"
same 'nothing of it is left' '' "$(ls -d damaged* 2>/dev/null)"
mkdir damaged
fails 8 'also not into a folder that is there' det c download "$bad" -o damaged
same 'which stays empty' '' "$(ls -A damaged)"
ok 'a whole one goes into it later' det c download "$uuid" -o damaged
ok 'with its files' test -s damaged/state
same 'and nothing else' 'manifest.det.json metadata.json state' "$(ls -A damaged | tr '\n' ' ' | sed 's/ $//')"
place=$(det c describe "$bad" | sed -n 's/^ *place *//p')
rm "$place/deep/file"
fails 8 'a missing file is named' det c download "$bad" -o missing
says "the file 'deep/file' of the checkpoint is missing"
rm -r "$place"
fails 8 'one that was removed is gone' det c download "$bad" -o missing
says "checkpoint $bad is missing: somebody has removed"

# ---- a script that must not begin from nothing

sed -n '/^`train.sh`, which can be stopped/,/^done/p' "$HERE/../../docs/guide/training-from-scripts.md" |
    sed -n '/^#!/,$p' >guide.sh
mkdir resumes
cp scripts/const.yaml resumes/const.yaml
cat >resumes/run.sh <<'END'
#!/bin/sh
case $DET_TRIAL_RUN_ID in
1)
    mkdir state
    echo 100 >state/step
    uuid=$(det checkpoint save state --steps 100 --wait)
    root=$(echo "$DET_EXPERIMENT_CONFIG" | jq -r '.checkpoint_storage.host_path + "/" + (.checkpoint_storage.storage_path // "")')
    echo 9 >"$root/$uuid/step"
    exit 1
    ;;
esac
exec sh ./guide.sh
END
cp guide.sh resumes/guide.sh
chmod +x resumes/run.sh
sed -i 's/max_restarts: .*/max_restarts: 1/' resumes/const.yaml
grep -q max_restarts resumes/const.yaml || echo 'max_restarts: 1' >>resumes/const.yaml
fails 1 "the guide's script stops at a damaged checkpoint" create resumes -f
says "'step' of the checkpoint has 2 bytes, not 4"
says_not 'run 2 begins'

# ---- hyperparameters that cannot work

sed -e 's/hidden: .*/hidden: 1000/' -e 's/name: grid/name: single/' -e 's/lr: .*/lr: 0.1/' -e '/max_concurrent/d' xor_c/xor.yaml >xor_c/bad.yaml
det e create xor_c/bad.yaml xor_c -f >"$OUT" 2>&1
says 'hidden must be 1 to 64'
says_not 'exited with code 1'
fails 2 'outside a task they say so' det checkpoint save . --steps 1
says "'det checkpoint save' works inside a task only: DET_ALLOCATION_ID is not set"
fails 2 'also report' det report loss=1
says "'det report' works inside a task only"
