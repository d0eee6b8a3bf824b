# SPDX-License-Identifier: Apache-2.0
# The profiler: the load of the machine during a trial, and where the time went.  Turned on by the
# configuration, read on the command line and through REST.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need cc curl jq
BUILD=$(dirname "$DET")
ROOT=$HERE/../..
platform

ok 'a program is compiled' cc -O1 -Wall -I"$ROOT/include" -o profiled "$HERE/profiled.c" \
    -L"$BUILD" -ldet -Wl,-rpath,"$BUILD"
folder train <<END
#!/bin/sh
exec $T/profiled
END
echo 'profiling: {enabled: true}' >>train/const.yaml
ok 'it is trained' create train -f
says 'experiment 1 is COMPLETED'

# ---- for people

ok 'it has a profile' det trial profile 1
says cpu_util_simple
says memory_free
says disk_iops
says /.disk_util
says 'where the time on '
says 'data wait'
says 'hint: '
says 'waiting for data'
ok 'which is no metric of its own' det trial describe 1
says_not memory_free
says loss
ok 'and no curve' det trial metrics 1
says 'loss (training)'
says_not 'no numbers to draw yet'

# ---- for programs

det trial profile 1 --json >profile.json
value() { jq -r ".[] | select(.name == \"$1\") | .$2" profile.json; }
same 'every batch was waited for' 20 "$(value data count)"
same 'and trained' 20 "$(value step count)"
same 'and validated once' 1 "$(value validate count)"
same 'a checkpoint was saved' 1 "$(value checkpoint count)"
ok 'most of the time went into the wait' \
    jq -e '[.[] | select(.group == "timing")] | max_by(.seconds).name == "data"' profile.json
ok 'shares are of the whole' \
    jq -e '[.[] | select(.group == "timing") | .share] | add <= 1.01' profile.json
ok 'as rows' det trial profile 1 --csv
says agent,group,name,last,mean,max

api GET '/api/v1/trials/metrics/trial_metrics?group=memory&trialIds=1' | head -n 1 >memory.json
ok 'through REST it is a group of metrics' \
    jq -e '.result.metrics[0] | .group == "memory" and (.metrics.avg_metrics[].memory_free > 0)' memory.json
ok 'with a time and without steps' \
    jq -e '.result.metrics[0] | .totalBatches == 0 and (.endTime | startswith("20"))' memory.json
api GET /api/v1/trials/1 | head -n 1 >trial.json
ok 'the trial has its batches' jq -e '.trial.totalBatchesProcessed == 20' trial.json

# ---- without: the load of the machine is measured all the same, also of a shell script

folder plain <<END
#!/bin/sh
while ! curl -sf -H "Authorization: Bearer \$DET_USER_TOKEN" \
    "\$DET_MASTER/api/v1/det/trials/\$DET_TRIAL_ID/load" | grep -q cpu_util; do sleep 0.2; done
END
ok 'without the configuration' create plain -f
says 'experiment 2 is COMPLETED'
ok 'the load of the machine is measured' det trial profile 2
says cpu_util_simple
says memory_free
says_not 'where the time on'
says 'profiling: {enabled: true}'
ok 'which is not a metric' det trial metrics 2
says_not cpu_util
same '... of any group' '' "$(api GET '/api/v1/trials/metrics/trial_metrics?trialIds=2' | grep cpu_util)"
same '... and not in the configuration that clients see' false \
    "$(api GET /api/v1/experiments/2 | head -n 1 | jq .config.profiling.enabled)"

folder unmeasured <<END
#!/bin/sh
sleep 4
END
echo 'profiling: {enabled: false}' >>unmeasured/const.yaml
ok 'a configuration may turn it off' create unmeasured -f
ok 'then nothing is measured' det trial profile 3
says 'has no profile'
says 'enabled: false'
fails 4 'and none of a trial that is not there' det trial profile 99

# ---- Python

if [ ! -e "$BUILD/pylib/determined/_det.abi3.so" ]; then
    skip 'a Python program turns it on' 'the Python package is not built'
    exit 0
fi
folder script <<'END'
#!/usr/bin/env python3
import determined as det

with det.core.init() as core_context:
    core_context.profiler.on(sampling_interval=0.1, samples_per_report=1)
    with core_context.profiler.timing("step"):
        sum(range(1000))
    core_context.train.report_training_metrics(1, {"loss": 1})
    core_context.profiler.off()
END
ok 'a Python program turns it on' create script -f
says 'experiment 4 is COMPLETED'
ok 'and has a profile' det trial profile 4
says memory_free
says step
