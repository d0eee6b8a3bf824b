# SPDX-License-Identifier: Apache-2.0
# Many lines, long lines, and bytes that are not text.
. "$(dirname "$0")/lib.sh"
platform
folder many <<'END'
#!/bin/sh
awk 'BEGIN { for (i = 1; i <= 100000; i++) print "line", i }'
END
ok 'a task writes 100,000 lines' create many
ok 'it completes' det e wait 1 --timeout 120
ok 'they can be read' det t logs 1 -o all
grep -o 'line [0-9]*$' all | cut -d' ' -f2 >numbers
same 'all are there' 100000 "$(grep -c . numbers)"
ok 'each once and in order' sh -c 'seq 1 100000 | cmp - numbers'
ok 'the last are found' timeout 120 det t logs 1 --tail 1 --search 'line '
says 'line 100000'
ok 'one in the middle is found' timeout 120 det t logs 1 --search 'line 54321'
says 'line 54321'

folder odd <<'END'
#!/bin/sh
echo begin
head -c 1000000 /dev/zero | tr '\0' 'x'
echo
printf 'binary \001\002\377\376 garbage\0after zero\n'
head -c 50000 /dev/urandom
echo
printf '\303\244\303\266 text\r\n'
printf 'progress 1%%\rprogress 2%%\rprogress 3%%\n'
printf '\033[31mred\033[0m\n'
i=0
while [ $i -lt 1000 ]; do echo; i=$((i + 1)); done
echo end
END
ok 'a task writes garbage' create odd
ok 'it completes' det e wait 2 --timeout 120
ok 'its log can be read' det t logs 2 -o odd.log
ok 'the first line is there' grep -aq '|| begin' odd.log
ok 'the last line is there' grep -aq '|| end' odd.log
ok 'garbage has not swallowed what is around it' grep -aq 'after zero\|garbage' odd.log
same 'a bar is one line' 1 "$(grep -ac 'progress' odd.log)"
ok '... with its last state' grep -aq '|| progress 3%$' odd.log
ok 'text that is not ASCII is kept' grep -aq 'äö text' odd.log
same 'of a line of a million all is there' 1000000 "$(tr -cd x <odd.log | head -c 1000000 | wc -c)"
ok 'what is printed is valid UTF-8' sh -c 'iconv -f UTF-8 -t UTF-8 odd.log >/dev/null'
ok 'and valid JSON' sh -c 'det t logs 2 --json >odd.json && { ! command -v jq >/dev/null || jq -e .message odd.json >/dev/null; }'
