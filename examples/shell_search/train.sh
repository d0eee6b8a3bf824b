#!/bin/sh
# Fits y = 2x + 1 with gradient descent and momentum, in awk: any language takes part.
#
#   det hparam NAME     what the search chose for this trial
#   det report ...      metrics; they are sent while training goes on
#   det preempted       succeeds when the platform wants the slot back
set -eu
lr=$(det hparam lr)
momentum=$(det hparam momentum)
steps=200
echo "training $steps steps with lr=$lr momentum=$momentum"

awk -v lr="$lr" -v momentum="$momentum" -v steps="$steps" -v seed="$DET_TRIAL_SEED" '
BEGIN {
    srand(seed)
    for (i = 0; i < 64; i++) { x[i] = rand() * 2 - 1; y[i] = 2 * x[i] + 1 + (rand() - .5) / 10 }
    w = rand(); b = 0
    for (step = 1; step <= steps; step++) {
        gw = gb = loss = 0
        for (i = 0; i < 64; i++) {
            e = w * x[i] + b - y[i]
            gw += e * x[i] / 32; gb += e / 32; loss += e * e / 64
        }
        vw = momentum * vw - lr * gw; w += vw
        vb = momentum * vb - lr * gb; b += vb
        if (step % 10 == 0) print step, loss, w, b
    }
}' | while read -r step loss w b; do
    det report --steps "$step" loss="$loss"
    if [ $((step % 50)) -eq 0 ]; then
        det report --steps "$step" --validation loss="$loss" slope="$w" offset="$b"
        det report --progress "$(awk "BEGIN { print $step / $steps }")"
        echo "step $step: loss $loss"
    fi
    if det preempted; then
        echo "asked to stop at step $step"
        exit 0
    fi
done
