# SPDX-License-Identifier: Apache-2.0
# det resume-proof of Lightning and of Hugging Face's Trainer, without options by hand: PyTorch's files are compared by
# their contents, and times and paths are left out by the profile of the framework.
# SOAK_KILLS: how often each is killed (2).  SEED: of the first.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need_torch
platform --slots 2
KILLS=${SOAK_KILLS:-2}
cp -r "$HERE/scripts/lightning_proof" "$HERE/scripts/transformers_proof" .

proof() { # NAME SEED
    det resume-proof "$1_proof/const.yaml" "$1_proof" --kills "$KILLS" --seed "$2" >"$1.out" 2>&1
    echo $? >"$1.code"
}
proof lightning "${SEED:-1}" &
proof transformers "$((${SEED:-1} + 1))"
until [ -f lightning.code ]; do sleep 0.1; done
for name in lightning transformers; do
    cp $name.out "$OUT"
    [ "$(cat $name.code)" = 0 ] || {
        id=$(sed -n 's/^experiment \([0-9]*\) .*/\1/p' "$OUT" | tail -1)
        det e logs "$id" | tail -5 >>"$OUT"
        false
    }
    result $? "$name: killed and resumed, it ends with the same contents"
    says "profile '$name': times and paths of this framework are left out"
done
says "trainer_state.json' has other bytes, but the same contents"
