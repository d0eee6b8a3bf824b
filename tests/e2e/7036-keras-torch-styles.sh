# SPDX-License-Identifier: Apache-2.0
# det resume-proof of programs in the styles of keras.io, PyTorch and Lightning (tests/seeds/styles): killed in the
# middle of epochs, each ends with the same bits.
# SOAK_KILLS: how often each is killed (2).  STYLES: which (`make soak ONLY=styles` has all).  JOBS: so many at a time.
# SEED: of the first.  Most of the time goes into loading the frameworks.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_torch # and TensorFlow
JOBS=${JOBS:-2}
platform --slots "$JOBS"
KILLS=${SOAK_KILLS:-2}
STYLES=${STYLES:-vae schedule one_cycle}
PROGRAMS=$HERE/../seeds/styles
[ "$STYLES" != all ] || STYLES=$(cd "$PROGRAMS" && ls ./*.py | sed 's,.*/,,; s/\.py$//')

# Each proof by itself; `wait` cannot say which has ended, so each leaves its exit code.
proof() { # STYLE SEED
    det resume-proof "$1/const.yaml" "$1" --kills "$KILLS" --seed "$2" >"$1.out" 2>&1
    echo $? >"$1.code"
}
under_way() {
    for style in $begun; do
        [ -f "$style.code" ] || echo "$style"
    done
}
has_room() { [ "$(under_way | wc -l)" -lt "$JOBS" ]; }
all_done() { [ -z "$(under_way)" ]; }
patiently() { until "$@"; do sleep 0.1; done; }

begun=
seed=${SEED:-1}
for style in $STYLES; do
    mkdir "$style"
    cp "$PROGRAMS/$style.py" "$style/train.py"
    cat >"$style/const.yaml" <<END
name: $style
entrypoint: python3 train.py
searcher: {name: single}
reproducibility: {experiment_seed: 11}
max_restarts: 0
END
    patiently has_room
    proof "$style" $seed &
    begun="$begun $style"
    seed=$((seed + 1))
done
patiently all_done
for style in $STYLES; do
    cp "$style.out" "$OUT"
    [ "$(cat "$style.code")" = 0 ] || {
        id=$(sed -n 's/^experiment \([0-9]*\) .*/\1/p' "$OUT" | tail -1)
        det e logs "$id" | tail -20 >>"$OUT"
        false
    }
    result $? "$style: killed $KILLS times, it ends with the same bits"
done
