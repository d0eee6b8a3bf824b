# SPDX-License-Identifier: Apache-2.0
# `det tensorboard`: the real TensorBoard as a task, reached through the master's address.
. "$(dirname "$0")/lib.sh"
need_tensorflow
need curl jq
platform --slots 1

# One that reports only, one that writes files for TensorBoard of its own, and one that
# holds the only slot.
folder plain <<'END'
#!/bin/sh
for step in 1 2 3; do det report --steps $step loss=0.$step; done
det report --steps 3 --validation accuracy=0.5 --wait
END
folder files <<'END'
#!/bin/sh
exec python3 -c '
from determined import core
with core.init() as context:
    for step in 1, 2, 3:
        context.train.report_training_metrics(steps_completed=step, metrics={"own": 1 / step})
'
END
folder busy <<'END'
#!/bin/sh
touch "$HOME/busy"
until [ -e "$HOME/go" ]; do sleep 0.05; done
END
create plain >/dev/null
create files >/dev/null
create busy >/dev/null
ok 'a script has reported metrics' det e wait 1 --timeout 120
ok 'and a program has written files' det e wait 2 --timeout 120
soon 'the only slot is taken' test -e "$HOME/busy"

# ---- one is started

ok 'TensorBoard starts all the same' det tensorboard start 1 2 --no-browser
says '/proxy/'
BOARD=$(sed -n 's/^Launched TensorBoard //p' "$OUT")
TOKEN=$(login)
page() { curl -sS -H "Authorization: Bearer $TOKEN" "$@"; }
code() { page -o /dev/null -w '%{http_code}' "$(url)/proxy/$BOARD/"; }
tags() { page "$(url)/proxy/$BOARD/data/plugin/scalars/tags"; }
has_tag() { tags | jq -e --arg run "$1" --arg tag "$2" '.[$run][$tag]'; }
ok 'its page comes through the master' page -f "$(url)/proxy/$BOARD/"
says 'tb-relative-root'
soon 'it shows metrics of a trial that has no files' has_tag experiment_1/trial_1 training/loss
soon 'all of them' has_tag experiment_1/trial_1 validation/accuracy
soon 'and reads the files of one that has' has_tag experiment_2/trial_2 training/own
same 'nobody gets it without a session' 401 "$(curl -s -o /dev/null -w '%{http_code}' "$(url)/proxy/$BOARD/")"
ok 'the queue calls it a TensorBoard' sh -c "det job list --csv | grep '^$BOARD,'"
says ',TensorBoard,'
ok 'it is listed' det tb list
says RUNNING
ok 'its log is there' det tensorboard logs "$BOARD"
says 'of python3'
ok 'and its page is found again by a few digits' det tensorboard open "$(echo "$BOARD" | cut -c1-8)" --no-browser
says "/proxy/$BOARD/"

# ---- the master dies, and another comes

slay "$(jq .pid "$DATA/master.json")"
platform --slots 1
TOKEN=$(login)
same 'its address outlives the master' 200 "$(code)"

# ---- the end of it

ok 'it is killed' det tensorboard kill "$BOARD"
is_over() { det tensorboard list --all --json | jq -e '.[0].state == "STATE_TERMINATED"'; }
soon 'and over' is_over
same 'its address says so' 404 "$(code)"
ok 'one that nobody looks at' det tensorboard start --trial-ids 1 --timeout 1 --detach
IDLE=$(sed -n 's/^Launched TensorBoard //p' "$OUT")
is_idle() { det task describe "$IDLE" --json | jq -e '.[0].taskState == "GENERIC_TASK_STATE_COMPLETED"'; }
soon 'ends by itself' is_idle
ok 'and says why' det tb logs "$IDLE"
says 'nobody has used TensorBoard for 1 s'

# ---- what is wrong

fails 2 'one of nothing is refused' det tensorboard start
fails 4 'and one of an unknown experiment' det tensorboard start 999
touch "$HOME/go"
ok 'the training has gone on' det e wait 3 --timeout 120
