# SPDX-License-Identifier: Apache-2.0
# A fair-share pool: jobs share the slots by weight, a newcomer gets its part from those who have all, and max_slots
# bounds an experiment under both schedulers.
. "$(dirname "$0")/lib.sh"
cat >master.yaml <<'END'
resource_pools:
  - pool_name: default
    scheduler: {type: fair_share}
END
platform --slots 4 --config master.yaml
folder polite <<'END'
#!/bin/sh
until [ -e "$HOME/end" ] || det preempted; do sleep 0.05; done
END
search='searcher={name: grid, metric: loss, max_concurrent_trials: 8}'
eight='hyperparameters={n: {type: int, minval: 1, maxval: 8, count: 8}}'
has() { # EXPERIMENT SLOTS: so many it holds
    det job list --csv | cut -d, -f1,6 | grep -q "^$1,$2/"
}

ok 'the first has the pool to itself' create polite --config "$search" --config "$eight"
FIRST=$ID
soon 'all four slots' has "$FIRST" 4
ok 'a second one comes' create polite --config "$search" --config "$eight"
SECOND=$ID
soon 'and gets half of them' has "$SECOND" 2
soon 'from the first' has "$FIRST" 2
ok 'a weight is changed' det job update "$SECOND" --weight 3
soon 'and slots move' has "$SECOND" 3
soon 'to the heavier one' has "$FIRST" 1
ok 'the list has no positions' det job list --csv
says ",3,3/8,-,default,"
ok 'a cap is set' det e set max-slots "$SECOND" 2
soon 'and kept' has "$SECOND" 2
soon 'others take the rest' has "$FIRST" 2
fails 2 'a cap below one trial is refused' det e set max-slots "$SECOND" 0
says 'no trial could run; pause the experiment instead'
det e kill "$FIRST" >/dev/null
det e kill "$SECOND" >/dev/null
det stop >/dev/null 2>&1

platform --slots 4
ok 'under priorities, too' create polite --config "$search" --config "$eight" --config resources.max_slots=3
CAPPED=$ID
soon 'an experiment keeps to its cap' has "$CAPPED" 3
ok 'a less important one' create polite --config resources.priority=90
soon 'does not wait behind it' has "$ID" 1
fails 2 'a cap that no trial fits is refused' create polite --config resources.max_slots=1 \
    --config resources.slots_per_trial=2
says 'resources.max_slots: found 1; expected at least slots_per_trial, 2, or no trial could run'
touch "$HOME/end"
ok 'it comes to its end' det e wait "$CAPPED" --timeout 120
