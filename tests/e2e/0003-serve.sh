# SPDX-License-Identifier: Apache-2.0
# det serve: in the foreground, twice, on ports and addresses.
. "$(dirname "$0")/lib.sh"
need curl python3

folder long <<'END'
#!/bin/sh
echo "begun by $$"
sleep 600 &
echo $! >"$HOME/child"
wait
END

det serve --port 0 >serve.log 2>&1 &
SERVE=$!
soon 'det serve answers' test -e "$DATA/master.json"
ok 'det master info shows it' det master info
says 'cluster id'
soon 'its agent joins' sh -c 'det agent list --csv | grep -q ,yes,'

fails 6 'a second det serve on the same directory is refused' det serve --port 0
says 'a master already uses'
says "stop it with 'det stop'"
fails 6 'also in the background' det serve --background --port 0
says 'a master already uses'

PORT=$(url | sed 's/.*://')
fails 5 'a port that is in use is refused when it was asked for' \
    det serve --port "$PORT" --data-dir "$T/other"
says "port $PORT of 127.0.0.1 is in use by another program"
says 'choose another one with --port'
fails 2 'a port that is no port is refused' det serve --port 70000 --data-dir "$T/other"

ok 'an experiment starts' create long
soon 'its task runs' test -s "$HOME/child"
CHILD=$(cat "$HOME/child")
kill -INT $SERVE
wait $SERVE
same 'Ctrl-C ends it with exit code 0' 0 $?
soon 'the task is gone, with its children' is_dead "$CHILD"
soon 'the agent is gone' is_alone
ok 'the run file is gone' test ! -e "$DATA/master.json"

fails 3 'an address of the network is refused while passwords are blank' \
    det serve --port 0 --host 0.0.0.0 --data-dir "$T/open"
says 'password'
says '--initial-password'
ok 'it listens there with an initial password' \
    det serve --background --port 0 --host 0.0.0.0 --data-dir "$T/open" --initial-password 'correct horse'
says 'https://127.0.0.1:'
if [ -n "$(hostname -I | tr -d ' ')" ]; then
    says "other machines reach it at https://$(hostname -I | cut -d' ' -f1):$(url "$T/open" | sed 's/.*://')"
    ok 'the log says so, too' grep -q 'serving https://127.0.0.1:[0-9]*, for other machines https://' "$T/open/master.log"
else
    skip 'the addresses for other machines' 'this one has no network'
fi
OPEN=$(url "$T/open")
export DET_MASTER_CERT_FILE="$T/open/tls/master.crt"
fails 3 'and then asks who is calling' det -m "$OPEN" e list </dev/null
says "log in with 'det user login determined'"
fails 3 'a wrong password is refused' det -m "$OPEN" user login determined -p 'wrong'
says 'invalid credentials'
ok 'the right one is taken' det -m "$OPEN" user login determined -p 'correct horse'
ok 'and then commands work' det -m "$OPEN" e list
unset DET_MASTER_CERT_FILE
ok 'det stop with a directory stops that one' det stop --data-dir "$T/open"
chmod 644 "$T/open/secret.key" "$T/open/agent.token"
ok 'it starts also where secrets are open to others' det serve --background --port 0 --data-dir "$T/open"
ok 'with a warning' grep -q "other users could read '.*secret.key' (mode 644); the mode is corrected now" "$T/open/master.log"
same 'and closes them' '600 600' "$(stat -c %a "$T/open/secret.key" "$T/open/agent.token" | xargs)"
ok 'it is stopped' det stop --data-dir "$T/open"

# The file of a master that was killed may name a process that is somebody else's by now.
sleep 600 &
INNOCENT=$!
mkdir -p "$T/stale"
echo "{\"url\":\"http://127.0.0.1:1\",\"host\":\"127.0.0.1\",\"port\":1,\"pid\":$INNOCENT,\"cluster_id\":\"x\",\"master_id\":\"x\",\"agent_token_file\":\"x\"}" >"$T/stale/master.json"
ok 'det stop does not believe a run file that is left over' det stop --data-dir "$T/stale"
says 'nothing is running in'
ok 'and leaves the process alone that has its number now' kill -0 $INNOCENT
kill $INNOCENT

fails 4 'a directory that is not there is named' det stop --data-dir "$T/nosuch"
says "there is no folder '$T/nosuch'"
ok 'and not made' test ! -e "$T/nosuch"
: >"$T/file"
fails 2 'one that is a file is refused' det stop --data-dir "$T/file"
says "'$T/file' is not a folder"
fails 2 'also by a master' det serve --data-dir "$T/file"
says "'$T/file' is not a folder"
