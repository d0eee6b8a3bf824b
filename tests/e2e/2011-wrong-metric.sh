# SPDX-License-Identifier: Apache-2.0
# A searcher.metric that no validation has is told as soon as the first validation arrives.
. "$(dirname "$0")/lib.sh"
need jq python3
platform
folder wrong <<'END'
#!/bin/sh
det report --steps 1 --validation val_loss=0.5 accuracy=0.1
det report --steps 2 --validation val_loss=0.4 accuracy=0.2
END
DOUBT="the validation of trial 1 has no 'val_los'; it has accuracy, val_loss: did you mean val_loss?"
ok 'a metric that no validation has does not fail the trial' create wrong -f --config searcher.metric=val_los
says "warning: $DOUBT"
says "warning: no trial could be compared: $DOUBT"
same 'the log says it once' 1 "$(det t logs 1 | grep -c "has no 'val_los'")"
ok 'so does the description' det e describe 1
says_line "  warning      no trial could be compared: $DOUBT"
same 'also for programs' "no trial could be compared: $DOUBT" "$(det e describe 1 --json | jq -r '.[0].metricDoubt')"
ok 'so does wait' det e wait 1
says "warning: no trial could be compared: $DOUBT"
ok 'with the right name' create wrong -f --config searcher.metric=val_loss
says_not 'warning'
ok 'nothing is in doubt' det e describe "$ID"
says_not 'warning'
folder late <<'END'
#!/bin/sh
det report --steps 1 --validation accuracy=0.1
det report --steps 2 --validation loss=0.5 accuracy=0.1
END
ok 'a metric that comes with the second validation' create late -f --config searcher.metric=loss
says "has no 'loss'; it has accuracy: name one of these in searcher.metric"
says_not 'no trial could be compared'
ok 'counts' det e describe "$ID"
says 'best         loss 0.5'
says_not 'warning'

# Keras and PyTorch trials end with this exception: every run would.
folder raising <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID"
det report --steps 1 --validation loss=1
exec python3 -c 'from determined.errors import SearcherMetricError
raise SearcherMetricError("no f1")'
END
fails 1 'a trial that ends for want of the metric' create raising -f --config max_restarts=5 --config searcher.metric=f1
same 'is run once, although it made reports' 1 "$(det t logs "$(det e list-trials "$ID" --json | jq '.[0].id')" | grep -c 'run [0-9]*$')"
says 'is not retried, because it would fail again: exited with code 1: determined.errors.SearcherMetricError: no f1'
