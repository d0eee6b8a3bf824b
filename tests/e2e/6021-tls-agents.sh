# SPDX-License-Identifier: Apache-2.0
# Agents of other machines over TLS: they know the master by its fingerprint, by a file or by a
# name, and refuse every other one before they show their token.
. "$(dirname "$0")/lib.sh"
need openssl curl

det master run --tls --port 0 --data-dir "$T/m" --initial-password 'long enough' >master.log 2>&1 &
MASTER=$!
export DET_USER=admin DET_PASS='long enough'
soon 'the master answers' test -s "$T/m/master.json"
URL=$(url "$T/m")
F=$(openssl x509 -in "$T/m/tls/own.crt" -noout -fingerprint -sha256 | cut -d= -f2)
WRONG=$(echo "$F" | tr 0-9A-F 1-9A-F0)
cp "$T/m/tls/master.crt" "$T/told.crt"
AS="--master $URL --token-file $T/m/agent.token --slots 1"
# shellcheck disable=SC2086 # several words
run() { timeout 120 det agent run $AS "$@"; }

fails 10 'an agent that was told nothing refuses a master that nobody vouches for' run --data-dir "$T/a0"
says '--master-fingerprint'
fails 10 'so does one that was told another fingerprint' run --data-dir "$T/a0" --master-fingerprint "$WRONG"
says "the fingerprint is $F"
ok 'the master has seen no agent' sh -c "! grep -q 'agent' master.log"
ok 'and nothing is left' test ! -e "$T/a0"
fails 2 'a fingerprint that is none is refused' run --data-dir "$T/a0" --master-fingerprint 12:34
fails 2 'a fingerprint and a file are one too many' run --data-dir "$T/a0" --master-fingerprint "$F" --master-cert "$T/told.crt"
fails 2 'an id must name something' run --data-dir "$T/a0" --master-fingerprint "$F" --id ''
says 'leave --id out'
: >"$T/none"
fails 2 'an empty token file is named' run --data-dir "$T/a0" --master-fingerprint "$F" --token-file "$T/none"
says "'$T/none' is empty"
fails 4 'a file that is not there is named' run --data-dir "$T/a0" --master-cert "$T/nowhere"
says "'$T/nowhere'"
fails 2 'options about TLS need https' timeout 120 det agent run --master "http://127.0.0.1:1" --token-file "$T/m/agent.token" \
    --data-dir "$T/a0" --master-fingerprint "$F"
says '--master-fingerprint needs a master at an https:// address'
fails 10 'a name that is expected must be in the certificate' run --data-dir "$T/a0" --master-cert "$T/told.crt" --master-cert-name master.example.com
says "not for 'master.example.com' but for"
ok 'nothing is left of all that' test ! -e "$T/a0"

# shellcheck disable=SC2086
det agent run $AS --data-dir "$T/a1" --id one --master-fingerprint "$F" >one.log 2>&1 &
ONE=$!
export DET_MASTER="$URL" DET_MASTER_CERT_FILE="$T/told.crt"
soon 'an agent with the fingerprint joins' sh -c 'det agent list --csv | grep -q "^one,1,0,default,yes"'
folder hello <<'END'
#!/bin/sh
echo "on $DET_AGENT_ID by ${DET_MASTER%%:*}"
cmp -s "$DET_MASTER_CERT_FILE" "$TOLD" && echo 'the certificate is right'
curl -sf --cacert "$DET_MASTER_CERT_FILE" "$DET_MASTER/info" >/dev/null && echo 'curl believes it'
det report --steps 1 --group validation loss=0.5
END
sed -i "2i TOLD=$T/told.crt" hello/run.sh
ok 'its tasks know the master' create hello -f
says 'on one by https'
says 'the certificate is right'
says 'curl believes it'
soon 'and end well' is_state COMPLETED "$ID"
kill -TERM $ONE
wait $ONE
same 'SIGTERM ends it' 0 $?

cat >agent.yaml <<END
master_host: 127.0.0.1
master_port: ${URL##*:}
agent_id: two
artificial_slots: 1
security: {tls: {enabled: true, master_cert: $T/told.crt, master_cert_name: localhost}}
END
det agent run --config agent.yaml --token-file "$T/m/agent.token" --data-dir "$T/a2" >two.log 2>&1 &
TWO=$!
soon 'an agent may be told by its configuration' sh -c 'det agent list --csv | grep -q "^two,1,0,default,yes"'
ok 'its tasks run' create hello -f
says 'on two by https'
kill -TERM $TWO
wait $TWO

kill -TERM $MASTER
wait $MASTER
# shellcheck disable=SC2086
det agent run $AS --data-dir "$T/a3" --id three --master-fingerprint "$F" >three.log 2>&1 &
THREE=$!
soon 'an agent waits for a master that is not there' grep -q 'trying again every second' three.log
det master run --tls --port "${URL##*:}" --data-dir "$T/m" >>master.log 2>&1 &
MASTER=$!
soon 'and joins when it is' sh -c 'det agent list --csv | grep -q "^three,1,0,default,yes"'

# A master that is away, and comes back with another certificate.
kill -TERM $MASTER
wait $MASTER
soon 'an agent says that its master is away' grep -q 'cannot reach' three.log
rm -f "$T"/m/tls/own.*
det master run --tls --port "${URL##*:}" --data-dir "$T/m" >>master.log 2>&1 &
MASTER=$!
soon 'and that it is back, but not the one it knows' grep -q 'either its administrator replaced it, or another machine' three.log
kill -TERM $THREE
wait $THREE
kill -TERM $MASTER
wait $MASTER
same 'and the master, too' 0 $?
