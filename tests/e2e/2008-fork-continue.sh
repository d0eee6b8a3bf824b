# SPDX-License-Identifier: Apache-2.0
# Experiments that begin where another one is, and experiments that go on after their end:
# with the same bits as one that was never disturbed.
. "$(dirname "$0")/lib.sh"
need cc jq
platform --slots 2

cp -r "$HERE/../../examples/xor_c" xor_c
sed -e 's/lr: .*/lr: 0.1/' -e 's/hidden: .*/hidden: 8/' -e 's/steps: .*/steps: 40000/' \
    -e 's/name: grid/name: single/' -e '/max_concurrent/d' xor_c/xor.yaml >xor_c/one.yaml
bits() { det t logs "$1" | sed -n 's/.*the first weight is //p' | tail -1; }
latest() { # TRIAL: the uuid of its last checkpoint
    det c list --trial "$1" --json |
        jq -r '[.[] | select(.state == "STATE_COMPLETED")] | max_by(.metadata.steps_completed).uuid'
}
describe() { det e describe "$@" >"$OUT"; }

# ---- going on

ok 'an undisturbed run of 40000 steps' det e create xor_c/one.yaml xor_c -f
ok 'one of 20000' det e create xor_c/one.yaml xor_c -f --config hyperparameters.steps=20000
fails 4 'what is not there cannot go on' det e continue 99
fails 2 'nor anything with a value that is wrong' det e continue 2 --config max_restarts=many
says max_restarts
fails 2 'nor into another workspace' det e continue 2 --config workspace=other
says 'workspace cannot change'
fails 2 'nor as another search' det e continue 2 --config searcher.name=random --config searcher.max_trials=2
says 'searcher.name cannot change'
ok 'it goes on to 40000' det e continue 2 --config hyperparameters.steps=40000 -f
says 'Continued experiment 2'
says 'experiment 2 is COMPLETED'
det t logs 2 >"$OUT"
says 'is continued from checkpoint'
says 'run 2 begins at step 20000'
[ -n "$(bits 1)" ]
result $? 'the weights are known to the bit'
same 'both ended with the same bits' "$(bits 1)" "$(bits 2)"
same 'it is the same trial' 1 "$(det e list-trials 2 --csv | grep -c ,COMPLETED,)"
same 'its configuration is the new one' 40000 \
    "$(det e config 2 | sed -n '/steps:/,$s/.*val: *\([0-9]*\)$/\1/p' | head -1)"

folder fails <<'END'
#!/bin/sh
[ -e "$HOME/mended" ] || exit 3
echo "all is well in run $DET_TRIAL_RUN_ID"
END
fails 1 'a trial fails for good' create fails -f
ok 'a fork of it waits' det e create --fork "$ID" --paused
fails 5 'what has not ended cannot go on' det e continue $((ID + 1))
says 'it is PAUSED'
touch "$HOME/mended"
ok 'it goes on once its cause is mended' det e continue "$ID" -f
says 'all is well in run 2'

# ---- a search

folder search <<'END'
#!/bin/sh
echo "$DET_TRIAL_ID in run $DET_TRIAL_RUN_ID" >>"$HOME/search"
mkdir "$HOME/first" 2>/dev/null || until [ -e "$HOME/go" ]; do sleep 0.05; done
END
cat >search/const.yaml <<'END'
name: search
entrypoint: ./run.sh
searcher: {name: grid, max_concurrent_trials: 2}
hyperparameters: {x: {type: int, minval: 1, maxval: 4, count: 4}}
max_restarts: 0
END
create search >/dev/null
until_true sh -c "grep -c . $HOME/search | grep -qx 3"
ok 'a search is killed in the middle' det e kill "$ID"
fails 1 'and ends' det e wait "$ID"
fails 2 'it cannot go on with changes' det e continue "$ID" --config max_restarts=1
says 'continues without changes'
touch "$HOME/go"
ok 'it goes on' det e continue "$ID"
ok 'and completes' det e wait "$ID"
same 'with four trials' 4 "$(det e list-trials "$ID" --csv | grep -c ,COMPLETED,)"
same 'of which two ran again' 2 "$(grep -c 'in run 2' "$HOME/search")"
same 'each began once' 4 "$(grep -c 'in run 1' "$HOME/search")"
fails 5 'a search that is complete does not go on' det e continue "$ID"
says 'fork it instead'

# ---- forks

ok 'a fork needs no file and no folder' det e create --fork 1 -f
FORK=$(sed -n 's/^Created experiment //p' "$OUT")
TRIAL=$(det e list-trials "$FORK" --csv | sed -n '2s/,.*//p')
same 'the same seed gives the same bits' "$(bits 1)" "$(bits "$TRIAL")"
ok 'it is described' describe "$FORK"
says 'forked from  1'
ok 'and so is what it came from' describe 1
says "forks        $FORK"
ok 'its code can be fetched' det e download-code "$FORK" -o code
ok 'as it was sent' cmp code/train.c xor_c/train.c

uuid=$(latest 1)
ok 'one begins from a checkpoint of another trial' \
    det e create --fork 1 --checkpoint "$uuid" --config hyperparameters.steps=50000 -f
says 'run 1 begins at step 40000'
TRIAL=$((TRIAL + 1))
det t describe "$TRIAL" >"$OUT"
says "began from   $uuid"
ok 'or from a trial' det e create xor_c/one.yaml xor_c -f --config searcher.source_trial_id=1 \
    --config hyperparameters.steps=50000
says 'run 1 begins at step 40000'
fails 4 'a checkpoint that is not there is refused' \
    det e create --fork 1 --checkpoint 0000000b-1111-4222-8333-444444444444
says 'searcher.source_checkpoint_uuid'
gone=$(latest "$TRIAL")
ok 'a checkpoint is deleted' det c delete --yes "$gone"
fails 2 'then none can begin from it' det e create --fork 1 --checkpoint "$gone"
says 'no trial can start from checkpoint'
fails 4 'what is not there cannot be forked' det e create --fork 99
fails 2 'without a file and a fork there is nothing to create' det e create
says 'needs CONFIG'

# ---- a crash in the middle

folder long <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID" >>"$HOME/long"
until [ -e "$HOME/end" ]; do sleep 0.05; done
END
touch "$HOME/end"
ok 'a trial completes' create long -f
rm "$HOME/end"
ok 'it goes on' det e continue "$ID"
slay "$(jq .pid "$DATA/master.json")"
platform --slots 2
soon 'after the master was killed it still does' sh -c "grep -q 'run 2' $HOME/long"
touch "$HOME/end"
ok 'and completes' det e wait "$ID"
