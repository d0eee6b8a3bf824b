# SPDX-License-Identifier: Apache-2.0
# Metrics for a real Prometheus, logs as JSON, the id of a failed call, slow calls.
. "$(dirname "$0")/lib.sh"
need curl python3 promtool prometheus

cat >master.yaml <<'END'
log: {format: json, level: debug, slow_request_ms: 1}
END
cat >agent.yaml <<'END'
master_host: 127.0.0.1
log: {format: json}
END
folder quick <<'END'
#!/bin/sh
echo 'a line'
det report --steps 1 loss=0.5
END
platform --config master.yaml --agent-config agent.yaml
ok 'an experiment reports' create quick --follow

metrics() { curl -sf -H "Authorization: Bearer $TOKEN" "$(url)/metrics"; }
value() { metrics | sed -n "s/^$1 //p"; }
TOKEN=$(login)
ok 'promtool accepts the metrics' sh -c 'curl -sf -H "Authorization: Bearer $1" "$2/metrics" | promtool check metrics' sh \
    "$TOKEN" "$(url)"
says_not 'det_'
same 'the report is counted' 1 "$(value det_reports_stored_total)"
ok 'its lines are counted' test "$(value det_log_lines_stored_total)" -ge 1
same 'its experiment is counted' 1 "$(value 'det_experiments{state="COMPLETED"}')"
ok 'the agent tells how much room it has' sh -c "test '$(metrics | grep -c '^det_agent_disk_free_bytes{')' = 1"

# A scrape by a user of its own, as the guide says.
printf '%s' "$TOKEN" >token
cat >prometheus.yml <<END
rule_files: [$HERE/../../etc/prometheus/det-alerts.yml]
scrape_configs:
  - job_name: det
    scrape_interval: 1s
    authorization: {credentials_file: token}
    static_configs: [{targets: ["$(url | sed 's|.*//||')"]}]
END
ok 'the configuration of the guide is valid' promtool check config prometheus.yml
# Prometheus does not say which port it got; a free one is found here.
FREE=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address="127.0.0.1:$FREE" >prometheus.log 2>&1 &
PROMETHEUS=$!
asks() { curl -s "http://127.0.0.1:$FREE/api/v1/query" --data-urlencode "query=$1" | grep -q "\"$2\"\]"; }
soon 'Prometheus scrapes the master' asks 'up{job="det"}' 1
soon 'and knows the agent' asks 'sum(det_agents{state="ready"})' 1
kill "$PROMETHEUS"
wait "$PROMETHEUS"

# A person's error is found in the log.
REQ=$(curl -s -o /dev/null -D - -H "Authorization: Bearer $TOKEN" "$(url)/api/v1/experiments/%22%0A" | tr -d '\r' |
    sed -n 's/^X-Request-Id: //p')
ok 'an error reply names its request' test -n "$REQ"
curl -s -o /dev/null -X POST "$(url)/api/v1/auth/login" -d '{"username":"determined","password":"S3cret-not-logged"}'
ok 'the platform stops' det stop

cat >read_log.py <<'END'
import json, sys
req = sys.argv[1]
found = slow = 0
for name in sys.argv[2:]:
    for line in open(name, "rb"):
        assert b"S3cret" not in line, line
        row = json.loads(line.decode("utf-8"))
        assert list(row)[:4] == ["time", "level", "process", "message"], row
        assert row["process"] in ("master", "agent"), row
        failed = row["message"].startswith("a request failed")
        found += failed and row.get("req") == req and row.get("status") == 400 and row.get("route") == "get_experiment"
        slow += "lane_ms" in row and "handler_ms" in row and "commit_ms" in row and row["route"] == "login"
assert found == 1, found
assert slow, "no slow login"
END
ok 'every line of both logs is a JSON object, the error is there, and slow calls' \
    python3 read_log.py "$REQ" "$DATA"/master.log "$DATA"/agent.log
