# SPDX-License-Identifier: Apache-2.0
# Calls that a harness makes from inside a trial, with curl.
. "$(dirname "$0")/lib.sh"
need curl jq
platform
cat >calls.sh <<'END'
call() { # METHOD PATH [BODY]
    curl -s -w '\n%{http_code}\n' -X "$1" -H "Grpc-Metadata-x-allocation-token: Bearer $DET_SESSION_TOKEN" \
        "$DET_MASTER$2" ${3+-d "$3"} | tr '\n' ' ' | sed 's/ *$//'
    echo
}
END
folder calls <<'END'
#!/bin/sh
. ./calls.sh
echo "me: $(call GET /api/v1/me)"
echo "start: $(call POST /api/v1/runs/start "{\"runId\":$DET_TRIAL_ID}")"
echo "preemption: $(call GET "/api/v1/allocations/$DET_ALLOCATION_ID/signals/preemption?timeout_seconds=0")"
echo "metadata: $(call POST "/api/v1/runs/$DET_TRIAL_ID/metadata" "{\"runId\":$DET_TRIAL_ID,\"metadata\":{\"a\":{\"b\":1}}}")"
echo "metadata: $(call POST "/api/v1/runs/$DET_TRIAL_ID/metadata" "{\"runId\":$DET_TRIAL_ID,\"metadata\":{\"c\":2}}")"
echo "runner: $(call POST "/api/v1/trials/$DET_TRIAL_ID/runner/metadata" '{"state":"training"}')"
echo "best: $(call GET "/api/v1/experiments/$DET_EXPERIMENT_ID/searcher/best_searcher_validation_metric")"
echo "metrics: $(call POST "/api/v1/trials/$DET_TRIAL_ID/metrics" "{\"metrics\":{\"trialId\":$DET_TRIAL_ID,\"trialRunId\":1,\"stepsCompleted\":5,\"metrics\":{\"avgMetrics\":{\"loss\":\"NaN\",\"list\":[1,2]},\"batchMetrics\":[{\"loss\":1},{\"loss\":2}]}},\"group\":\"training\"}")"
echo "dotted: $(call POST "/api/v1/trials/$DET_TRIAL_ID/metrics" "{\"metrics\":{\"trialId\":$DET_TRIAL_ID,\"trialRunId\":1,\"stepsCompleted\":5,\"metrics\":{\"avgMetrics\":{\"loss\":1}}},\"group\":\"a.b\"}")"
echo "validation: $(call POST "/api/v1/trials/$DET_TRIAL_ID/metrics" "{\"metrics\":{\"trialId\":$DET_TRIAL_ID,\"trialRunId\":1,\"stepsCompleted\":5,\"metrics\":{\"avgMetrics\":{\"loss\":0.5}}},\"group\":\"validation\"}")"
echo "best: $(call GET "/api/v1/experiments/$DET_EXPERIMENT_ID/searcher/best_searcher_validation_metric")"
echo "progress: $(call POST "/api/v1/trials/$DET_TRIAL_ID/progress" '{"progress":0.5,"is_raw":true}')"
echo "rendezvous: $(call GET "/api/v1/allocations/$DET_ALLOCATION_ID/resources/$DET_RESOURCES_ID/rendezvous")"
echo "gather: $(call POST "/api/v1/allocations/$DET_ALLOCATION_ID/all_gather" "{\"allocationId\":\"$DET_ALLOCATION_ID\",\"requestUuid\":\"00000000-0000-4000-8000-000000000001\",\"numPeers\":1,\"data\":{\"x\":1}}")"
echo "logs: $(call POST /api/v1/task/logs "{\"logs\":[{\"task_id\":\"$DET_TASK_ID\",\"allocation_id\":\"$DET_ALLOCATION_ID\",\"log\":\"shipped by hand\\n\",\"timestamp\":\"2026-01-01T00:00:00.000001+00:00\",\"level\":\"LOG_LEVEL_WARNING\",\"stdtype\":\"stdout\"}]}")"
echo "no logs: $(call POST /api/v1/task/logs '{"logs":[]}')"
echo "context: $(call GET "/api/v1/tasks/$DET_TASK_ID/context_directory" | cut -c1-13)"
END
cp calls.sh calls/
ok 'it runs' create calls -f
said() { grep -F "|| $1" "$OUT" | sed "s/^[^|]*|| $1 //" | sed -n "${2:-1}p"; }
cp "$OUT" log
same 'me knows the owner' determined "$(said me: | sed 's/ 200$//' | jq -r .user.username)"
for what in start metadata runner metrics validation progress gather logs rendezvous; do
    said "$what:" | grep -q ' 200$'
    result $? "'$what' is answered with 200"
done
same 'preempt is there also when it is false' 'false 200' "$(said preemption: | sed 's/ 200$//' | jq -c .preempt) $(said preemption: | grep -o '[0-9]*$')"
same 'metadata are merged' '{"a":{"b":1},"c":2}' "$(said metadata: 2 | sed 's/ 200$//' | jq -cS .metadata)"
same 'there is no best before the first validation' 404 "$(said best: | grep -o '[0-9]*$')"
same 'and then there is' 0.5 "$(said best: 2 | sed 's/ 200$//' | jq .metric)"
same 'a group with a dot is refused' 400 "$(said dotted: | grep -o '[0-9]*$')"
same 'no logs are refused' 400 "$(said 'no logs:' | grep -o '[0-9]*$')"
same 'all_gather gives what all gave' '[{"x":1}]' "$(said gather: | sed 's/ 200$//' | jq -c .data)"
same 'rendezvous names this node' '0 1' "$(said rendezvous: | sed 's/ 200$//' | jq -r '"\(.rendezvousInfo.rank) \(.rendezvousInfo.addresses | length)"')"
ok 'a line that was shipped by hand is in the log' det t logs 1 --level WARNING
says 'shipped by hand'
ok 'metadata are shown' sh -c "curl -s -H 'Authorization: Bearer $(login)' '$(url)/api/v1/runs/1/metadata' | jq -e '.metadata.c == 2'"

# Hyperparameters that a trial refuses.
folder invalid <<'END'
#!/bin/sh
. ./calls.sh
call POST "/api/v1/trials/$DET_TRIAL_ID/early_exit" '{"reason":"EXITED_REASON_INVALID_HP"}'
exit 0
END
cp calls.sh invalid/
ok 'a trial that refuses its hyperparameters' create invalid
ok 'ends' sh -c "det e wait $ID --timeout 120; [ \$? -le 1 ]"
same 'after one run' 0 "$(det e list-trials "$ID" --csv | sed -n 2p | cut -d, -f5)"

# Log policies.
folder policy <<'END'
#!/bin/sh
echo "run $DET_TRIAL_RUN_ID"
echo "CUDA error: the device is on fire"
sleep 0.3
exit 1
END
cat >>policy/const.yaml <<'END'
log_policies:
  - {pattern: ".*on fire.*", action: cancel_retries}
END
sed -i 's/max_restarts: 0/max_restarts: 5/' policy/const.yaml
fails 1 'a line that a policy matches' create policy -f
same 'forbids restarts' 1 "$(det e logs "$ID" | grep -c '|| run ')"
