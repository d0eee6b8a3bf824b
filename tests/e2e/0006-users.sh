# SPDX-License-Identifier: Apache-2.0
# People: accounts, passwords, rights, and the tokens of tasks.
. "$(dirname "$0")/lib.sh"
need curl jq
platform
ok 'somebody is calling from the start' det user whoami
says 'determined'
ok 'a user is added' det -u admin user create anna --password 'first one'
fails 5 'a second time is refused' det -u admin user create anna --password 'another one'
ok 'and listed' sh -c 'det user list --csv | grep -q ",anna,"'
ok 'she logs in' det user login anna -p 'first one'
ok 'and is who is calling' det user whoami
says 'anna'
fails 3 'with a wrong password she does not' det user login anna -p wrong
says 'invalid credentials'
fails 3 'nobody unknown does' det user login nobody -p x
says 'invalid credentials'
ok 'a password is read from standard input' sh -c 'echo "first one" | det user login anna'
fails 8 'half a password is none' python3 "$HERE/broken_input.py" 'first one' det user login anna
says 'cannot read the password: Connection reset by peer'
printf '#!/bin/sh\necho "$DET_USER $DET_SESSION_TOKEN $DET_USER_TOKEN"; echo "$DET_TRIAL_ID"\nuntil [ -e "$HOME/end" ]; do sleep 0.05; done\n' | folder mine
ok 'her experiment is hers' create mine
soon 'in the task too' sh -c 'det t logs 1 | grep -q "|| anna "'
ok 'the list shows the owner' sh -c 'det e list --csv | grep -q ",anna,"'
ok 'she logs out' det user logout
ok 'and is herself no more' sh -c '! det user whoami | grep -q anna'

SESSION=$(det t logs 1 | sed -n 's/.*|| anna \([^ ]*\) .*/\1/p')
USER_TOKEN=$(det t logs 1 | sed -n 's/.*|| anna [^ ]* \([^ ]*\)$/\1/p')
task() { curl -s -o "$T/body" -w '%{http_code}' -H "Grpc-Metadata-x-allocation-token: Bearer $SESSION" "$(url)$1"; }
user() { curl -s -o "$T/body" -w '%{http_code}' -H "Authorization: Bearer $USER_TOKEN" "$(url)$1"; }
same "a task's token opens its own trial" 200 "$(task /api/v1/trials/1)"
same 'but not the list of experiments' 403 "$(task /api/v1/experiments)"
create mine --paused >/dev/null
det e activate 2 >/dev/null
soon 'another trial is there' sh -c 'det t describe 2'
same 'nor another trial' 403 "$(task /api/v1/trials/2)"
same "its user's token opens what the user may" 200 "$(user /api/v1/experiments)"
touch "$HOME/end"
det e wait 1 >/dev/null
soon "both end with the allocation" sh -c "[ \$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer $USER_TOKEN' '$(url)/api/v1/experiments') = 401 ]"
same 'both' 401 "$(task /api/v1/trials/1)"

ok 'she changes her password' sh -c 'det user login anna -p "first one" && printf "second one\nsecond one\n" | det user change-password anna'
fails 3 'the old one is good no more' det user login anna -p 'first one'
ok 'the new one is' det user login anna -p 'second one'
ok 'nothing stored is a password in clear' sh -c "! grep -aq 'second one\|first one' '$DATA'/det.db* '$HOME/config'/determined/* 2>/dev/null"
same 'the file with the session is hers only' 600 "$(stat -c %a "$(find "$HOME" -name auth.json | head -1)")"
