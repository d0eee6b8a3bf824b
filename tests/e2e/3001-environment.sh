# SPDX-License-Identifier: Apache-2.0
# The environment of a trial: variables, files, its hook.
. "$(dirname "$0")/lib.sh"
need jq
platform
folder env <<'END'
#!/bin/sh
env | sort >"$HOME/env"
mkdir "$HOME/info"
cp "$DET_RUN_DIR"/info/*.json "$HOME/info/"
pwd >"$HOME/pwd"
ls -A >"$HOME/files"
stat -c %a "$DET_RUN_DIR" >"$HOME/mode"
echo "stdin: $(wc -c)"
END
echo 'export FROM_HOOK=yes' >env/startup-hook.sh
cat >>env/const.yaml <<'END'
environment:
  environment_variables: [MINE=a b=c, EMPTY=]
reproducibility: {experiment_seed: 5}
END
sed -i 's/hyperparameters: .*/hyperparameters: {lr: 0.1, deep: {er: {x: [1, two]}}}/' env/const.yaml
ok 'it runs' create env -f
says 'stdin: 0'
value() { sed -n "s/^$1=//p" "$HOME/env"; }
is() { same "$1 is right" "$2" "$(value "$1")"; }
looks() {
    value "$1" >"$OUT"
    value "$1" | grep -qE "^($2)$"
    result $? "$1 looks right"
}
UUID='[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
PORT=$(url | sed 's/.*://')
is DET_MASTER "$(url)"
is DET_MASTER_HOST 127.0.0.1
is DET_MASTER_ADDR 127.0.0.1
is DET_MASTER_PORT "$PORT"
is DET_TASK_TYPE TRIAL
is DET_EXPERIMENT_ID 1
is DET_TRIAL_ID 1
is DET_TRIAL_RUN_ID 1
is DET_STEPS_COMPLETED 0
is DET_USE_TLS false
is DET_USER determined
is DET_SLOT_IDS '[0]'
is DET_RESOURCES_TYPE docker-container
is DET_SEGMENT_ENABLED false
is FROM_HOOK yes
is MINE 'a b=c'
is DET_WORKDIR "$(cat "$HOME/pwd")"
is PWD "$(cat "$HOME/pwd")"
looks DET_TASK_ID "1\.$UUID"
is DET_ALLOCATION_ID "$(value DET_TASK_ID).1"
looks DET_CONTAINER_ID "$UUID"
is DET_RESOURCES_ID "$(value DET_CONTAINER_ID)"
looks DET_CLUSTER_ID "$UUID"
looks DET_MASTER_ID "$UUID"
looks DET_TRIAL_SEED '[0-9]+'
looks DET_SESSION_TOKEN '.{20,}'
looks DET_USER_TOKEN '.{20,}'
looks DTRAIN_SSH_PORT '[0-9]+'
looks INTER_TRAIN_PROCESS_COMM_PORT_1 '[0-9]+'
looks INTER_TRAIN_PROCESS_COMM_PORT_2 '[0-9]+'
looks C10D_PORT '[0-9]+'
ok 'EMPTY is set and empty' grep -qx 'EMPTY=' "$HOME/env"
ok 'DET_LATEST_CHECKPOINT is not there' sh -c '! grep -q ^DET_LATEST_CHECKPOINT "$HOME/env"'
same 'DET_HPARAMS is JSON' '{"deep":{"er":{"x":[1,"two"]}},"lr":0.1}' "$(value DET_HPARAMS | jq -cS .)"
same 'DET_EXPERIMENT_CONFIG is the whole configuration' './run.sh 5 shared_fs' \
    "$(value DET_EXPERIMENT_CONFIG | jq -r '[.entrypoint, .reproducibility.experiment_seed, .checkpoint_storage.type] | join(" ")')"
same 'DET_TASK_LOGGING_METADATA names task and allocation' "$(value DET_TASK_ID) $(value DET_ALLOCATION_ID)" \
    "$(value DET_TASK_LOGGING_METADATA | jq -r '.task_id + " " + .allocation_id')"
same 'the run directory is for its owner only' 700 "$(cat "$HOME/mode")"
same 'the work directory holds the files that were sent' 'const.yaml run.sh startup-hook.sh' \
    "$(sort "$HOME/files" | xargs)"

keys() { jq -r 'keys | join(" ")' "$HOME/info/$1.json"; }
same 'cluster.json has exactly these keys' \
    'agent_id allocation_id cluster_id latest_checkpoint master_cert_file master_cert_name master_url session_token slot_ids task_id task_type' "$(keys cluster)"
same 'trial.json has exactly these keys' \
    'config debug experiment_id hparams inter_node_network_interface steps_completed trial_id trial_run_id trial_seed' "$(keys trial)"
same 'rendezvous.json has exactly these keys' 'container_addrs container_rank container_slot_counts' "$(keys rendezvous)"
same 'resources.json has exactly these keys' 'gpu_uuids' "$(keys resources)"
same 'they say the same as the variables' "$(url) $(value DET_TASK_ID) 1 0.1" \
    "$(jq -r '.master_url + " " + .task_id' "$HOME/info/cluster.json") $(jq -r '"\(.trial_id) \(.hparams.lr)"' "$HOME/info/trial.json")"
same 'an agent alone is node 0 of 1' '0 1 [1]' \
    "$(jq -r '"\(.container_rank) \(.container_addrs | length) \(.container_slot_counts)"' "$HOME/info/rendezvous.json")"

# A user's own variables cannot be taken for the platform's.
ok 'a trial inherits nothing that begins with DET_' env DET_LEAK=1 det stop
DET_LEAK=1 platform
folder leak <<'END'
#!/bin/sh
env | grep -c ^DET_LEAK
exit 0
END
ok 'also from a platform that was started with some' create leak -f
says '|| 0'
