# SPDX-License-Identifier: Apache-2.0
# Reading logs: levels, ranks, streams, words, times, ends.
. "$(dirname "$0")/lib.sh"
need jq
platform
folder lines <<'END'
#!/bin/sh
echo 'a plain line'
echo 'DEBUG: a small thing'
echo 'INFO: a thing'
echo 'WARNING: a doubtful thing'
echo 'ERROR: a bad thing'
echo 'CRITICAL: a very bad thing'
echo '[rank=0] from the first'
echo '[rank=3] ERROR: from the fourth'
echo 'to standard error' >&2
until [ -e "$HOME/middle" ]; do sleep 0.02; done
echo 'ERRORS: no level'
echo 'price: 3.50$ (a+b)* [x]'
printf 'no line break at the end'
END
create lines >/dev/null
soon 'the first half is there' sh -c 'det t logs 1 | grep -q "standard error"'
sleep 0.01
MIDDLE=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
touch "$HOME/middle"
ok 'it ends' det e wait 1
texts() { sed 's/^[^|]*|| //' "$OUT" | grep -v 'Trial 1' ; }

ok 'all lines are there' det t logs 1
says 'a plain line'
says 'no line break at the end'
says 'to standard error'
ok 'also by experiment' det e logs 1
says 'a plain line'
TASK=$(det t describe 1 --json | jq -r 'if type == "array" then .[0] else . end | (.trial // .).taskId // (.trial // .).taskIds[0]')
ok 'also by task' det task logs "$TASK"
says 'a plain line'

ok '--level ERROR shows errors and worse' det t logs 1 --level ERROR
says 'a bad thing'
says 'a very bad thing'
says 'from the fourth'
says_not 'doubtful'
says_not 'no level'
ok '--level WARNING shows warnings too' det t logs 1 --level WARNING
says 'a doubtful thing'
says_not 'INFO: a thing'
ok 'a level that is none is refused' sh -c '! det t logs 1 --level LOUD'
ok '--rank-id shows one rank' det t logs 1 --rank-id 3
same 'and no other' 'ERROR: from the fourth' "$(texts | sed 's/^\[rank=3\] //')"
ok 'several ranks may be named' det t logs 1 --rank-id 0 --rank-id 3
same 'both are shown' 2 "$(grep -c . "$OUT")"
ok '--stdtype stderr shows one stream' det t logs 1 --stdtype stderr
same 'and not the other' 'to standard error' "$(texts)"
ok '--search shows lines that contain a text' det t logs 1 --search 'doubtful'
same 'and no others' 1 "$(grep -c . "$OUT")"
ok 'the text is no expression' det t logs 1 --search '3.50$ (a+b)* [x]'
same 'it is found as it is' 1 "$(grep -c . "$OUT")"
ok '--regex takes an expression' det t logs 1 --search 'a (very )?bad' --regex
same 'which is matched' 2 "$(grep -c . "$OUT")"
fails 2 'an expression that is none is refused' det t logs 1 --search 'a(b' --regex
says "--search 'a(b': "
ok '--head shows the first lines' det t logs 1 --head 3
same 'as many as asked for' 3 "$(grep -c . "$OUT")"
ok '--tail shows the last lines' det t logs 1 --tail 2
same 'as many as asked for' 2 "$(grep -c . "$OUT")"
says 'was terminated'
same 'in their order' "$(det t logs 1 | tail -n 2)" "$(cat "$OUT")"
fails 2 '--head and --tail cannot be used together' det t logs 1 --head 1 --tail 1
ok '--timestamp-after shows what came later' det t logs 1 --timestamp-after "$MIDDLE"
says 'no level'
says_not 'a plain line'
ok '--timestamp-before shows what came before' det t logs 1 --timestamp-before "$MIDDLE"
says 'a plain line'
says_not 'no level'
fails 2 'a time that is none is refused' det t logs 1 --timestamp-after yesterday
ok '--agent-id filters by agent' det t logs 1 --agent-id nobody
same 'a wrong one shows nothing' 0 "$(grep -c . "$OUT")"
ok 'filters go together' det t logs 1 --level ERROR --rank-id 3 --search fourth --tail 5
same 'one line is left' 1 "$(grep -c . "$OUT")"
ok '-o writes to a file' det t logs 1 -o exported
ok 'the same as is printed' sh -c 'det t logs 1 | cmp - exported'
ok '--json prints one object a line' sh -c "det t logs 1 --json | jq -se 'length > 10 and all(.[]; .message and .timestamp)'"
same 'levels are parsed' 'LOG_LEVEL_ERROR LOG_LEVEL_CRITICAL LOG_LEVEL_ERROR' \
    "$(det t logs 1 --level ERROR --json | jq -r .level | sed 's/^\([A-Z]*\)$/LOG_LEVEL_\1/;s/LOG_LEVEL_LOG_LEVEL/LOG_LEVEL/' | xargs)"
same 'ranks are parsed' 3 "$(det t logs 1 --search fourth --json | jq .rankId)"
ok 'retention is set' det e set log-retention 1 --days 3
ok 'and for ever' det e set log-retention 1 --forever
fails 2 'or neither is refused' det e set log-retention 1
fails 4 'logs of no trial are not found' det t logs 99
