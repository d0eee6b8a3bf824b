# SPDX-License-Identifier: Apache-2.0
# Grid and random searches, seeds, and previews of them.
. "$(dirname "$0")/lib.sh"
need jq
platform --slots 4
folder search <<'END'
#!/bin/sh
det report --steps 1 --validation loss="$(det hparam lr)"
END
search() { # NAME, searcher, hyperparameters, more
    cat >search/const.yaml <<END
name: $1
entrypoint: ./run.sh
searcher: $2
hyperparameters: $3
max_restarts: 0
$4
END
}
hparams() { det e list-trials "$1" --json | jq -cS '[.[].hparams] | sort'; }

search grid '{name: grid, metric: loss}' \
    '{lr: {type: double, minval: 0.1, maxval: 0.3, count: 3}, layers: {type: int, minval: 1, maxval: 2, count: 2}, kind: {type: categorical, vals: [a, b]}}' ''
ok 'a grid is previewed' det preview-search search/const.yaml
says '12'
ok 'it runs' create search -f
same 'with every point once' 12 "$(det e list-trials 1 --json | jq '[.[].hparams] | unique | length')"
same 'all trials are complete' 12 "$(det e list-trials 1 --csv | grep -c ,COMPLETED,)"
same 'the best is the smallest' 0.1 "$(det e list --json | jq '.[0].bestTrialSearcherMetric')"

search random '{name: random, metric: loss, max_trials: 6, max_concurrent_trials: 3}' \
    '{lr: {type: log, base: 10, minval: -4, maxval: -1}, inner: {depth: {type: int, minval: 1, maxval: 100}, fixed: 7}}' \
    'reproducibility: {experiment_seed: 17}'
ok 'a random search runs' create search -f
same 'with as many trials as asked for' 6 "$(det e list-trials 2 --csv | grep -c ,COMPLETED,)"
ok 'once more with the same seed' create search -f
same 'it has the same hyperparameters' "$(hparams 2)" "$(hparams 3)"
ok 'and with another seed' create search -f --config reproducibility.experiment_seed=18
ok 'it has others' test "$(hparams 2)" != "$(hparams 4)"
ok 'nested ones are nested' sh -c "det e list-trials 2 --json | jq -e 'all(.[]; .hparams.inner.fixed == 7 and .hparams.inner.depth >= 1)'"

search failing '{name: random, metric: loss, max_trials: 4}' '{lr: {type: double, minval: 0, maxval: 1}}' ''
printf '#!/bin/sh\n[ $((DET_TRIAL_ID %% 2)) = 0 ] && exit 1\nexit 0\n' >search/run.sh
ok 'a search in which trials fail comes to its end' create search
det e wait "$ID" >"$OUT" 2>&1
same 'with all its trials' 4 "$(det e list-trials "$ID" --csv | sed 1d | grep -c ,)"
same 'two of which failed' 2 "$(det e list-trials "$ID" --csv | grep -c ,ERROR,)"
search none '{name: random, metric: loss}' '{}' ''
fails 2 'a random search without a number of trials is refused' create search
says 'max_trials'
search bad '{name: grid, metric: loss}' '{lr: {type: double, minval: 0, maxval: 1}}' ''
fails 2 'a grid over a range without count is refused' create search
says 'count'
search huge '{name: grid, metric: loss}' '{lr: {type: double, minval: 0, maxval: 1, count: 1000000000}}' ''
fails 2 'a grid that never ends is refused' create search
says 'this grid has 1000000000 points; expected at most 1000000'
fails 2 'as it is when its preview is asked for' det preview-search search/const.yaml
