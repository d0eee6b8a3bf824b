# SPDX-License-Identifier: Apache-2.0
# det resume-proof: the C examples are killed 20 times each and end with the same bits; a
# program that does not is told what differs; what was lost and redone is marked.
# SOAK_KILLS: how often the examples are killed (20).  Each ends a process, not the machine:
# nobody needs to wait for a disk.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need cc jq
platform
KILLS=${SOAK_KILLS:-20}
ROOT=$HERE/../..

# Each run would compile them again.
example() {
    cp -r "$ROOT/examples/$1" "$1"
    rm "$1/startup-hook.sh"
    (cd "$1" && cc -O2 -std=c99 -I"$ROOT/include" -o train ./*.c -L"$(dirname "$DET")" -ldet ${2-} -lm)
}
found() { jq -c "$1" proof.json; }
proof() { det resume-proof "$@" --json >proof.json; }

# ---- the examples

ok 'the exclusive or compiles' example xor_c
ok "it is killed $KILLS times and ends with the same bits" \
    det resume-proof xor_c/xor.yaml xor_c --kills "$KILLS" --seed 1 --config hyperparameters.steps=4000000
says "the search 'grid' is reduced to one trial"
says "kill $KILLS of $KILLS at batch"
says 'resumed from batch 2,000,000'
says 'checkpoint of batch 4,000,000  2 files'
says 'training metrics               100 reports'
says 'Proven: killed '
same 'its experiments are hidden' '' "$(det e list --csv | tail -n +2)"
[ "$(det e list -a --label resume-proof --csv | tail -n +2 | wc -l)" -ge 2 ]
result $? 'and labelled'

if echo '#include <cblas.h>' | cc -E - >/dev/null 2>&1; then
    ok 'the digits compile' example digits_c -lopenblas
    ok "they are killed $KILLS times" proof digits_c/digits.yaml digits_c --kills "$KILLS" --seed 2 \
        --config hyperparameters.filters=2 --config hyperparameters.pictures=1024 \
        --config records_per_epoch=1024 --config searcher.max_length.epochs=20 \
        --config min_validation_period.epochs=10 --config min_checkpoint_period.batches=24
    same 'and end with the same bits' '[true,true,true]' "$(found '[.proven, .same, .resumed > 5]')"
    same 'in every file and group' '["checkpoint",null,3]["metrics","training",40]["metrics","validation",2]' \
        "$(found '[.parts[] | [.what, .group, (.files // .reports)]] | unique | .[]' | tr -d '\n')"
else
    skip 'the digits are killed' 'OpenBLAS is not here'
fi

# ---- one that looks at the clock

folder clock <<'END'
#!/bin/sh
det checkpoint restore state || mkdir -p state
rm -f state/*.det* state/metadata.json
i=$(cat state/at 2>/dev/null || echo 0)
while [ "$i" -lt 20 ]; do
    i=$((i + 1))
    sleep 0.03
    det report --steps "$i" "loss=$i" "nanoseconds=$(date +%N)"
    echo "$i" >state/at
    date +%N >state/when
    [ $((i % 5)) != 0 ] || det checkpoint save state --steps "$i" >/dev/null
done
END
fails 1 'a program that looks at the clock is found out' det resume-proof clock/const.yaml clock --kills 3 --seed 5
says 'Not proven: the program is not deterministic, so its resume cannot be tested'
says 'were not disturbed, and differ from batch 1 on (training nanoseconds)'
says 'runs undisturbed again, to find the cause'
says ', both undisturbed  DIFFERENT'
says 'reproducibility: {deterministic: true} in the configuration'
says "all seeds from the trial's seed"
says "file 'when' differs from byte "
says 'training nanoseconds at batch 1: '
says '(20 of 20 reports)'
says_not "file 'at' differs"
says_not 'training loss at batch'

fails 1 'with that key, the clock is still the clock' det resume-proof clock/const.yaml clock --kills 1 --seed 5 \
    --config reproducibility.deterministic=true
says "all seeds from the trial's seed"
says_not 'reproducibility: {deterministic'

fails 1 'programs are told the cause' proof clock/const.yaml clock --kills 1 --seed 5
same 'which is the program' '["program",false,"when"]' \
    "$(found '[.cause, .twin.same, .twin.parts[0].differences[0].file]')"

# ---- one that is deterministic, but does not continue where it was

folder amnesia <<'END'
#!/bin/sh
det checkpoint restore state || mkdir -p state
rm -f state/*.det* state/metadata.json
i=$(cat state/at 2>/dev/null || echo 0)
runs=$([ "$i" = 0 ] && echo 1 || echo 2)
while [ "$i" -lt 20 ]; do
    i=$((i + 1))
    sleep 0.03
    det report --steps "$i" "loss=$i" "runs=$runs"
    echo "$i" >state/at
    [ $((i % 5)) != 0 ] || det checkpoint save state --steps "$i" >/dev/null
done
END
fails 1 'a resume that loses something is found out' det resume-proof amnesia/const.yaml amnesia --kills 3 --seed 5
says 'Not proven: it does not resume exactly'
says 'ended with the same bits as experiment'
says 'the cause is the resume'
says 'training runs at batch '
says_not 'not deterministic'
fails 1 'programs are told that, too' proof amnesia/const.yaml amnesia --kills 3 --seed 5
same 'it is the resume' '["resume",true]' "$(found '[.cause, .twin.same]')"

# ---- on GPUs, undisturbed runs may agree by chance

if command -v cc >/dev/null; then
    cat >nvml.c <<'END'
#include <stdio.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **gpu) { *gpu = (char *)gpu + i; return 0; }
int nvmlDeviceGetName(void *gpu, char *text, unsigned size) { return snprintf(text, size, "Test GPU") < 0 || !gpu; }
int nvmlDeviceGetUUID(void *gpu, char *text, unsigned size) { return snprintf(text, size, "GPU-1") < 0 || !gpu; }
END
    cc -shared -fPIC -o libnvidia-ml.so.1 nvml.c
    LD_LIBRARY_PATH="$T" det agent run --data-dir "$T/gpus" --id gpus >gpus.log 2>&1 &
    AGENT=$!
    soon 'an agent has a GPU' sh -c 'det slot list --csv | grep -q "^gpus,0,CUDA"'
    fails 1 'the resume is not blamed for what may be chance' \
        det resume-proof amnesia/const.yaml amnesia --kills 3 --seed 5
    says 'but on GPUs that may be chance'
    says 'Set reproducibility: {deterministic: true} and prove it again'
    fails 1 'it is, if the program is deterministic' det resume-proof amnesia/const.yaml amnesia --kills 3 --seed 5 \
        --config reproducibility.deterministic=true
    says 'the cause is the resume'
    kill -TERM $AGENT
    wait $AGENT
else
    skip 'the resume is not blamed for what may be chance' 'there is no compiler'
fi

# ---- what was lost and redone

ok 'what is meant to differ can be left out' proof clock/const.yaml clock --kills 3 --seed 5 \
    --ignore-metric 'nano*' --ignore-file when
same 'which is said' '[true,1,20]' "$(found '[.proven, .parts[0].leftOut, .parts[1].leftOut]')"
same 'a proof that succeeds needs no cause' '[null,null]' "$(found '[.cause, .twin]')"
trial=$(det e list-trials "$(found '.experiments[1]')" --csv | sed -n '2s/,.*//p')
losses() { det t metrics "$trial" --csv -n loss "$@" | grep ',training,loss,'; }
same 'the curve is the surviving line' "$(seq 1 20 | tr '\n' ' ')" "$(losses | cut -d, -f3 | tr '\n' ' ')"
same 'all of it is there' "$(losses | wc -l)" "$(losses --lost | grep -c ',false$')"
[ "$(losses --lost | grep -c ',true$')" -gt 0 ]
result $? 'and what was lost is marked'
fails 2 'charts show what survived' det t metrics "$trial" --lost
says '--lost needs --csv or --json'

# ---- what cannot be proven

folder fails <<'END'
#!/bin/sh
exit 3
END
fails 1 'a program that fails by itself' det resume-proof fails/const.yaml fails
says '(undisturbed) ended as ERROR'
says 'det experiment logs'
folder forgets <<'END'
#!/bin/sh
det report --steps 1 loss=1
END
fails 1 'one that saves nothing' det resume-proof forgets/const.yaml forgets
says 'has saved no checkpoint'
folder late <<'END'
#!/bin/sh
mkdir state
sleep 0.4
det checkpoint save state --steps 1 >/dev/null
END
fails 1 'one that saves too late' det resume-proof late/const.yaml late --kills 1 --seed 82
says 'Not proven: no kill came after its first checkpoint'
fails 4 'one that is not there' det resume-proof nothing.yaml late
fails 2 'no kills' det resume-proof late/const.yaml late --kills 0

# ---- interrupted

folder sleeps <<'END'
#!/bin/sh
exec sleep 1000
END
det resume-proof sleeps/const.yaml sleeps >interrupted 2>&1 &
pid=$!
last() { det e list -a --csv | sed -n '$p' | grep sleeps; }
runs() { last | grep ',RUNNING,'; }
soon 'it runs' runs
kill -TERM $pid
wait $pid
same 'a signal ends it' 143 $?
cp interrupted "$OUT"
says 'stopping the experiments'
soon 'and its experiment' sh -c "det e list -a --csv | sed -n '\$p' | grep 'sleeps.*,CANCELED,'"
same 'which is hidden' '' "$(det e list --csv | grep sleeps)"
