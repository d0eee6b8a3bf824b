# SPDX-License-Identifier: Apache-2.0
# `det doctor`: a healthy host and cluster, and things that are really broken.
. "$(dirname "$0")/lib.sh"
need jq

# ---- without a master

ok 'without a master, the host is checked' det doctor directory keys libraries file-system libdet
says 'does not exist yet'
says 'There are no keys'
says 'libmicrohttpd, GnuTLS and libarchive are installed'
says 'libdet 0.1'
ok 'and the output says that there is no master' sh -c 'det doctor || [ $? = 1 ]'
says 'only this host was checked'
ok 'no master was started' test ! -e "$DATA"
ok 'and nothing is left behind' test -z "$(ls -A "$HOME")"
fails 1 'a check of the cluster needs one' det doctor agents
says 'none is named'
says_not 'sync'

# ---- arguments

fails 2 'an unknown check is refused' det doctor spcae
says "did you mean 'space'?"
fails 2 'an unknown option is refused' det doctor --fast
fails 2 'so is an empty directory' det doctor --data-dir ''
fails 2 'so is CSV' det doctor --csv
ok 'the help lists every check' det doctor --help
for name in $(det doctor host cluster --json 2>/dev/null | jq -r '.findings[].check' | sort -u); do
    says "$name: "
done

# ---- a host with something broken

fails 1 'few open files are a failure' sh -c 'ulimit -n 64; det doctor open-files'
says 'A process may open only 64 files'
says 'ulimit -n'
ok 'not so few are a warning' sh -c 'ulimit -n 1024; det doctor open-files'
says 'warn  open-files'
says '0 ok, 1 warning, 0 failures'

mkdir broken
cat >broken/python3 <<'END'
#!/bin/sh
echo 'cannot load libpython'
exit 1
END
chmod +x broken/python3
fails 1 'a python3 that does not work is a failure' env PATH="$T/broken:$PATH" det doctor python
says 'cannot load libpython'
ok 'without the package, Python is a warning' env PYTHONPATH="$T/broken" sh -c '
    mkdir broken/determined; echo "raise ImportError(\"no such luck\")" >broken/determined/__init__.py
    det doctor python'
says 'ImportError: no such luck'
ok 'no python3 is a warning' env PATH="$(dirname "$DET")" "$DET" doctor python
says 'There is no python3 in PATH'

if command -v cc >/dev/null; then
    cat >nvml.c <<'END'
#include <stdlib.h>
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **gpu) { *gpu = gpu; return i == 1 && getenv("BROKEN"); }
int nvmlDeviceGetName(void *gpu, char *text, unsigned size) { strncpy(text, "Test GPU", size); return !gpu; }
int nvmlDeviceGetUUID(void *gpu, char *text, unsigned size) { strncpy(text, "GPU-1", size); return !gpu; }
END
    cc -shared -fPIC -o libnvidia-ml.so.1 nvml.c
    ok 'GPUs are found' env LD_LIBRARY_PATH="$T" det doctor gpus
    says '2 GPUs (Test GPU), each of them a slot'
    fails 1 'a GPU that does not answer is a failure' env LD_LIBRARY_PATH="$T" BROKEN=1 det doctor gpus
    says 'GPU 1 does not answer'
fi

mkdir -m 755 open
ok 'a directory that others can list is a warning' det doctor directory --data-dir open
says 'has mode 755'
chmod 777 open
fails 1 'one that others can write to is a failure' det doctor directory --data-dir open
says "chmod go-rw $T/open"
: >file
fails 1 'a file is no data directory' det doctor directory --data-dir file
says 'is not a directory'
ok 'a directory that is not there is missing, not healthy' det doctor space directory --data-dir "$T/nowhere"
says "'$T/nowhere' is missing"
says "above the missing '$T/nowhere'"
says_not 'does not exist yet'
fails 1 'nothing can be found without a home' env -u HOME -u XDG_DATA_HOME det doctor space
says 'HOME is not set'

mkdir -m 700 full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k,mode=700 tmpfs full 2>/dev/null; then
    dd if=/dev/zero of=full/rest bs=4k 2>/dev/null
    fails 1 'a full disk is a failure' det doctor space sync file-system --data-dir full
    says 'has only 0B of 64.0KB free'
    says 'Nothing can be made durable'
    says 'is on tmpfs'
    same 'and nothing is left behind there' rest "$(ls -A full)"
    umount full
else
    skip 'a full disk is a failure' 'only root can mount one'
fi

# ---- a cluster

platform
soon 'the agent joins' sh -c 'det doctor agents | grep -q "1 agent is connected"'
ok 'a healthy cluster has no failures' det doctor cluster
says "Cluster  $(url)"
says 'its database works'
says '1 agent is connected'
says 'The clocks of this host, the master and 1 agent agree'
says 'are version 0.1'
says '0 failures'
ok 'nor has the host of its master' det doctor directory keys space file-system
says 'Only the owner can read the'
det doctor --json >doctor.json 2>/dev/null
ok 'the JSON names the master' jq -e --arg url "$(url)" '.master == $url and .isClusterChecked' doctor.json
ok 'and has all parts of every finding' jq -e '.findings | length > 15 and all(
    (.check | length > 0) and (.text | endswith(".")) and
    ((.mark == "ok" or .mark == "skip") or (.what and .why and .todo)))' doctor.json
ok 'a check is asked for by its name' test "$(det doctor space --json | jq -r '[.findings[].check] | join(" ")')" = space

chmod 644 "$DATA/secret.key"
fails 1 'a key that others can read is a failure' det doctor keys
says "chmod 600 $DATA/secret.key"
says 'can make sessions for any user'
chmod 600 "$DATA/secret.key"
ok 'and is none when it is closed' det doctor keys

AGENT=$(det agent list --csv | sed -n '2s/,.*//p')
det -u admin agent disable "$AGENT" >/dev/null
ok 'agents that take no tasks are a warning' det doctor agents
says 'All agents are disabled'
det -u admin agent enable "$AGENT" >/dev/null

det agent run --master "$(url)" --id second --slots 1 --data-dir second --token-file "$DATA/agent.token" >second.log 2>&1 &
SECOND=$!
soon 'a second agent joins' sh -c 'det doctor agents | grep -q "2 agents are connected"'
slay "$SECOND"
silent() { ! det doctor agents >"$OUT"; }
soon 'an agent that died is a failure' silent
says "fail  agents         Agent 'second' has not been heard for"

fails 1 'an address where nobody listens is a failure' det doctor -m http://127.0.0.1:9 cluster
says 'Connection refused'
says_not 'agents'
fails 1 'DET_MASTER counts, too' env DET_MASTER=http://127.0.0.1:9 det doctor master
fails 1 'a wrong address is a failure' det doctor -m ftp://x master
says 'The master at ftp://x does not answer'

# ---- a master that is none

cat >liar.py <<'EOF'
import http.server, json

AGENTS = 20000
NUMBERS = {"quiet_seconds": "1e300", "disk_free_bytes": "NaN", "clock_ahead_seconds": "-1e308"}


class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/metrics":
            body = "".join(f'det_agent_{n}{{agent="a{i}"}} {v}\n' for i in range(AGENTS) for n, v in NUMBERS.items())
        elif self.path == "/api/v1/agents":
            body = json.dumps({"agents": [{"id": f"a{i}", "version": "\x1b[2J", "enabled": True} for i in range(AGENTS)]})
        else:
            body = json.dumps({"det_version": "\x1b[2J", "status": "up", "token": "t", "user": {"username": "u"}})
        self.send_response(200)
        self.send_header("X-Det-Cluster", "11111111-1111-4111-8111-111111111111")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Liar)
open("liar.port", "w").write(str(server.server_port))
server.serve_forever()
EOF
python3 liar.py &
LIAR=$!
soon 'another program answers as a master' test -s liar.port
det doctor -m "http://127.0.0.1:$(cat liar.port)" cluster >"$OUT" 2>&1
says "Agent 'a19999'"
says '20000 failures'
same 'nothing that it says controls the terminal' 0 "$(grep -c "$(printf '\033')" "$OUT")"
kill "$LIAR"
wait "$LIAR" 2>/dev/null
ok 'the platform stops' det stop
same 'then there is no master any more' skip "$(det doctor --json 2>/dev/null |
    jq -r '.findings[] | select(.check == "master").mark')"

# ---- TLS

if command -v openssl >/dev/null; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 5 -keyout key.pem -out cert.pem \
        -subj /CN=elsewhere -addext 'subjectAltName=DNS:elsewhere.example.com' >/dev/null 2>&1
    platform --tls-cert "$T/cert.pem" --tls-key "$T/key.pem"
    ok 'a certificate that ends soon is a warning' det doctor certificate
    says 'in 4 days'
    says 'is for elsewhere.example.com, not for'
    fails 1 'one that nobody vouches for is a failure' env XDG_DATA_HOME="$T/other" det doctor -m "$(url)" certificate
    says 'is not trusted here'
    says 'det trust https://'
fi

# ---- the look

if command -v script >/dev/null; then
    NO_COLOR='' TERM=xterm script -qec 'stty cols 60; det doctor directory' /dev/null >"$OUT" 2>&1
    says "$(printf '\033[32mok')"
    ok 'on a terminal, lines are wrapped to its width' test "$(tr -d '\r' <"$OUT" | sed 's/\x1b\[[0-9;]*m//g' |
        awk '{ if (length > most) most = length } END { print most }')" -le 60
fi
