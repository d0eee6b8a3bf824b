# SPDX-License-Identifier: Apache-2.0
# The same again: what a trial ran on is recorded, and a trial that is done again with the
# same seed gives the same metrics, to the bit.
. "$(dirname "$0")/lib.sh"
need jq
platform

# Metrics that follow from the trial's seed and its hyperparameters, all digits of them.
folder model <<'END'
#!/bin/sh
awk -v seed="$DET_TRIAL_SEED" -v lr="$(det hparam lr)" 'BEGIN {
    srand(seed)
    for (i = 1; i <= 5; i++) printf "%d %.17g\n", i, rand() * lr
}' | while read -r steps loss; do
    det report --steps "$steps" "loss=$loss" "twice=$loss" || exit 1
done
det report --steps 5 --validation "loss=$(cat extra 2>/dev/null || echo 0.25)"
END
cat >model/const.yaml <<'END'
name: model
entrypoint: ./run.sh
searcher: {name: random, max_trials: 3, metric: loss}
hyperparameters: {lr: {type: double, minval: 0.1, maxval: 0.9}, nested: {a: [1, x]}}
max_restarts: 0
END
ok 'a random search' create model -f
ok 'its trials' det e wait "$ID"
ok 'what a trial ran on is recorded, whatever it is written in' det trial environment 2 --json
for what in det host os kernel libc code; do
    same "its $what" true "$(jq --arg what $what '.runs[0].record[$what] | length > 0' "$OUT")"
done
same 'its processor' true "$(jq '.runs[0].record.cpu | (.model | length > 0) and .cores > 0' "$OUT")"
same 'its memory' true "$(jq '.runs[0].record.memoryBytes > 1000000' "$OUT")"
same 'its seed' true "$(jq '.trialSeed > 0' "$OUT")"
same 'and its configuration' model "$(jq -r .config.name "$OUT")"
if command -v python3 >/dev/null; then
    same 'and the interpreter it would find' 3 "$(jq -r '.runs[0].record.python.version[0:1]' "$OUT")"
fi
ok 'it is shown to people' det trial environment 2
says 'processor'
fails 4 'a trial that is not there has none' det trial environment 99
ok 'its code comes back' det e download-code "$ID" -o back
same 'as it was' "$(cat model/run.sh)" "$(cat "$(find back -name run.sh)")"

# ---- again

ok 'the second trial, again' det trial reproduce 2 -f
says 'Created experiment 2: trial 2 again'
says 'Machine, packages and code are the same.'
says 'Trials 2 and 4 have the same 11 metrics.'
same 'with the same seed' "$(det trial environment 2 --json | jq .trialSeed)" "$(det trial environment 4 --json | jq .trialSeed)"
same 'and the same hyperparameters' "$(det trial environment 2 --json | jq -S .hparams)" "$(det trial environment 4 --json | jq -S .hparams)"
ok 'without following it' det trial reproduce 4
says 'det trial compare 4 TRIAL'
ok 'it ends by itself' det e wait 3
ok 'and is compared later' det trial compare 2 5
says 'the same 11 metrics'
fails 1 'trials of other seeds differ' det trial compare 1 2
says 'Trials 1 and 2 differ: 1 metric is the same, 10 have another value, 0 are only in one of them.'
says 'The first that differs is training loss at batch 1: '

# ---- one that is not deterministic

folder chance <<'END'
#!/bin/sh
det report --steps 1 "loss=0.5"
det report --steps 2 "loss=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')"
[ "$(od -An -N1 -tu1 /dev/urandom)" -ge 0 ]
END
ok 'a trial whose metrics come from elsewhere' create chance -f
CHANCE=$(det e lt "$ID" --csv | sed -n '2s/,.*//p')
fails 1 'is found out' det trial reproduce "$CHANCE" -f
says 'The first that differs is training loss at batch 2: '
fails 4 'there is nothing to do again where there is no trial' det trial reproduce 99
