# SPDX-License-Identifier: Apache-2.0
# Two agents claim one name: the second is refused, in a sentence, and disturbs nothing.
. "$(dirname "$0")/lib.sh"
platform --no-agent
agent() { # DIR
    det agent run --id a --slots 1 --data-dir "$T/$1" >>"$1.log" 2>&1 &
}
joined() { det agent list --csv | grep -q "^a,.*,yes,yes,"; }
folder wait <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID in $PWD" >>"$HOME/runs"
until [ -e "$HOME/end" ]; do sleep 0.05; done
END
agent one
ONE=$!
soon 'an agent joins' joined
create wait >/dev/null
soon 'a task runs' grep -q 'run 1' "$HOME/runs"
agent two
TWO=$!
soon 'a second one is refused' grep -q "another agent is connected as 'a'" two.log
says_once() { [ "$(grep -c 'another agent' two.log)" = 1 ]; }
sleep 1
ok 'which it says once' says_once
same 'the task goes on' 1 "$(grep -c . "$HOME/runs")"

# The first one restarts: it is itself again at once.
slay $ONE
wait $ONE 2>/dev/null
agent one
ONE=$!
back() { [ "$(grep -c 'joined the master' one.log two.log | cut -d: -f2 | paste -sd+ | sed 's/+/ + /g' | xargs expr)" -ge 2 ]; }
soon 'one of them joins when the first restarts' back
if grep -q 'joined the master' two.log; then
    skip 'the first was quicker' 'the second came in between'
else
    same 'the task was not disturbed' 1 "$(grep -c . "$HOME/runs")"
fi

# The first one leaves: the second takes its place.
kill -TERM $ONE
wait $ONE
soon 'when the first leaves the second takes its place' grep -q 'joined the master' two.log
soon 'and runs the task again' grep -q 'run 2 in .*/two/' "$HOME/runs"
touch "$HOME/end"
ok 'to its end' det e wait 1 --timeout 120
same 'at no cost' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
fails 6 'two agents cannot share a directory' det agent run --id b --data-dir "$T/two"
says 'another agent works in'
kill -TERM $TWO
wait $TWO
