# SPDX-License-Identifier: Apache-2.0
# Progress bars: a line that a program rewrites is one line of the log, and is seen while it moves.
. "$(dirname "$0")/lib.sh"
need python3
tty() { python3 "$HERE/on_terminal.py" "$@"; }
shows() { api GET "/api/v1/trials/$1/logs?live=true" | grep -q "$2"; }
platform
# tqdm writes "\r" before each state, other programs behind it; a bar below another goes up again.
folder bar <<'END'
#!/bin/sh
at() { until [ -e "$HOME/$1" ]; do sleep 0.02; done; }
echo begin
n=0
while [ $n -lt 500 ]; do printf '\r%s of 1000' $n >&2; n=$((n + 1)); done
at half
while [ $n -le 1000 ]; do printf '\r%s of 1000' $n >&2; n=$((n + 1)); done
printf '\n' >&2
n=0
while [ $n -le 100 ]; do printf 'copied %s\r' $n; n=$((n + 1)); done
echo
for outer in 1 2; do
    printf '\router %s' $outer >&2
    n=0
    while [ $n -le 100 ]; do printf '\n\rinner %s\033[A' $n >&2; n=$((n + 1)); done
done
printf '\n\n' >&2
at end
echo "the end"
END
create bar >/dev/null
det t logs -f 1 >piped 2>&1 &
FOLLOW=$!
soon 'a bar that stands still is told to those who ask' shows 1 '499 of 1000'
ok 'it moves on a terminal' \
    tty 'expect=499 of 1000' "touch=$HOME/half" 'expect=1000 of 1000' "touch=$HOME/end" 'expect=the end' -- det t logs -f 1
wait $FOLLOW
same 'a pipe gets its end only' 1 "$(grep -c 'of 1000' piped)"
ok '... as a line' grep -q '|| 1000 of 1000$' piped
ok 'and what was printed afterwards' grep -q 'the end' piped
det e wait 1 >/dev/null
ok 'the log has one line for each bar' det t logs 1
same '... of the first kind' 1 "$(grep -c 'of 1000' "$OUT")"
same '... of the second kind' '|| copied 100' "$(sed -n 's/.*\(|| copied\)/\1/p' "$OUT")"
same '... and one for each turn of the outer one of two' 2 "$(grep -c 'outer' "$OUT")"
same '... with the inner one at its end' '|| inner 100' "$(sed -n 's/.*\(|| inner\)/\1/p' "$OUT")"
TASK=$(api GET /api/v1/trials/1 | sed -n 's/.*"taskId": *"\([^"]*\)".*/\1/p')
same 'so has what is downloaded' 1 "$(api GET "/api/v1/det/tasks/$TASK/log.txt" | grep -c 'of 1000')"

# A task that is killed leaves its bar as it was.
printf '#!/bin/sh\nprintf "\\r57 of 100" >&2\nsleep 1000\n' | folder killed
create killed >/dev/null
soon 'a bar is shown' shows 2 '57 of 100'
det e kill 2 >/dev/null
det e wait 2 >/dev/null
same 'its last state is in the log' 1 "$(det t logs 2 | grep -c '|| 57 of 100$')"
