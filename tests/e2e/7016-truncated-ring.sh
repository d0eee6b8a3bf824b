# SPDX-License-Identifier: Apache-2.0
# A task that truncates the head of its ring ends neither its supervisor nor the agent.
. "$(dirname "$0")/lib.sh"
need jq truncate
platform --slots 2
folder cut <<'END'
#!/bin/sh
head=$DET_REPORT_RING/head
touch "$HOME/began"
( until [ -e "$HOME/stop" ]; do truncate -s 0 "$head"; truncate -s 4096 "$head"; done ) &
until [ -e "$HOME/enough" ]; do
    det report loss=0.5 >/dev/null 2>&1
    sleep 0.01
done
touch "$HOME/stop"
wait
echo "the task ended by itself"
END
create cut >/dev/null
soon 'a task truncates the head of its ring' test -e "$HOME/began"
dir=$(ls -d "$DATA/agent/tasks/1".*-0)
supervisor=$(jq -Rr 'fromjson? | .supervisor' "$dir/pid")
named() { det t logs 1 | grep -q 'truncated.*/head'; }
soon 'the log names what happened' named
ok 'its supervisor lives' kill -0 "$supervisor"
touch "$HOME/enough"
ok 'the trial ends as it wanted to' det e wait 1 --timeout 120
same 'in its first run' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
ok 'with its whole output' det t logs 1
says 'the task ended by itself'
ok 'the agent is well' sh -c 'det agent list --csv | grep -q ",yes,yes,"'
