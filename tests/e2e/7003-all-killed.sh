# SPDX-License-Identifier: Apache-2.0
# SIGKILL for everything, as if the power had failed: the next start finishes the search.
. "$(dirname "$0")/lib.sh"
need jq
platform --slots 2
folder search <<'END'
#!/bin/sh
echo "trial $DET_TRIAL_ID run $DET_TRIAL_RUN_ID begins" | tee -a "$HOME/runs"
[ -e "$HOME/quick" ] || [ "$DET_TRIAL_ID" -le 2 ] || until [ -e "$HOME/quick" ]; do sleep 0.05; done
det report --steps 10 --validation loss="$(det hparam lr)"
END
cat >search/const.yaml <<'END'
name: search
entrypoint: ./run.sh
searcher: {name: random, metric: loss, max_trials: 5, max_concurrent_trials: 2}
hyperparameters: {lr: {type: double, minval: 1, maxval: 6}}
reproducibility: {experiment_seed: 3}
max_restarts: 0
END
create search >/dev/null
both() { grep -q 'trial 3 run 1' "$HOME/runs" && grep -q 'trial 4 run 1' "$HOME/runs"; }
soon 'two trials are done and two run' both
det e list-trials 1 --json | jq -cS '[.[] | select(.state | test("COMPLETED")) | {id, hparams, m: .bestValidation.metrics}]' >before
all_die() {
    # shellcheck disable=SC2046
    kill -9 $(ours) 2>/dev/null
    is_alone
}
ok 'everything is dead' until_true all_die
touch "$HOME/quick"
platform --slots 2
ok 'the next start finishes the search' det e wait 1 --timeout 120
same 'with as many trials as asked for' 5 "$(det e list-trials 1 --csv | grep -c ,COMPLETED,)"
same 'what was done stays as it was' "$(cat before)" \
    "$(det e list-trials 1 --json | jq -cS '[.[] | select(.id <= 2) | {id, hparams, m: .bestValidation.metrics}]')"
same 'done trials were not run again' 1 "$(grep -c 'trial 1 run' "$HOME/runs")"
ok 'those that ran had a second run' grep -q 'trial 3 run 2' "$HOME/runs"
same 'which cost them no restart' 0 "$(det e list-trials 1 --csv | sed 1d | cut -d, -f5 | paste -sd+ | sed 's/+/ + /g' | xargs expr)"

# The same search undisturbed gives the same hyperparameters.
ok 'undisturbed' create search -f
same 'it has the same hyperparameters' \
    "$(det e list-trials 1 --json | jq -cS '[.[].hparams.lr] | sort')" \
    "$(det e list-trials 2 --json | jq -cS '[.[].hparams.lr] | sort')"

# Killed again and again at any moment.
rm "$HOME/quick"
create search --config searcher.max_trials=8 >/dev/null
for pause in 0.15 0.3 0.45 0.6; do
    sleep $pause # any moment is a good one
    until_true all_die
    platform --slots 2
done
touch "$HOME/quick"
ok 'a search survives four such ends' det e wait 3 --timeout 120
same 'complete' 8 "$(det e list-trials 3 --csv | grep -c ,COMPLETED,)"
