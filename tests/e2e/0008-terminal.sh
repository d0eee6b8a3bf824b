# SPDX-License-Identifier: Apache-2.0
# At a terminal: questions, passwords, Ctrl-C.
. "$(dirname "$0")/lib.sh"
need python3
tty() { python3 "$HERE/on_terminal.py" "$@"; }
platform
det -u admin user create anna --password 'first one' >/dev/null

# Passwords.
ok 'a password is asked for without echo' \
    tty 'expect=Password for' 'send=first one\r' -- det user login anna
says 'Logged in as anna'
says_not 'first one'
says 'echo on'
det user logout >/dev/null
fails 130 'Ctrl-C at the question ends it' tty 'expect=Password for' 'send=\x03' -- det user login anna
says 'echo on'
fails 3 'a wrong one is refused' tty 'expect=Password for' 'send=wrong\r' -- det user login anna
says 'echo on'

# A user who is named and not logged in is asked for the password.
ok 'who is named with -u is asked for the password' \
    tty 'expect=Password for' 'send=first one\r' -- det -u anna user whoami
says 'anna at'
ok 'once' det -u anna user whoami
det -u anna user logout >/dev/null
ok 'who is named by DET_USER too' \
    tty 'expect=Password for' 'send=first one\r' -- env DET_USER=anna det user whoami
says 'anna at'
ok 'and is somebody only while DET_USER says so' det user whoami
says 'determined'
det -u anna user logout >/dev/null
fails 3 'without a terminal it is a sentence' env DET_USER=anna det user whoami
says "user 'anna' is not logged in"
says 'DET_PASS'
ok 'DET_PASS needs no question' env DET_USER=anna DET_PASS='first one' det user whoami
says 'anna at'
det -u anna user logout >/dev/null
fails 3 'a wrong one is asked for once' \
    tty 'expect=Password for' 'send=wrong\r' -- env DET_USER=anna det e list
says 'invalid credentials'

# Ctrl-C.
printf '#!/bin/sh\necho at work\nuntil [ -e "$HOME/end" ]; do sleep 0.05; done\n' | folder long
fails 130 'Ctrl-C ends the following of an experiment' \
    tty 'expect=at work' 'send=\x03' -- det e create long/const.yaml long -f
says "experiment 1 keeps running; follow it with 'det e logs -f 1', stop it with 'det e kill 1'"
same 'not the experiment' RUNNING "$(state 1)"
touch "$HOME/end"
ok 'which comes to its end' det e wait 1
ok 'one that ends says nothing of the kind' tty -- det e create long/const.yaml long -f
says_not 'keeps running'

# Ctrl-C while the master creates an experiment.
python3 "$HERE/slow_master.py" "$(url)" "$T/port" "$T/waits" "$T/go" &
SLOW=$!
soon 'a slow network' test -e "$T/port"
fails 130 'Ctrl-C while an experiment is created tells its number' \
    tty 'await='"$T/waits" 'send=\x03' 'expect=waiting for the master' "touch=$T/go" 'expect=det e delete' -- \
    env DET_MASTER="http://127.0.0.1:$(cat "$T/port")" det e create long/const.yaml long --paused
says "Created experiment 3"
same 'it is there' PAUSED "$(state 3)"
rm -f "$T/go" "$T/waits"
fails 130 'a second Ctrl-C does not wait' \
    tty 'await='"$T/waits" 'send=\x03' 'expect=waiting for the master' 'send=\x03' -- \
    env DET_MASTER="http://127.0.0.1:$(cat "$T/port")" det e create long/const.yaml long --paused
says_not 'Created experiment'
rm -f "$T/go" "$T/waits"
printf 'entrypoint: "true"\n' >job.yaml
fails 130 'the same with a job' \
    tty 'await='"$T/waits" 'send=\x03' 'expect=waiting for the master' "touch=$T/go" 'expect=det task kill' -- \
    env DET_MASTER="http://127.0.0.1:$(cat "$T/port")" det job run job.yaml
says 'Created job'
kill $SLOW
wait $SLOW 2>/dev/null

# Escape sequences in names and output.
ESCAPE=$(printf '\033')
raw() { ! grep -qF "$ESCAPE" "$OUT"; }
api PATCH /api/v1/experiments/1 '{"labels": ["a\u001b]0;owned\u0007b"], "name": "n\u001b[2Jn"}' >/dev/null
ok 'an experiment with escape sequences in its labels is described' det e describe 1
ok 'without sending them' raw
for command in 'e list' 'e list --csv' 'e describe 1 --json' 'e config 1'; do
    # shellcheck disable=SC2086 # several words
    ok "nor does det $command" det $command
    raw
    result $? '... send them'
done
printf '#!/bin/sh\nprintf "a\\033[31mred\\033[0m \\033[2Jclear \\033]0;title\\007 back\\n"\n' | folder colours
create colours >/dev/null
det e wait "$ID" >/dev/null
TRIAL=$(det e list-trials "$ID" --json | sed -n 's/^ *"id": *\([0-9]*\),*$/\1/p' | head -1)
ok 'logs on a terminal' tty -- det t logs "$TRIAL"
same 'keep their colours' 1 "$(grep -cF "a$ESCAPE[31mred$ESCAPE[0m" "$OUT")"
says '\x1b[2Jclear \x1b]0;title\x07'
det t logs "$TRIAL" >"$T/raw"
same 'in a file they are as they were' 1 "$(grep -cF "$ESCAPE[2Jclear" "$T/raw")"
