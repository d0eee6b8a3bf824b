# SPDX-License-Identifier: Apache-2.0
# Several processes in one trial: a script of the Core API and a C program of det_fit_run(), four
# ranks each under det launch mpi, paused in the middle and resumed.
. "$(dirname "$0")/lib.sh"
need mpirun python3 cc jq
BUILD=$(dirname "$DET")
if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'ranks work in tasks' 'the Python package is not built'
    exit 0
fi
platform

# ---- Python

mkdir script
cat >script/train.py <<'END_OF_SCRIPT'
import json
import time

import determined as det
from determined import core

LAST = 200


def main(context, info):
    dist = context.distributed
    state = {"weight": 0, "step": 0}
    if info.latest_checkpoint is not None:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            state = json.loads((path / f"rank{dist.rank}.json").read_text())
        print("resumed at step", state["step"], flush=True)
    while state["step"] < LAST:
        state["step"] += 1
        state["weight"] += sum(dist.allgather(dist.rank))
        if dist.rank == 0:
            context.train.report_training_metrics(state["step"], {"weight": state["weight"]})
            time.sleep(0.01 if info.latest_checkpoint else 0.1)
        preempted = context.preempt.should_preempt()
        if preempted or state["step"] == LAST:
            with context.checkpoint.store_path({"steps_completed": state["step"]}, shard=True) as (path, _):
                (path / f"rank{dist.rank}.json").write_text(json.dumps(state))
        if preempted:
            print("stopping at step", state["step"], flush=True)
            return
    print("ended with", state["weight"], flush=True)


info = det.get_cluster_info()
with core.init(distributed=core.DistributedContext.from_deepspeed()) as context:
    assert context.distributed.size == 4
    main(context, info)
END_OF_SCRIPT
cat >script/const.yaml <<'END'
name: ranks
entrypoint: det launch mpi -n 4 -- python3 train.py
resources: {slots_per_trial: 1}
searcher: {name: single, metric: loss}
max_restarts: 0
END
ok 'a script of four ranks begins' create script
has_reported() { det t metrics "$1" --csv | grep -q "$2"; }
soon 'it trains' has_reported 1 ,training,weight,
ok 'it is paused' det e pause 1
soon 'and rests' is_state PAUSED 1
soon 'one checkpoint was saved' sh -c '[ "$(det e list-checkpoints 1 --csv | grep -c ,COMPLETED,)" = 1 ]'
det c list --trial 1 --json | jq -r '.[0].resources | keys[]' >"$OUT"
says_line rank0.json
says_line rank3.json
ok 'it is activated' det e activate 1
ok 'and finishes' det e wait 1
says 'experiment 1 is COMPLETED'
det t logs 1 >"$OUT"
same 'all ranks ended with the same' 4 "$(grep -c 'ended with 1200$' "$OUT")"
stopped=$(sed -n 's/.*stopping at step //p' "$OUT" | sort -u)
resumed=$(sed -n 's/.*resumed at step //p' "$OUT" | sort -u)
same 'all stopped at the same step, and went on from there' "$stopped" "$resumed"
same 'four of them' 4 "$(grep -c 'stopping at step' "$OUT")"
same 'no step is missing, and none is there twice' 200 "$(det t metrics 1 --csv | grep -c ,training,weight,)"

# ---- one that dies takes the trial with it, and is named

sed -e 's/^    main(context, info)/    context.distributed.rank == 2 and __import__("os").kill(__import__("os").getpid(), 9)\n    context.preempt.should_preempt()/' \
    script/train.py >died.py
mkdir died
cp died.py died/train.py
cp script/const.yaml died/const.yaml
fails 1 'a rank that is killed ends the trial' create died -f
says 'rank 2 was killed by signal 9'

# ---- several slots need to be told of

sed -e 's/distributed=core.DistributedContext.from_deepspeed()//' script/train.py >died/train.py
sed -e 's/slots_per_trial: 1/slots_per_trial: 2/' -e 's/entrypoint: .*/entrypoint: python3 train.py/' script/const.yaml >died/const.yaml
if [ "$(det slot list --csv | grep -c ,)" -lt 3 ]; then
    skip 'two slots need a distributed context' 'there are not two slots'
else
    fails 1 'two slots need a distributed context' create died -f
    says 'ValueError: this trial has 2 slots: core.init() needs distributed='
fi

# ---- C

mkdir fit
cat >fit.c <<'END'
#include <det/det.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct model {
    double weight;
    det_distributed *group;
};

static det_status build(void *self, det_fit *fit)
{
    struct model *model = (struct model *)self;

    model->group = det_fit_group(fit);
    return DET_OK;
}

static det_status train_batch(void *self, det_fit *fit)
{
    struct model *model = (struct model *)self;
    bool is_slow = getenv("SLOW") && !strcmp(getenv("DET_TRIAL_RUN_ID"), "1");
    struct timespec pause = {0, is_slow ? 50000000 : 5000000};
    double own = det_fit_uniform(fit), sum = 0;
    const det_part *parts;
    det_status st = det_distributed_allgather(model->group, &own, sizeof(own), &parts);

    for (int i = 0; !st && i < det_distributed_ranks(model->group)->size; i++) {
        double other;

        memcpy(&other, parts[i].data, sizeof(other));
        sum += other;
    }
    model->weight = 0.9 * model->weight + sum;
    nanosleep(&pause, NULL);
    return st ? st : det_fit_metric(fit, "loss", own);
}

static det_status evaluate_batch(void *self, det_fit *fit, int64_t batch)
{
    return det_fit_metric(fit, "loss", ((struct model *)self)->weight + (double)batch);
}

static det_status save(void *self, det_checkpoint *checkpoint)
{
    struct model *model = (struct model *)self;

    return det_checkpoint_put(checkpoint, "weight", &model->weight, sizeof(model->weight));
}

static det_status load(void *self, const char *directory)
{
    struct model *model = (struct model *)self;
    char path[4096];
    FILE *file;
    size_t count;

    snprintf(path, sizeof(path), "%s/weight", directory);
    file = fopen(path, "rb");
    if (!file)
        return DET_NOT_FOUND;
    count = fread(&model->weight, sizeof(model->weight), 1, file);
    fclose(file);
    printf("goes on\n");
    return count == 1 ? DET_OK : DET_CORRUPT;
}

int main(void)
{
    char error[512] = "";
    det_distributed_options ranks = {sizeof(ranks)};
    det_init_options init = {sizeof(init)};
    det_trainer_options options = {sizeof(options)};
    det_trial trial = {sizeof(trial)};
    struct model model = {0};
    det_context *det;
    det_status st;

    ranks.from = DET_RANKS_ANY;
    ranks.error = init.error = error;
    ranks.error_size = init.error_size = sizeof(error);
    st = det_distributed_open(&ranks, &options.group);
    if (!st)
        st = det_init(&init, &det);
    if (st) {
        printf("%s\n", error);
        return 1;
    }
    trial.build = build;
    trial.train_batch = train_batch;
    trial.evaluate_batch = evaluate_batch;
    trial.evaluate_batches = 6;
    trial.save = save;
    trial.load = load;
    options.max_length.unit = options.validation_period.unit = options.reporting_period.unit = DET_BATCHES;
    options.max_length.count = 400;
    options.validation_period.count = 100;
    options.reporting_period.count = 10;
    st = det_fit_run(det, &trial, &model, &options);
    if (st)
        printf("%s\n", det_context_error(det));
    else if (!det_preempted(det))
        printf("ended with %a\n", model.weight);
    fflush(stdout);
    det_close(det);
    det_distributed_close(options.group);
    return det_status_exit(st);
}
END
lib=$(dirname "$DET")
ok 'a program of ranks compiles' cc -o fit/fit fit.c -I"$HERE/../../include" -L"$lib" -Wl,-rpath,"$lib" -l:libdet.so
cat >fit/const.yaml <<'END'
name: fit
entrypoint: det launch mpi -n 4 -- ./fit
resources: {slots_per_trial: 1}
reproducibility: {experiment_seed: 7}
searcher: {name: single, metric: loss}
scheduling_unit: 50
max_restarts: 0
END
ok 'an undisturbed run' create fit -f
calm=$(det e list-trials "$ID" --csv | sed -n '2s/,.*//p')
ok 'another one begins' create fit --config 'entrypoint=env SLOW=1 det launch mpi -n 4 -- ./fit'
rough=$((calm + 1))
soon 'it trains' has_reported $rough ,training,loss,
ok 'it is paused in the middle' det e pause "$ID"
soon 'and rests' is_state PAUSED "$ID"
ok 'it is activated' det e activate "$ID"
ok 'and finishes' det e wait "$ID"
bits() { det t logs "$1" | sed -n 's/.*ended with //p' | sort -u; }
[ -n "$(bits "$calm")" ]
result $? 'the weights are known to the bit'
same 'both ended with the same bits, on all ranks' "$(bits "$calm")" "$(bits "$rough")"
rows() { det t metrics "$1" --csv | grep -o '\(training\|validation\),.*' | sort; }
same 'and the same curves' "$(rows "$calm")" "$(rows "$rough")"
same 'one curve of four ranks' 8 "$(det t metrics "$rough" --csv | grep -c ,training,loss,)"
det t logs "$rough" >"$OUT"
same 'all four went on' 4 "$(grep -c 'goes on' "$OUT")"
