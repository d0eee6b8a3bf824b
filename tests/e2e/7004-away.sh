# SPDX-License-Identifier: Apache-2.0
# The master goes away while others talk to it.
. "$(dirname "$0")/lib.sh"
need jq
platform
pid_of() { jq .pid "$1"; }
folder slow <<'END'
#!/bin/sh
for n in 1 2 3 4; do
    echo "step $n"
    until [ -e "$HOME/go-$n" ]; do sleep 0.02; done
done
END
create slow >/dev/null
det t logs -f 1 >follow 2>follow.err &
FOLLOW=$!
det e wait 1 >wait.out 2>&1 &
WAIT=$!
soon 'a log is followed' grep -q 'step 1' follow
slay "$(pid_of "$DATA/master.json")"
touch "$HOME/go-1"
soon 'the reader notices that the master is away' grep -q 'retrying' follow.err
touch "$HOME/go-2"
platform
soon 'and goes on with the next one' grep -q 'step 3' follow
touch "$HOME/go-3" "$HOME/go-4"
wait $FOLLOW
same 'to the end' 0 $?
same 'it has shown every line once' '1 2 3 4' "$(sed -n 's/.*step //p' follow | xargs)"
wait $WAIT
same 'who waits for the end learns of it too' 0 $?

# det stop while a task runs: it is ended, and goes on at the next start.
rm -f "$HOME"/go-*
create slow >/dev/null
soon 'another task runs' sh -c 'det t logs 2 | grep -q "step 1"'
ok 'the platform is stopped' det stop
soon 'nothing is left' is_alone
touch "$HOME/go-1" "$HOME/go-2" "$HOME/go-3" "$HOME/go-4"
platform
ok 'the next start runs it again' det e wait 2 --timeout 120
same 'at no cost' 0 "$(det e list-trials 2 --csv | sed -n 2p | cut -d, -f5)"

# A search that is paused stays so.
create slow --paused >/dev/null
det stop >/dev/null 2>&1
platform
same 'what was paused is paused after a start' PAUSED "$(state 3)"
ok 'and goes on when it is told to' sh -c 'det e activate 3 && det e wait 3 --timeout 120'
