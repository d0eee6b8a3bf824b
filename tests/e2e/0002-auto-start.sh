# SPDX-License-Identifier: Apache-2.0
# With nothing set up, a command that needs a master starts one, and says so in one line.
. "$(dirname "$0")/lib.sh"
need python3

# Port 8080 belongs to a stranger: ours, or whoever has it already.
mkdir stranger
cat >stranger/serve.py <<'END'
import http.server, sys
class Stranger(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"version":"0.38.1","clusterId":"stranger"}')
    def do_POST(self):
        open("stranger/got", "w").write(self.path)
        self.do_GET()
    def log_message(self, *a):
        pass
try:
    server = http.server.HTTPServer(("127.0.0.1", 8080), Stranger)
except OSError:
    sys.exit(0)
open("stranger/ready", "w").close()
server.serve_forever()
END
python3 stranger/serve.py &
STRANGER=$!
stranger_is_up() { [ -e stranger/ready ] || ! kill -0 $STRANGER; }
until_true stranger_is_up

det master info >"$T/stdout" 2>"$T/stderr"
same 'a command starts a master by itself' 0 $?
same 'it says so in one line' 1 "$(grep -c . "$T/stderr")"
cp "$T/stderr" "$OUT"
says 'Started a local master; its pages are at http://127.0.0.1:'
says "(stop it with 'det stop')"
says_not ':8080'
ok 'what was asked for goes to standard output' grep -q 'cluster id' "$T/stdout"
ok 'it runs on a free port where 8080 is taken' sh -c "! grep -q ':8080\"' '$DATA/master.json'"
ok 'the next command uses it and does not start another' det e list
says_not 'Started'
ok 'the files of the platform are for its owner only' \
    sh -c "ls -l '$DATA/secret.key' '$DATA/agent.token' | grep -vq '^-rw-------' && exit 1; exit 0"

echo 'echo "works with nothing set up"' | { echo '#!/bin/sh'; cat; } | folder nothing
ok 'an experiment runs with nothing set up' det e create nothing/const.yaml nothing -f
says 'works with nothing set up'

BEFORE=$(url)
ok 'det stop stops it' det stop
says 'stopped'
ok 'nothing of it is left' sh -c "! grep -q . '$DATA/master.json' 2>/dev/null"
ok 'det stop with nothing running is no error' det stop
says 'nothing is running in'
ok 'the next one' det e list
same '... has the same address where 8080 is taken' "$BEFORE" "$(url)"
det stop >/dev/null

# The run file names a stranger: somebody else now listens where the master was.
if [ -e stranger/ready ]; then
    mkdir -p "$DATA"
    echo '{"url":"http://127.0.0.1:8080","host":"127.0.0.1","port":8080,"pid":1,"cluster_id":"x","master_id":"x","agent_token_file":"x"}' >"$DATA/master.json"
    ok 'a run file that points at a stranger is not trusted' det e create nothing/const.yaml nothing
    says 'Started a local master'
    ok 'the stranger was sent nothing' test ! -e stranger/got
    ok 'det stop stops it again' det stop
else
    skip 'a run file that points at a stranger is not trusted' 'port 8080 is taken'
fi
kill $STRANGER 2>/dev/null
wait $STRANGER 2>/dev/null || true

# Several commands at once: one of them starts the master, all use it.
det stop >/dev/null 2>&1
for i in 1 2 3 4; do
    det e list >"$T/out-$i" 2>"$T/err-$i" &
done
wait
cat "$T"/err-? >"$OUT"
same 'of four commands at once one starts a master' 1 "$(grep -c 'Started a local master' "$OUT")"
same 'and nothing else is said' 1 "$(grep -c . "$OUT")"
same 'all have their list' 4 "$(cat "$T"/out-? | grep -c '^ *1 ')"
det stop >/dev/null 2>&1

# Ctrl-C while it starts: nothing is left behind that nobody was told of.
cat >slow.py <<'END2'
import os, signal, subprocess, sys, time
p = subprocess.Popen(["det", "e", "list"], start_new_session=True, stderr=subprocess.PIPE)
time.sleep(float(sys.argv[1]))
os.killpg(p.pid, signal.SIGINT)
err = p.communicate()[1].decode()
print(err)
sys.exit(0 if p.returncode in (0, -2, 130) else 1)
END2
told_or_gone() { grep -q 'Started a local master' told || ! det stop 2>&1 | grep -q stopped; }
for moment in 0.001 0.005 0.02 0.05; do
    ok "Ctrl-C $moment s after the command" python3 slow.py $moment
    cp "$OUT" told
    ok '... leaves no master that nobody was told of' told_or_gone
    det stop >/dev/null 2>&1
done
