# SPDX-License-Identifier: Apache-2.0
# SIGKILL for the master in the middle of a search: the next one goes on.
. "$(dirname "$0")/lib.sh"
need jq
pid_of() { jq .pid "$1"; }
platform --slots 2
folder search <<'END'
#!/bin/sh
echo "trial $DET_TRIAL_ID run $DET_TRIAL_RUN_ID begins" | tee -a "$HOME/runs"
for n in 1 2 3 4 5 6 7 8 9 10; do
    echo "trial $DET_TRIAL_ID step $n"
    until det report --steps $n loss=0.$n; do sleep 0.1; done
    sleep 0.05
done
until det report --steps 10 --validation loss="$(det hparam lr)"; do sleep 0.1; done
END
cat >search/const.yaml <<'END'
name: search
entrypoint: ./run.sh
searcher: {name: grid, metric: loss, max_concurrent_trials: 2}
hyperparameters: {lr: {type: int, minval: 1, maxval: 6, count: 6}}
max_restarts: 0
END
create search >/dev/null
begun() { [ "$(grep -c . "$HOME/runs" 2>/dev/null)" -ge "$1" ]; }
for round in 1 2 3; do
    soon "trial $((round * 2 - 1)) begins" begun $((round * 2 - 1))
    slay "$(pid_of "$DATA/master.json")"
    platform --slots 2
done
ok 'after three kills of the master the search completes' det e wait 1 --timeout 120
same 'with every trial' 6 "$(det e list-trials 1 --csv | grep -c ,COMPLETED,)"
same 'none was started twice' 6 "$(sort -u "$HOME/runs" | grep -c 'run 1 begins')"
same 'nor restarted' 6 "$(grep -c . "$HOME/runs")"
for trial in 1 2 3 4 5 6; do
    same "the log of trial $trial has every line once" "$(seq -s ' ' 1 10)" \
        "$(det t logs $trial | sed -n "s/.*trial $trial step //p" | xargs)"
    same "its metrics have every step once" "$(seq -s ' ' 1 10)" \
        "$(det t metrics $trial --csv | sed -n 's/^[0-9]*,[0-9]*,\([0-9]*\),.*,training,loss,.*/\1/p' | xargs)"
done
same 'the best is right' 1 "$(det e list --json | jq '.[0].bestTrialSearcherMetric')"

# The master is away while a task works and ends.
folder alone <<'END'
#!/bin/sh
echo one
touch "$HOME/one"
until [ -e "$HOME/gone" ]; do sleep 0.02; done
echo two
echo three
touch "$HOME/ended"
END
create alone >/dev/null
soon 'a task runs' test -e "$HOME/one"
slay "$(pid_of "$DATA/master.json")"
touch "$HOME/gone"
soon 'it ends while no master is there' test -e "$HOME/ended"
platform --slots 2
ok 'the next master learns of it' det e wait 2 --timeout 120
same 'with its whole output' 'one two three' "$(det t logs 7 | sed -n 's/.*|| \([a-z]*\)$/\1/p' | xargs)"
