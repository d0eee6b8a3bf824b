# SPDX-License-Identifier: Apache-2.0
# The queue: order, priorities, changes.
. "$(dirname "$0")/lib.sh"
platform --slots 1
folder wait <<'END'
#!/bin/sh
echo "$DET_EXPERIMENT_ID" >>"$HOME/order"
until [ -e "$HOME/end" ]; do sleep 0.05; done
END
ok 'the first takes the slot' create wait
soon 'and runs' grep -qx 1 "$HOME/order"
create wait --config resources.priority=50 >/dev/null
create wait --config resources.priority=50 >/dev/null
create wait --config resources.priority=10 >/dev/null
create wait --config resources.priority=60 >/dev/null
queue() { det job list --csv | sed -n 's/^\([0-9]*\),wait,QUEUED,.*/\1/p' | xargs; }
ok 'the queue is shown' det job list
says 'QUEUED'
same 'in the order in which they will run' '4 2 3 5' "$(queue)"
ok 'a priority is changed' det job update 5 --priority 5
same 'and with it the order' '5 4 2 3' "$(queue)"
ok 'also by the experiment' det e set priority 3 20
same 'which has the same effect' '5 4 3 2' "$(queue)"
fails 2 'a priority out of range is refused' det job update 2 --priority 100
fails 2 'no change at all is refused' det job update 2
ok 'a weight is changed' det job update 2 --weight 2
fails 2 'a pool that is not there is named' det job update 2 --resource-pool nowhere
fails 4 'a job that is not there is named' det job update 99 --priority 3
ok 'one that waits is killed' det e kill 4
soon 'and leaves the queue' sh -c '! det job list --csv | grep -q "^4,\|,4,"'
ok 'one that waits is paused' det e pause 3
touch "$HOME/end"
for id in 1 2 5; do det e wait $id --timeout 120 >/dev/null 2>&1; done
same 'they ran in that order' '1 5 2' "$(xargs <"$HOME/order")"
ok 'the paused one goes on at last' sh -c 'det e activate 3 && det e wait 3 --timeout 120'
ok 'the queue is empty' det job list
says 'the queue is empty'

# Preemption by priority, where the pool has it.
det stop >/dev/null 2>&1
rm -f "$HOME/end" "$HOME/order"
cat >master.yaml <<'END'
resource_pools:
  - pool_name: default
    scheduler: {type: priority, preemption: true}
END
platform --slots 1 --config master.yaml
folder polite <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID of $DET_EXPERIMENT_ID" >>"$HOME/order"
until [ -e "$HOME/end" ] || det preempted; do sleep 0.05; done
END
create polite --config resources.priority=50 >/dev/null
LOW=$ID
soon 'a less important one runs' grep -qx "run 1 of $LOW" "$HOME/order"
create polite --config resources.priority=1 >/dev/null
HIGH=$ID
soon 'a more important one takes its place' grep -qx "run 1 of $HIGH" "$HOME/order"
ok 'the other waits' sh -c "det job list --csv | grep -q '^$LOW,polite,QUEUED,'"
touch "$HOME/end"
ok 'both come to their end' sh -c "det e wait $HIGH --timeout 120 && det e wait $LOW --timeout 120"
ok 'the preempted one had a second run' grep -qx "run 2 of $LOW" "$HOME/order"
