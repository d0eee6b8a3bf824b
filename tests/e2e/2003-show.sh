# SPDX-License-Identifier: Apache-2.0
# Lists and descriptions as text, JSON and CSV; labels, names, settings.
. "$(dirname "$0")/lib.sh"
need jq
platform
folder one <<'END'
#!/bin/sh
det report --steps 10 loss=0.5
det report --steps 10 --validation loss=0.25
END
ok 'follow exits 0 for COMPLETED' create one -f
says 'experiment 1 is COMPLETED'
folder bad <<'END'
#!/bin/sh
exit 3
END
fails 1 'follow exits 1 for ERROR' create bad -f
says 'experiment 2 is ERROR'
fails 1 'wait exits 1 for ERROR' det e wait 2
ok 'wait exits 0 for COMPLETED' det e wait 1

ok 'list shows both' det e list
says 'one'
says 'ERROR'
for what in 'e list' 'e list-trials 1' 'e list-checkpoints 1' 'agent list' 'slot list' 'job list' 'task list' 'user list' 'e metrics 1'; do
    # shellcheck disable=SC2086
    ok "det $what --json is JSON" sh -c "det $what --json | jq -e . >/dev/null"
    # shellcheck disable=SC2086
    ok "det $what --csv begins with names" sh -c "det $what --csv | head -1 | grep -q '^[a-z]'"
done
for what in 'e describe 1' 't describe 1' 'master info' 'e config 1' 'version' 'master config' 't logs 1'; do
    ok "det $what --json is JSON" sh -c "det $what --json | jq -e . >/dev/null"
done
for what in 'e list' 'e list-trials 1' 'user list'; do
    ok "the first column of det $what --csv is the id" sh -c "det $what --csv | head -1 | grep -q '^id,'"
done
ok 'describe shows the best trial' det e describe 1
says 'loss 0.25, trial 1'
ok 'a trial shows its metrics' det t describe 1
says 'validation'
ok 'several are described at once' det e describe 1 2
says 'experiment 2: bad'
ok 'metrics are drawn' det e metrics 1
says 'loss'
fails 4 'a metric that is not there is named, with those that are' det e metrics 1 -n loss -n los
says "experiment 1 has no metric 'los'; it has "
says 'validation: loss'
fails 4 'also where rows are wanted' det e metrics 1 --csv -n los
fails 4 'so is a group' det e metrics 1 --group validatoin
says "no metrics of group 'validatoin'; it has "

ok 'a label is added' det e label add 1 blue
fails 2 'a state that is none is refused with those that are' det e list -s foo
says "--state is 'foo'; expected one of ACTIVE, PAUSED"
says 'QUEUED, PULLING, STARTING, RUNNING'
says_not 'STATE_FOO'
ok 'a state may be written small' det e list -s completed
ok 'or as lists show it' det e list -s running
says 'no experiments of yours match --state, --label and --name'
ok 'and found' sh -c 'det e list -l blue --csv | grep -c , | grep -qx 2'
ok 'and removed' det e label remove 1 blue
ok 'and found no more' sh -c '! det e list -l blue --csv | grep -q ^1,'
ok 'the name is set' det e set name 1 'a better, "quoted" name'
ok 'and shown in JSON' sh -c 'det e list --json | jq -e "any(.[]; .name == \"a better, \\\"quoted\\\" name\")"'
ok 'and quoted in CSV' sh -c 'det e list --csv | grep -qF "1,\"a better, \"\"quoted\"\" name\","'
ok 'the description is set' det e set description 1 'some words'
ok 'and shown' sh -c 'det e describe 1 | grep -q "some words"'
fails 2 'a priority out of range is refused' det e set priority 1 200
fails 2 'a weight below 0 is refused' det e set weight 1 -1
fails 5 'the priority of what is over is refused' det e set priority 1 7
ok 'the checkpoint policy is set' det e set gc-policy 1 --save-trial-best 2 --save-trial-latest 3 --save-experiment-best 1 --yes
ok 'and stored' sh -c 'det e config 1 --json | jq -e ".checkpoint_storage | .save_trial_best == 2 and .save_trial_latest == 3 and .save_experiment_best == 1"'
ok 'list filters by state' sh -c 'det e list -s ERROR --csv | sed 1d | cut -d, -f1 | grep -qx 2'
fails 2 'a state that is none is refused' det e list -s BROKEN
ok 'list filters by name' sh -c 'det e list -n better --csv | sed 1d | grep -c . | grep -qx 1'
ok 'list stops at a limit' sh -c 'det e list --limit 1 --csv | sed 1d | cut -d, -f1 | grep -qx 2'
ok 'what is printed into a closed pipe ends quietly' sh -c 'det e list --json | head -1'

printf '#!/bin/sh\ntrue\n' | folder silent
create silent -f >/dev/null 2>&1
ok 'an experiment that ended without metrics' det e metrics "$ID"
says_line 'no metrics were reported'
create silent --paused >/dev/null 2>&1
ok 'one that may still report some' sh -c "det e metrics $ID || det t metrics \$(det e list-trials $ID --csv | sed -n '2s/,.*//p')"
says_line 'no metrics were reported yet'
