# SPDX-License-Identifier: Apache-2.0
# While the master is down another program gets its port; then it comes back elsewhere.
. "$(dirname "$0")/lib.sh"
need jq python3
platform --slots 2
PORT=$(jq .port "$DATA/master.json")

cat >stranger.py <<'END'
import http.server, sys

class Stranger(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(int(sys.argv[2]))
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")
        open(sys.argv[3], "a").write(self.command + " " + self.path + "\n")

    do_GET = do_POST = answer

    def log_message(self, *args):
        pass

http.server.HTTPServer.allow_reuse_address = True
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Stranger).serve_forever()
END

folder talks <<'END'
#!/bin/sh
for n in 1 2 3 4 5 6; do
    det report --steps $n loss=$n
    echo "step $n"
    until [ -e "$HOME/go-$n" ]; do sleep 0.02; done
    det preempted
    code=$?
    echo "preempted $n: $code"
    [ $code != 0 ] || exit 0
done
det report --steps 7 --validation --wait loss=7
END
create talks >/dev/null
soon 'a trial runs' sh -c 'det t logs 1 | grep -q "step 1"'

n=1
for status in 404 401 200; do
    slay "$(jq .pid "$DATA/master.json")"
    python3 stranger.py "$PORT" $status "$T/heard-$status" &
    STRANGER=$!
    touch "$HOME/go-$n"
    n=$((n + 1))
    soon "a stranger on the port answers again and again ($status)" \
        sh -c "[ \"\$(wc -l <'$T/heard-$status')\" -gt 8 ]"
    kill $STRANGER
    wait $STRANGER 2>/dev/null
    platform --slots 2
    same 'the master is where it was' "$PORT" "$(jq .port "$DATA/master.json")"
    soon "what the trial said meanwhile arrives ($status)" \
        sh -c "det t logs 1 | grep -q 'step $n'"
done

# Elsewhere.
slay "$(jq .pid "$DATA/master.json")"
touch "$HOME/go-$n"
n=$((n + 1))
OLD=$PORT
PORT=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
platform --slots 2
ok 'the master comes back elsewhere' [ "$(jq .port "$DATA/master.json")" != "$OLD" ]
soon 'the trial is found by the master at its new address' \
    sh -c "det t logs 1 | grep -q 'step $n'"
ok 'the experiment is paused' det e pause 1
touch "$HOME/go-$n"
soon 'the task hears at the new address that it must stop' \
    sh -c "det t logs 1 | grep -q 'preempted $n: 0'"
same 'all its reports are there' "$n" "$(det t metrics 1 --csv | sed 1d | wc -l)"
ok 'its log says nothing of masters that were away' det t logs 1
says_not 'cannot reach'
says_not 'not the master'
ok 'it ends' det e kill 1
