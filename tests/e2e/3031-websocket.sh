# SPDX-License-Identifier: Apache-2.0
# A WebSocket to a program of a task, through a master that speaks TLS.  The program is a small
# server that takes the place of TensorBoard.
. "$(dirname "$0")/lib.sh"
need curl jq python3
mkdir -p fake/tensorboard fake/tensorboard-0.0.dist-info
cp "$HERE/websocket.py" fake/tensorboard/main.py
touch fake/tensorboard/__init__.py
printf 'Metadata-Version: 2.1\nName: tensorboard\nVersion: 0.0\n' >fake/tensorboard-0.0.dist-info/METADATA
export PYTHONPATH="$T/fake"
platform --tls --slots 1
CA=$DATA/tls/master.crt
curl() { command curl --cacert "$CA" "$@"; }
folder plain <<'END1'
#!/bin/sh
det report --steps 1 loss=1 --wait
END1
ok 'there is an experiment' create plain -f
ok 'a program of a task runs' det tensorboard start 1 --no-browser
BOARD=$(sed -n 's/^Launched TensorBoard //p' "$OUT")
TOKEN=$(login)
AT=$(url | sed 's/^https/wss/')/proxy/$BOARD/socket
socket() { python3 "$HERE/websocket.py" "$AT" "$CA" "$@"; }
same 'its page comes by TLS' page "$(curl -s -H "Authorization: Bearer $TOKEN" "$(url)/proxy/$BOARD/")"

ok 'a WebSocket is opened by wss' socket "$TOKEN" text=hello size=100 size=70000 size=3000000 text=bye
says 'open'
says 'size 3000000'
says 'text bye'
fails 1 'not without a session' socket ''
says 'HTTP/1.1 401'
fails 1 'not with one that never was' socket "${TOKEN}0"
says 'HTTP/1.1 401'
fails 1 'a client that does not know the certificate turns away' python3 "$HERE/websocket.py" "$AT" /dev/null "$TOKEN"

# ---- both directions at once, many at once

for i in 1 2 3 4 5 6 7 8; do
    socket "$TOKEN" size=1000000 size=1 size=300000 >"many.$i" 2>&1 &
    eval "MANY$i=$!"
done
MANY=0
for i in 1 2 3 4 5 6 7 8; do
    eval "wait \$MANY$i" && MANY=$((MANY + 1))
done
same 'eight at once do not mix' 8 "$MANY"

# ---- it ends with the session

OTHER=$(login)
socket "$OTHER" text=first "wait=$T/signed-out" end >ended 2>&1 &
ENDED=$!
socket "$TOKEN" text=first "wait=$T/goes-on" text=second >stayed 2>&1 &
STAYED=$!
soon 'two people use it' sh -c "grep -q '^text first' '$T/ended' && grep -q '^text first' '$T/stayed'"
ok 'one signs out' curl -sf -X POST -H "Authorization: Bearer $OTHER" "$(url)/api/v1/auth/logout"
touch signed-out
ok 'whose socket ends' wait "$ENDED"
touch goes-on
ok "the other's does not" wait "$STAYED"
ok 'and works' grep -q '^text second' stayed

# ---- and with the program

socket "$TOKEN" text=first end >killed 2>&1 &
KILLED=$!
soon 'somebody uses it' grep -q '^text first' killed
ok 'the task is killed' det tensorboard kill "$BOARD"
ok 'which ends the socket' wait "$KILLED"
