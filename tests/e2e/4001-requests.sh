# SPDX-License-Identifier: Apache-2.0
# Requests that are not as they should be, and callers that should not call.
. "$(dirname "$0")/lib.sh"
need curl python3
platform
URL=$(url)
PORT=$(url | sed 's/.*://')
status() { curl -s -o "$T/body" -w '%{http_code}' "$@"; }
raw() { # BYTES (printf format): what comes back
    python3 - "$PORT" "$1" <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
s.sendall(sys.argv[2].encode().decode("unicode_escape").encode("latin-1"))
s.shutdown(socket.SHUT_WR)
s.settimeout(10)
try:
    while (b := s.recv(65536)):
        sys.stdout.write(b.decode("latin-1"))
except OSError as e:
    print(e)
END
}
alive() { same "... and the master goes on" 200 "$(status "$URL/info")"; }

same 'what needs a user is refused without one' 401 "$(status "$URL/api/v1/experiments")"
cp "$T/body" "$OUT"
says '"error"'
same 'a wrong token is refused' 401 "$(status -H 'Authorization: Bearer nonsense' "$URL/api/v1/experiments")"
TOKEN=$(login)
ok 'a right one is taken' api GET /api/v1/experiments
says_line 200
ok 'logging out' api POST /api/v1/auth/logout
OLD=$TOKEN
same 'ends the session' 401 "$(status -H "Authorization: Bearer $OLD" "$URL/api/v1/experiments")"
TOKEN=$(login)
same 'a token of another master is refused' 401 \
    "$(status -H "Authorization: Bearer $(echo "$TOKEN" | sed 's/..$/00/')" "$URL/api/v1/experiments")"
fails 3 'a password where none is set is refused' det user login determined -p something

for origin in http://evil.example null "http://127.0.0.1.evil.example:$PORT"; do
    same "the origin '$origin' is refused" 403 "$(status -H "Origin: $origin" "$URL/info")"
done
same 'its own origin is taken' 200 "$(status -H "Origin: $URL" "$URL/info")"
same 'a foreign host is refused' 403 "$(status -H 'Host: evil.example' "$URL/info")"
same 'a foreign host with its port too' 403 "$(status -H "Host: evil.example:$PORT" "$URL/info")"
same 'localhost is taken' 200 "$(status -H "Host: localhost:$PORT" "$URL/info")"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ "$@"; }
    same 'another user of this machine cannot log in with a blank password' 403 \
        "$(other curl -s -o /dev/null -w '%{http_code}' -X POST "$URL/api/v1/auth/login" -d '{"username":"admin","password":""}')"
    ok 'nor read the files of the platform' sh -c "! setpriv --reuid=65534 --regid=65534 --clear-groups cat '$DATA/secret.key' '$DATA/agent.token' '$DATA/det.db'"
else
    skip 'another user of this machine cannot log in with a blank password' 'needs root'
fi

ok 'what is no HTTP is refused' raw 'hello\r\n\r\n'
alive
ok 'a request that stops in the middle' raw 'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"user'
alive
ok 'a request with a length that is none' raw 'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n{}'
alive
ok 'a header that never ends' sh -c "python3 -c 'print(\"GET / HTTP/1.1\\r\\nX: \" + \"a\" * 100000)' >/dev/tcp/127.0.0.1/$PORT 2>/dev/null || true"
alive
ok 'bytes that are no text' raw 'GET /\xff\xfe%00 HTTP/1.1\r\nHost: localhost\r\n\r\n'
alive
ok 'a body that is no JSON is refused' api POST /api/v1/experiments '{"config":'
says_line 400
ok 'a body that is no object is refused' api POST /api/v1/experiments '[1]'
says_line 400
ok 'a body of deeply nested lists is refused' api POST /api/v1/experiments "$(python3 -c 'print("[" * 100000)')"
says_line 400
ok 'a key of a wrong kind is refused' api POST /api/v1/experiments '{"config":7}'
says_line 400
ok 'a path that is none is not found' api GET /api/v1/nothing
says_line 404
ok 'a method that is none is refused' api PUT /api/v1/experiments
says_line 501
says 'does not take PUT'
ok 'an id that is no number is refused' api GET /api/v1/experiments/abc
grep -qE '^40[04]$' "$OUT"
result $? '... with 400 or 404'
ok 'an id that is too large is refused' api GET /api/v1/experiments/99999999999999999999
grep -qE '^40[04]$' "$OUT"
result $? '... with 400 or 404'
for path in experiments/99 trials/99 tasks/none checkpoints/00000000-0000-4000-8000-000000000000 agents/none allocations/none.1; do
    ok "$path is not there" api GET "/api/v1/$path"
    says_line 404
done

# A folder cannot write elsewhere.
escape() {
    ok "the path '$1' in a folder is refused" api POST /api/v1/experiments \
        "{\"config\":\"name: x\\nentrypoint: x\\nsearcher: {name: single}\\n\",\"modelDefinition\":[{\"path\":\"$1\",\"type\":48,\"content\":\"aGk=\",\"mode\":420}]}"
    says_line 400
}
escape '../escaped'
escape '/tmp/escaped'
escape 'a/../../escaped'
escape ''
same 'no experiment was made' 0 "$(det e list -a --csv | grep -c '^[0-9]')"

head -c 30000000 /dev/zero | tr '\0' ' ' >large
same 'a large body of nobody is refused for that' 401 "$(status -X POST -H 'Expect:' --data-binary @large "$URL/api/v1/experiments")"
same 'a large login too' 413 "$(status -X POST -H 'Expect:' --data-binary @large "$URL/api/v1/auth/login")"
same 'what goes nowhere is not found' 404 "$(status -X POST -H 'Expect:' --data-binary @large "$URL/api/v1/nowhere")"
same 'a call has its own limit' 413 "$(status -X POST -H "Authorization: Bearer $TOKEN" -H 'Expect:' --data-binary @large "$URL/api/v1/experiments/continue")"
rm large
# Ten callers whom nobody knows send 20 MB each and do not end.
cat >hoard.py <<'END'
import socket, sys
port, pid = int(sys.argv[1]), sys.argv[2]
def resident_kb():
    return next(int(l.split()[1]) for l in open(f"/proc/{pid}/status") if l.startswith("VmRSS"))
before = resident_kb()
piece = b" " * (1 << 20)
held = []
for header in (b"Content-Length: 190000000", b"Transfer-Encoding: chunked") * 5:
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(b"POST /api/v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header + b"\r\n\r\n")
    for _ in range(20):
        s.sendall(b"100000\r\n" + piece + b"\r\n" if b"chunked" in header else piece)
    held.append(s)
grown = resident_kb() - before
print("grown by", grown, "KB")
sys.exit(grown > 50000)
END
ok 'callers whom nobody knows cannot make the master hold what they send' \
    python3 hoard.py "$PORT" "$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DATA/master.json")"

head -c 220000000 /dev/zero | tr '\0' ' ' >huge
same 'a body over the limit is refused' 413 "$(status -X POST -H "Authorization: Bearer $TOKEN" -H 'Expect:' --data-binary @huge "$URL/api/v1/experiments")"
rm huge
alive
