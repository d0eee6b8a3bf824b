# SPDX-License-Identifier: Apache-2.0
# examples/core_api: every rung of the ladder, in C and in Python, as experiments; a rung
# reports the same in both.
. "$(dirname "$0")/lib.sh"
need python3 jq cc
BUILD=$(dirname "$DET")
LADDER=$HERE/../../examples/core_api
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'the ladder of the Core API' 'the Python package is not built'
    exit 0
fi
platform --slots 2
cp -r "$LADDER" ladder
sed -i -e 's/sleep(0.02)/sleep(0.001)/' ladder/*.py # nobody pauses these by hand
sed -i -e 's/20000000/1000000/' ladder/*.c
EXPERIMENT=0

# Runs rung $1 in language $2 and writes down what its trials said, but for the time.
rung() {
    EXPERIMENT=$((EXPERIMENT + 1))
    ok "$1 runs in $2" det e create "ladder/$1_$2.yaml" ladder -f
    says "experiment $EXPERIMENT is COMPLETED"
    cp "$OUT" "$1_$2.log"
    det e list-trials "$EXPERIMENT" --json | jq -c '.[] | [.hparams, .id]' | sort >trials
    sed 's/.*,\([0-9]*\)]$/\1/' trials | while read -r trial; do
        det t metrics "$trial" --csv | tail -n +2 | cut -d, -f2,3,5-
    done >"$1_$2.said"
}

both() {
    rung "$1" py
    rung "$1" c
    same "$1 reports the same in both" "$(cat "$1_py.said")" "$(cat "$1_c.said")"
}

# ---- what needs one slot

both 0_start
same '0: x counts up' 10 "$(grep -c 'x is now' 0_start_c.log)"
both 1_metrics
both 2_checkpoints
same '2: two checkpoints were saved' 2 "$(grep -c 'saved step' 2_checkpoints_py.log)"
both 3_search
same '3: what cannot work is left out' 4 "$(det e list-trials 8 --csv | grep -c ,COMPLETED,)"

# ---- paused, and on again: in Python, then in C

cp -r ladder slow # until it is paused
sed -i -e 's/sleep(0.001)/sleep(0.001 if latest_checkpoint else 0.2)/' slow/2_checkpoints.py
sed -i -e 's/1000000/det_get_info(det)->latest_checkpoint ? 1000000 : 200000000/' slow/2_checkpoints.c
for language in py c; do
    EXPERIMENT=$((EXPERIMENT + 1))
    ok "a slow one begins in $language" det e create "slow/2_checkpoints_$language.yaml" slow
    trial=$(det e list-trials "$EXPERIMENT" --json | jq '.[0].id')
    has_begun() { det t metrics "$trial" --csv | grep -q ,training,x,; }
    soon 'it counts' has_begun
    ok 'it is paused' det e pause "$EXPERIMENT"
    soon 'and rests' is_state PAUSED "$EXPERIMENT"
    ok 'it is activated' det e activate "$EXPERIMENT"
    ok 'and ends' det e wait "$EXPERIMENT"
    det t logs "$trial" >"$OUT"
    says 'going on after step'
    same 'with the x of one that was not disturbed' 'validation,x,100' \
        "$(det t metrics "$trial" --csv | sed -n 's/.*,\(validation,x,.*\)/\1/p')"
done

# ---- several processes

if ! command -v mpirun >/dev/null; then
    skip '4_distributed runs' 'mpirun is not here'
    exit 0
fi
both 4_distributed
same '4: the sum of both processes' 'validation,x,300' "$(tail -1 4_distributed_c.said | sed 's/.*,\(validation,x,.*\)/\1/')"

# ---- without a platform

cd ladder || exit 99
for rung in 0_start 1_metrics 2_checkpoints 3_search 4_distributed; do
    ok "$rung.py runs without a platform" env PYTHONPATH="$BUILD/pylib" DET_OFFLINE_DIR="$T/$rung.py" python3 "$rung.py"
    says 'x is now 100'
done
