# SPDX-License-Identifier: Apache-2.0
# det resume-proof of Keras trials: one small model on each kind of data is killed and ends with
# the same bits, in the middle of epochs.  `lists` are several plain arrays, `dicts` have sample
# weights, as have `dataset` (tf.data), sequences and `cached`.
# SOAK_KILLS: how often each is killed (3).  KINDS: of which data (`make soak` has all eight; here
# one of those that share their way through our code).  JOBS: so many at a time.
# SEED: of the first.  Most of the time goes into loading TensorFlow, five times for each kind.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_tensorflow
JOBS=${JOBS:-2}
platform --slots "$JOBS"
KILLS=${SOAK_KILLS:-3}
KINDS=${KINDS:-dicts dataset processes cached}
cp -r "$HERE/scripts/keras_kinds" .

# Each proof by itself; `wait` cannot say which has ended, so each leaves its exit code.
proof() { # KIND SEED
    det resume-proof keras_kinds/const.yaml keras_kinds --kills "$KILLS" --seed "$2" \
        --config hyperparameters.kind="$1" >"$1.out" 2>&1
    echo $? >"$1.code"
}
under_way() {
    for kind in $begun; do
        [ -f "$kind.code" ] || echo "$kind"
    done
}
has_room() { [ "$(under_way | wc -l)" -lt "$JOBS" ]; }
all_done() { [ -z "$(under_way)" ]; }
patiently() { until "$@"; do sleep 0.1; done; }

begun=
seed=${SEED:-1}
for kind in $KINDS; do
    patiently has_room
    proof "$kind" $seed &
    begun="$begun $kind"
    seed=$((seed + 1))
done
patiently all_done
for kind in $KINDS; do
    cp "$kind.out" "$OUT"
    [ "$(cat "$kind.code")" = 0 ] || {
        id=$(sed -n 's/^experiment \([0-9]*\) .*/\1/p' "$OUT" | tail -1)
        det e logs "$id" | tail -20 >>"$OUT"
        false
    }
    result $? "$kind: killed $KILLS times, it ends with the same bits"
done
