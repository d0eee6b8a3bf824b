# SPDX-License-Identifier: Apache-2.0
# One user sends more work than the master can do.  Nobody else waits for it.
. "$(dirname "$0")/lib.sh"
need curl python3
cat >master.yaml <<'EOF'
resource_pools:
  - pool_name: default
    agent_reconnect_wait: 3s
EOF
platform --config master.yaml
URL=$(url)
folder wait <<'EOF'
#!/bin/sh
echo run >>"$HOME/runs"
until [ -e "$HOME/end" ]; do sleep 0.05; done
EOF
create wait >/dev/null
soon 'a task runs' grep -q run "$HOME/runs"
# Prints how many of the large calls were answered when the small ones of somebody else were.
cat >flood.py <<'EOF'
import http.client, json, select, socket, sys

host, port = sys.argv[1].split("//")[1].split(":")
calls = 16


def ask(method, path, token, body=None):
    connection = http.client.HTTPConnection(host, int(port), timeout=300)
    connection.request(method, path, body, {"Authorization": "Bearer " + token})
    reply = connection.getresponse()
    return reply.status, reply.read()


def login(name):
    return json.loads(ask("POST", "/api/v1/auth/login", "", json.dumps({"username": name, "password": ""}))[1])["token"]


flooder, other = login("determined"), login("admin")
config = "hyperparameters:\n" + "".join(f"  h{i}: {{type: double, minval: 0, maxval: {i + 1}}}\n" for i in range(60000))
body = json.dumps({"config": config}).encode()
head = f"POST /api/v1/det/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {flooder}\r\nContent-Length: {len(body)}\r\n\r\n"
flood = [socket.create_connection((host, int(port))) for _ in range(calls)]
for one in flood:
    one.sendall(head.encode() + body)
select.select(flood, [], [])  # it has begun
for path in ("/health", "/api/v1/experiments", "/api/v1/agents"):
    print("status", path, ask("GET", path, other)[0])
print("answered", len(select.select(flood, [], [], 0)[0]))
for one in flood:
    one.recv(1)
print("status /health", ask("GET", "/health", other)[0])
EOF
ok 'a flood of configurations' python3 flood.py "$URL"
says_line 'status /health 200'
says_line 'status /api/v1/experiments 200'
says_line 'status /api/v1/agents 200'
ANSWERED=$(sed -n 's/^answered //p' "$OUT")
ok "others are answered before it" [ "$ANSWERED" -lt 8 ]
touch "$HOME/end"
ok 'the task was not disturbed' det e wait 1 --timeout 120
same 'it ran once' 1 "$(grep -c . "$HOME/runs")"
ok 'no agent was lost' sh -c '! grep -q "was lost" "$1"' sh "$(ls "$DATA"/*.log | grep -v agent)"
