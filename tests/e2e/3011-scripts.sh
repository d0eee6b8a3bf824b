# SPDX-License-Identifier: Apache-2.0
# Scripts of the Core API as people wrote them for Determined 0.38, in several styles
# (tests/e2e/scripts): each runs as it is, as an experiment and, where it makes sense, alone.
. "$(dirname "$0")/lib.sh"
need python3 jq
BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'scripts of the Core API run' 'the Python package is not built'
    exit 0
fi
platform --slots 2
cp -r "$HERE/scripts" model

# script NAME 'searcher' ['lines of the configuration'] runs model/NAME.py; $ID is its number.
script() {
    cat >"$1.yaml" <<END
name: $1
entrypoint: python3 $1.py ${ARGS:-}
searcher: $2
max_restarts: ${RESTARTS:-0}
${3:-}
END
    ok "$1 runs" det e create "$1.yaml" model ${FOLLOW--f}
    ID=$(sed -n 's/^Created experiment //p' "$OUT")
    TRIAL=$(det e list-trials "$ID" --json | jq '.[0].id')
}

# alone NAME: without a master.
alone() {
    mkdir -p "alone/$1"
    ok "$1 runs alone" sh -c "cd alone/$1 && exec env PYTHONPATH='$BUILD/pylib' DET_OFFLINE_DIR='$T/offline/$1' python3 '$T/model/$1.py'"
}

count() { det t metrics "$TRIAL" --csv | grep -c "$1"; }

SINGLE='{name: single, metric: loss}'

script metrics_only '{name: single, metric: validation_loss}'
says 'experiment 1 is COMPLETED'
same 'its losses are there' 5 "$(count ',training,loss,')"
same 'and its validations' 5 "$(count ',validation,validation_loss,')"
same 'and those of its batches' 8 "$(det t metrics "$TRIAL" --json | jq '.[0].metrics.batch_metrics | length')"
alone metrics_only

RESTARTS=1 ARGS='--fail-at 12' script resume '{name: single, metric: sum}'
says 'the machine fell over'
says 'restored at 10'
says 'the sum is 190'
same 'nothing is there twice' 4 "$(count ',training,sum,')"
alone resume
says 'the sum is 190'

script upload_download "$SINGLE"
says "whole ['config.json', 'weights/layer1.bin', 'weights/layer2.bin']"
says "part ['config.json', 'weights/layer1.bin']"
says "some ['config.json']"
says 'deleted the first'
same 'one checkpoint is left' 1 "$(det e list-checkpoints "$ID" --csv | grep -c ,COMPLETED,)"
alone upload_download
says 'deleted the first'

FOLLOW='' script chief_only "$SINGLE" 'hyperparameters: {steps: 100}'
has_begun() { [ "$(count ,training,step,)" -gt 0 ]; }
soon 'it trains' has_begun
ok 'it is paused' det e pause "$ID"
soon 'and rests' is_state PAUSED "$ID"
ok 'it is activated' det e activate "$ID"
ok 'and ends' det e wait "$ID"
det t logs "$TRIAL" >"$OUT"
says 'preempted at'
says 'going on at'
says 'all 100 steps'
same 'each step is there once' 100 "$(count ,training,step,)"
alone chief_only
says 'all 5 steps'

script operations '{name: random, metric: loss, max_trials: 3, max_length: {epochs: 4}}' \
    'hyperparameters: {lr: {type: log, base: 10, minval: -2, maxval: 0}}'
same 'three trials' 3 "$(det e list-trials "$ID" --csv | grep -c ,COMPLETED,)"
same 'of four epochs' 4 "$(count ',training,loss,')"
alone operations
says 'train to 1'

script invalid_hp '{name: grid, metric: loss}' \
    'hyperparameters: {way: {type: categorical, vals: [train, raise, report]}}'
same 'a search with bad hyperparameters ends well' COMPLETED "$(state "$ID")"
same 'and one result' 1 "$(det e list-trials "$ID" --json | jq '[.[] | select(.bestValidation)] | length')"

script bookkeeping "$SINGLE" 'data: {url: "s3://bucket/mnist"}
hyperparameters: {model: {layers: [64, 32]}}'
says 'rank 0 of 1'
says 'kept the books'
says '[alert] half way: all is well'
same 'groups of its own are there' 3 "$(count ',inference,latency,')"

script torch_style "$SINGLE" 'resources: {slots_per_trial: 2}'
says '3 processes trained 10 steps'
same 'the mean of all' 10 "$(count ',training,loss,')"
same 'one checkpoint of all' 1 "$(det e list-checkpoints "$ID" --csv | grep -c ,COMPLETED,)"
alone torch_style
says '3 processes trained 10 steps'

script off_cluster '{name: single, metric: loss, max_length: {batches: 3}}' 'hyperparameters: {lr: 0.5}'
says 'the checkpoint is'
alone off_cluster
says 'the checkpoint is'
