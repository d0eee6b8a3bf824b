# SPDX-License-Identifier: Apache-2.0
# Bad input and bad days of a training program, in C and in Python alike: its checkpoint was
# damaged while it was paused, the disk is full when it saves, a rank dies among others.
. "$(dirname "$0")/lib.sh"
need python3 jq cc
BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'bad input of training programs' 'the Python package is not built'
    exit 0
fi
printf 'checkpoint_storage_roots: ["%s"]\n' "$T" >roots.yaml
platform --slots 3 --config roots.yaml
cp -r "$HERE/../../examples/core_api" ladder
# The first run is slow: the pause comes before it saves by itself.
sed -i -e 's/sleep(0.02)/sleep(0.001 if latest_checkpoint else 0.2)/' ladder/2_checkpoints.py
sed -i -e 's/20000000/det_get_info(det)->latest_checkpoint ? 1000000 : 200000000/' ladder/2_checkpoints.c
trial_of() { det e list-trials "$1" --json | jq '.[0].id'; }
EXPERIMENT=0

# ---- a checkpoint that was damaged while its trial was paused

has_begun() { det t metrics "$(trial_of "$EXPERIMENT")" --csv | grep -q ,training,x,; }
uuid_of() { det c list --trial "$1" --json | jq -r '.[] | select(.state == "STATE_COMPLETED").uuid'; }
has_saved() { [ -n "$(uuid_of "$trial")" ]; }
damaged() { # LANGUAGE 'what is done to the file' 'what is said'
    EXPERIMENT=$((EXPERIMENT + 1))
    ok "a trial begins ($1, $2)" det e create "ladder/2_checkpoints_$1.yaml" ladder
    soon 'it counts' has_begun
    ok 'it is paused' det e pause "$EXPERIMENT"
    soon 'and rests' is_state PAUSED "$EXPERIMENT"
    trial=$(trial_of "$EXPERIMENT")
    soon 'with a checkpoint' has_saved
    uuid=$(uuid_of "$trial")
    file=$(find "$HOME" -path "*$uuid/state")
    cp "$file" whole
    sh -c "$2" sh "$file"
    ok 'it is activated' det e activate "$EXPERIMENT"
    fails 1 'it does not go on' det e wait "$EXPERIMENT"
    det t logs "$trial" >"$OUT"
    says "checkpoint $uuid: $3"
    says_not 'going on after'
    cp whole "$file"
    ok 'put back, another goes on from it' det e create "ladder/2_checkpoints_$1.yaml" ladder --checkpoint "$uuid" -f
    EXPERIMENT=$((EXPERIMENT + 1))
    says 'going on after step'
    says "experiment $EXPERIMENT is COMPLETED"
}
damaged py ': >"$1"' "'state' of the checkpoint has 0 bytes"
damaged c 'tr 0-9 1-90 <"$1" >changed; cat changed >"$1"' "'state' of the checkpoint has changed"

# ---- a disk that is full in the middle of a checkpoint

mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=2m tmpfs "$T/small" 2>/dev/null; then
    mkdir full
    cat >full/full.py <<'END'
import determined as det

with det.core.init() as core_context:
    for step, size in ((1, 1), (2, 4000), (3, 1)):
        try:
            with core_context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "weights").write_bytes(b"w" * 1000 * size)
            print(f"saved step {step}")
        except OSError as error:
            print(f"step {step}: {error.strerror}")
    core_context.train.report_validation_metrics(3, {"x": 1})
END
    cat >full/full.c <<'END'
#include <det/det.h>
#include <stdio.h>

static char bytes[4000000];

static det_status save(det_context *det, int step, size_t size)
{
    det_checkpoint *checkpoint;
    det_status st = det_checkpoint_begin(det, step, NULL, &checkpoint);

    if (st)
        return st;
    st = det_checkpoint_put(checkpoint, "weights", bytes, size);
    if (!st)
        st = det_checkpoint_commit(checkpoint);
    if (st)
        det_checkpoint_abort(checkpoint);
    return st;
}

int main(void)
{
    static const size_t sizes[] = {1000, sizeof(bytes), 1000};
    det_metric metric = {"x", 1};
    det_context *det;
    int step;

    if (det_init(NULL, &det))
        return 1;
    for (step = 1; step <= 3; step++) {
        det_status st = save(det, step, sizes[step - 1]);

        if (st)
            printf("step %d: %s: %s\n", step, det_status_name(st), det_context_error(det));
        else
            printf("saved step %d\n", step);
    }
    step = det_report_validation(det, 3, &metric, 1) != DET_OK;
    det_close(det);
    return step;
}
END
    for language in py c; do
        entrypoint='python3 full.py'
        [ $language = py ] || entrypoint='cc -o full full.c -ldet && exec ./full'
        cat >full.yaml <<END
name: full
entrypoint: $entrypoint
searcher: {name: single, metric: x}
checkpoint_storage: {type: shared_fs, host_path: $T/small, save_trial_latest: 5}
max_restarts: 0
END
        EXPERIMENT=$((EXPERIMENT + 1))
        ok "a trial goes on when the disk is full ($language)" det e create full.yaml full -f
        says 'saved step 1'
        says 'step 2: '
        grep -q 'step 2: .*No space left\|step 2: FULL' "$OUT"
        result $? '... and says that there is no space left'
        says 'saved step 3'
        says "experiment $EXPERIMENT is COMPLETED"
        same 'what is listed is whole' 2 "$(det e list-checkpoints "$EXPERIMENT" --csv | grep -c ,COMPLETED,)"
        rm -rf "$T"/small/*
    done
    umount -l "$T/small"
else
    skip 'a trial goes on when the disk is full' 'needs root'
fi

# ---- a rank that dies in a collective

mkdir ranks
cat >ranks/ranks.py <<'END'
import os
import signal

import determined as det

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it says first what it hears
distributed = det.core.DistributedContext.from_deepspeed()
with det.core.init(distributed=distributed) as core_context:
    for step in range(1, 100):
        if distributed.get_rank() == 1 and step == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            distributed.allgather(step)
        except Exception as error:
            print(f"rank {distributed.get_rank()} hears: {error}", flush=True)
            raise
END
cat >ranks/ranks.c <<'END'
#include <det/det.h>
#include <signal.h>
#include <stdio.h>

int main(void)
{
    det_distributed_options options = {sizeof(options)};
    det_distributed *group;
    const det_part *parts;
    int step, rank;

    signal(SIGTERM, SIG_IGN); /* it says first what it hears */
    options.from = DET_RANKS_ANY;
    if (det_distributed_open(&options, &group))
        return 1;
    rank = det_distributed_ranks(group)->rank;
    for (step = 1; step < 100; step++) {
        if (rank == 1 && step == 7)
            raise(SIGKILL);
        if (det_distributed_allgather(group, &step, sizeof(step), &parts)) {
            printf("rank %d hears: %s\n", rank, det_distributed_error(group));
            return 1;
        }
    }
    return 0;
}
END
if command -v mpirun >/dev/null; then
    for language in py c; do
        run='python3 ranks.py'
        [ $language = py ] || run='./ranks'
        before=true
        [ $language = py ] || before='cc -o ranks ranks.c -ldet'
        cat >ranks.yaml <<END
name: ranks
entrypoint: $before && exec det launch mpi -- $run
resources: {slots_per_trial: 3}
searcher: {name: single, metric: x}
max_restarts: 0
END
        EXPERIMENT=$((EXPERIMENT + 1))
        fails 1 "a rank that dies ends its trial ($language)" det e create ranks.yaml ranks -f
        says 'rank 1 was killed by signal 9'
        says "experiment $EXPERIMENT is ERROR"
        says 'hears: rank 1 died in allgather number 7'
    done
else
    skip 'a rank that dies ends its trial' 'mpirun is not here'
fi
