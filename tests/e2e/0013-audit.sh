# SPDX-License-Identifier: Apache-2.0
# The audit log on the command line.
. "$(dirname "$0")/lib.sh"
need jq
platform
printf '#!/bin/sh\n' | folder quiet
create quiet --paused >/dev/null
det -u admin user create anna --password 'first one' >/dev/null
fails 3 'a wrong login fails' det user login anna -p 'not this one'
ok 'administrators see what happened' det -u admin audit list
says 'create_experiment'
says 'experiment 1'
says 'create_user'
says_not 'first one'
says_not 'not this one'
same 'the failed login with its status' 401 "$(det -u admin audit list --by anna --action login --json | jq '.[0].status')"
same 'from where' 127.0.0.1 "$(det -u admin audit list --by anna --action login --json | jq -r '.[0].address')"
same 'one object' 1 "$(det -u admin audit list --object 'experiment 1' --csv | tail -n +2 | wc -l)"
det user login anna -p 'first one' >/dev/null
fails 3 'others are refused' det -u anna audit list
same 'which is noted, too' list_audit "$(det -u admin audit list --by anna --limit 1 --json | jq -r '.[0].action')"
fails 2 'a time that is none is refused' det -u admin audit list --since yesterday
ok 'the database holds no password' sh -c "! grep -aq 'first one\|not this one' '$DATA'/det.db*"
