# SPDX-License-Identifier: Apache-2.0
# A master and an agent as two programs, and commands that are told where the master is.
. "$(dirname "$0")/lib.sh"

det master run --port 0 --data-dir "$T/m" >master.log 2>&1 &
MASTER=$!
soon 'det master run answers' test -s "$T/m/master.json"
URL=$(url "$T/m")

ok '-m names the master' det -m "$URL" master info
says "$URL"
DET_MASTER=$URL ok 'DET_MASTER names the master' det master info
says "$URL"
DET_MASTER=$URL ok 'it is the same for the address without http://' \
    env DET_MASTER="${URL#http://}" det master info
DET_MASTER=http://127.0.0.1:1 ok '-m wins over DET_MASTER' det -m "$URL" master info
fails 10 'a master that does not answer is named' det -m http://127.0.0.1:1 e list
says 'cannot reach 127.0.0.1 port 1'
fails 2 'an address that is none is refused' det -m 'ftp://here' e list
fails 10 'https to where nobody answers is no other' det -m https://127.0.0.1:1 e list
says 'cannot reach 127.0.0.1 port 1'
ok 'no command has started a second master' test ! -e "$DATA/master.json"

echo 'not the token' >wrong
fails 3 'an agent with a wrong token is refused' \
    timeout 120 det agent run --master "$URL" --token-file wrong --data-dir "$T/a0"
says 'wrong agent token'
same 'which is said once' 1 "$(grep -c 'wrong agent token' "$OUT")"
ok 'and leaves nothing behind' test ! -e "$T/a0"
chmod 644 wrong
fails 3 'a token that all can read is warned of' \
    timeout 120 det agent run --master "$URL" --token-file wrong --data-dir "$T/a0"
says "every user can read the token in 'wrong'"
fails 4 'a token file that is not there is named' \
    timeout 120 det agent run --master "$URL" --token-file nowhere --data-dir "$T/a0"
says "'nowhere'"
fails 2 'an agent without a token says where it is' \
    timeout 120 det agent run --master "$URL" --data-dir "$T/a0"
says 'agent.token'
fails 2 'an agent without a master says so' timeout 120 det agent run --data-dir "$T/a0"
says 'name one with --master URL'

det agent run --master "$URL" --token-file "$T/m/agent.token" --data-dir "$T/a" --id one --slots 3 >agent.log 2>&1 &
AGENT=$!
export DET_MASTER="$URL"
soon 'an agent with the token joins' sh -c 'det agent list --csv | grep -q "^one,3,0,default,yes"'
fails 6 'a second agent on the same directory is refused' \
    timeout 120 det agent run --master "$URL" --token-file "$T/m/agent.token" --data-dir "$T/a" --id two
folder hello <<'END'
#!/bin/sh
echo "hello from $DET_AGENT_ID at $DET_MASTER"
END
ok 'it runs an experiment' create hello -f
says "hello from one at $URL"

kill -TERM $AGENT
wait $AGENT
same 'SIGTERM ends the agent with exit code 0' 0 $?
kill -TERM $MASTER
wait $MASTER
same 'SIGTERM ends the master with exit code 0' 0 $?
