# SPDX-License-Identifier: Apache-2.0
# Logs that are followed while they are written.
. "$(dirname "$0")/lib.sh"
platform
folder slow <<'END'
#!/bin/sh
for n in 1 2 3; do
    echo "step $n"
    until [ -e "$HOME/go-$n" ]; do sleep 0.02; done
done
echo "done"
END
create slow >/dev/null
det t logs -f 1 >follow 2>&1 &
FOLLOW=$!
for n in 1 2 3; do
    soon "step $n is shown while the task runs" grep -q "step $n" follow
    [ $n = 3 ] || ! grep -q "step $((n + 1))" follow
    result $? '... and nothing that is not yet there'
    touch "$HOME/go-$n"
done
wait $FOLLOW
same 'follow ends with the task' 0 $?
ok 'it has shown the end' grep -q 'done' follow
ok 'it has shown everything once' sh -c 'det t logs 1 | cmp - follow'
ok 'follow of what is over shows all and ends' timeout 120 det t logs -f 1
says 'step 1'
says 'done'
rm -f "$HOME"/go-*
create slow >/dev/null
soon 'another one runs' sh -c 'det t logs 2 | grep -q "step 1"'
soon 'and is known to' is_state RUNNING 2
det t logs -f 2 --tail 1 >follow2 2>&1 &
FOLLOW=$!
soon 'follow with --tail begins near the end' grep -q 'step 1' follow2
same 'with one line' 1 "$(grep -c . follow2)"
touch "$HOME/go-1" "$HOME/go-2" "$HOME/go-3"
wait $FOLLOW
ok 'and goes on to the end' grep -q 'done' follow2
same 'each line once' 1 "$(grep -c 'step 2' follow2)"
det e wait 2 >/dev/null
# The reader goes away.
rm -f "$HOME"/go-*
create slow >/dev/null
soon 'a third one runs' sh -c 'det t logs 3 | grep -q "step 1"'
timeout 0.5 det t logs -f 3 >/dev/null 2>&1
same 'a reader that is ended is no trouble' 124 $?
touch "$HOME/go-1" "$HOME/go-2" "$HOME/go-3"
ok 'the task goes on' det e wait 3 --timeout 120
