# SPDX-License-Identifier: Apache-2.0
# det resume-proof of a PyTorch trial: killed in the middle of epochs, of averages and of aggregated gradients, it
# ends with the same bits; without loader workers and with them.
# SOAK_KILLS: how often it is killed, altogether (5).  SEED: of the first.  Most of the time goes into loading PyTorch.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_torch
platform --slots 2
KILLS=${SOAK_KILLS:-5}
cp -r "$HERE/scripts/torch_proof" .

proof() { # WORKERS KILLS SEED
    det resume-proof torch_proof/const.yaml torch_proof --kills "$2" --seed "$3" \
        --config hyperparameters.workers="$1" >"$1.out" 2>&1
    echo $? >"$1.code"
}
few=$((KILLS / 2))
proof 2 "$few" "${SEED:-1}" &
proof 0 "$((KILLS - few))" "$((${SEED:-1} + 1))"
until [ -f 2.code ]; do sleep 0.1; done
for workers in 0 2; do
    cp $workers.out "$OUT"
    [ "$(cat $workers.code)" = 0 ] || {
        id=$(sed -n 's/^experiment \([0-9]*\) .*/\1/p' "$OUT" | tail -1)
        det e logs "$id" | tail -20 >>"$OUT"
        false
    }
    result $? "with $workers loader workers: killed and resumed, it ends with the same bits"
done
