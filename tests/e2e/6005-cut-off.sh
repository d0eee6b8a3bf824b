# SPDX-License-Identifier: Apache-2.0
# An agent and its supervisor are away for longer than their pool waits, and the task goes on.  The trial
# runs elsewhere; what its first run has reported is delivered later, archived, and changes nothing.
. "$(dirname "$0")/lib.sh"
need jq
cat >master.yaml <<'END'
resource_pools:
  - pool_name: default
    agent_reconnect_wait: 1s
END
platform --no-agent --config master.yaml
agent() { # ID
    det agent run --id "$1" --slots 1 --data-dir "$T/agent-$1" >>"agent-$1.log" 2>&1 &
}
joined() { det agent list --csv | grep -q "^$1,.*,yes,yes,"; }
agent a
A=$!
soon 'an agent joins' joined a
folder talks <<'END'
#!/bin/sh
run=$DET_TRIAL_RUN_ID
echo $$ >"$HOME/pid.$run"
n=0
until [ -e "$HOME/end.$run" ]; do
    n=$((n + 1))
    det report --steps $n loss=$n && echo $n >>"$HOME/accepted.$run"
    echo "run $run line $n"
    if [ -e "$HOME/validate.$run" ]; then
        det report --steps $n --validation loss="$(cat "$HOME/validate.$run")" && mv "$HOME/validate.$run" "$HOME/validated.$run"
    fi
    sleep 0.1
done
END
create talks >/dev/null
accepted() { [ "$(grep -c . "$HOME/accepted.$1" 2>/dev/null)" -ge "$2" ]; }
stored() { det t metrics 1 --csv | grep -q ',loss,'; }
soon 'a trial reports there' stored
supervisor=$(for pid in $(ours); do
    case $(cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ') in
    *"task run $T/agent-a"*) echo "$pid" ;;
    esac
done)
kill -STOP "$supervisor"
kill -9 $A # its calls break at once, so that the test need not wait for them
wait $A 2>/dev/null
before=$(grep -c . "$HOME/accepted.1")
echo 0.125 >"$HOME/validate.1"
agent b
B=$!
soon 'it reports on while its machine is cut off' accepted 1 $((before + 20))
soon 'it runs again elsewhere' accepted 2 3
same 'its first run has not heard of that' yes "$(kill -0 "$(cat "$HOME/pid.1")" && echo yes)"
ok 'it has validated' test -e "$HOME/validated.1"
echo 0.5 >"$HOME/validate.2"
soon 'so has the second one' test -e "$HOME/validated.2"
agent a
A=$!
kill -CONT "$supervisor"
soon 'the machine is back: the first run is ended' is_dead "$(cat "$HOME/pid.1")"
is_tidy() { [ -z "$(ls "$T/agent-a/tasks")" ]; }
soon 'and its directory released' is_tidy
rows() { # RUN: the steps of its training reports, with `archived`
    api GET "/api/v1/trials/metrics/trial_metrics?trialIds=1&group=$2&withArchived=true" | sed '$d' |
        jq -r ".result.metrics[] | select(.trialRunId == $1) | \"\(.totalBatches) \(.archived)\""
}
rows 1 training | cut -d' ' -f1 >got
sort -n "$HOME/accepted.1" >wanted
ok 'every report that it had accepted is stored, once' sh -c 'sort -n got | cmp - wanted'
late=$(rows 1 training | grep -c true)
ok 'those that came late are archived' test "$late" -ge 20
ok 'as the command line says' test "$(det t metrics 1 --csv --lost | grep -c ',true$')" -ge 20
same 'its validation too' true "$(rows 1 validation | cut -d' ' -f2)"
same 'which is not the best' 0.5 "$(api GET /api/v1/trials/1 | sed '$d' | jq .trial.bestValidation.metrics.avgMetrics.loss)"
lines() { det t logs 1 | sed -n "s/.*|| run $1 line //p"; }
lines 1 >got
seq "$(grep -c . got)" >wanted
ok 'its lines are in the log, each once' cmp got wanted
ok 'at least those of the reports' test "$(grep -c . got)" -ge "$(grep -c . "$HOME/accepted.1")"
touch "$HOME/end.2"
ok 'the trial completes' det e wait 1 --timeout 120
same 'at no cost' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
kill -TERM $A $B
wait $A
wait $B
