# SPDX-License-Identifier: Apache-2.0
# Somebody removes the agent's directory under a running task.  No report is acknowledged that nobody
# reads; what was acknowledged is stored; the trial's next run begins when nothing of this one is left.
. "$(dirname "$0")/lib.sh"
need jq
platform --slots 1
folder talks <<'END'
#!/bin/sh
at=$HOME/$DET_EXPERIMENT_ID
run=$DET_TRIAL_RUN_ID
for pid in "$at".pid.*; do
    [ ! -e "$pid" ] || ! kill -0 "$(cat "$pid")" 2>/dev/null || echo "run $run" >>"$HOME/overlap"
done
echo $$ >"$at.pid.$run"
n=0
until [ -e "$HOME/end" ]; do
    n=$((n + 1))
    if det report --steps $n loss=$n 2>>"$at.said"; then
        echo $n >>"$at.accepted.$run"
    else
        echo $n >>"$at.refused.$run"
    fi
    echo "run $run line $n"
done
END
accepted() { [ "$(grep -c . "$HOME/$1.accepted.$2" 2>/dev/null)" -ge "$3" ]; }
supervisor() {
    for pid in $(ours); do
        case $(cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ') in
        *"task run "*) echo "$pid" ;;
        esac
    done
}
rows() { # TRIAL: the steps of the reports of its first run
    api GET "/api/v1/trials/metrics/trial_metrics?trialIds=$1&group=training&withArchived=true" | sed '$d' |
        jq -r '(.result // empty).metrics[] | select(.trialRunId == 1).totalBatches' | sort -n
}
are_all_stored() {
    rows "$1" >got
    sort -n "$HOME/$1.accepted.1" >wanted
    cmp got wanted
}

create talks >/dev/null
soon 'a task reports' accepted 1 1 30
name=$(basename "$DATA"/agent/tasks/*)
remove() { until rm -rf "$DATA/agent" 2>/dev/null; do :; done; } # the task may write meanwhile
remove
# A run that comes before the agent has looked is sent back, and the next one begins.
runs_after() { # RUN: sets run
    for run in 2 3 4 5 6 7 8 9; do
        [ "$run" -le "$1" ] || ! accepted 1 "$run" 5 || return 0
    done
    return 1
}
soon 'its directory is removed: it runs again' runs_after 1
second=$run
ok 'no two runs overlapped' test ! -e "$HOME/overlap"
ok 'reports after that were refused' test -s "$HOME/1.refused.1"
ok 'in a sentence' grep -q "is gone: the task's directory was removed" "$HOME/1.said"
ok 'nobody made the directory again' test ! -e "$DATA/agent/tasks/$name"
ok 'every report that was acknowledged is stored' are_all_stored 1
ok 'the log says what happened' det t logs 1
says 'its directory was removed'
lines() { det t logs 1 | sed -n 's/.*|| run 1 line //p'; }
lines >got
seq "$(grep -c . got)" >wanted
ok 'and has the lines in order' cmp got wanted
ok 'at least those of the reports' test "$(grep -c . got)" -ge "$(grep -c . "$HOME/1.accepted.1")"

# The agent dies with its directory: the next one finds the supervisor by its command line.
supervisor=$(supervisor)
kill -STOP "$supervisor" # it has not noticed yet
slay "$(pgrep -f -- "^$DET agent run .*--data-dir $DATA/agent" | head -1)"
remove
agent_is_back() { det agent list --csv | grep -q ',yes,yes,' && [ -e "$DATA/agent/tasks" ]; }
soon 'its agent is killed, too, and is back' agent_is_back
waits() { grep -q 'another run of it still has processes on this machine' "$DATA/agent.log"; }
soon 'the next run waits for the one that is still there' waits
ok 'which goes on' kill -0 "$(cat "$HOME/1.pid.$second")"
kill -CONT "$supervisor"
soon 'its supervisor notices: it runs again' runs_after "$second"
ok 'no two runs overlapped then' test ! -e "$HOME/overlap"
touch "$HOME/end"
ok 'the trial completes' det e wait 1 --timeout 120
same 'at no cost' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
