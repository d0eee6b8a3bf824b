# SPDX-License-Identifier: Apache-2.0
# Keys of master and agent files: each works, says that it has no effect, or is refused.
. "$(dirname "$0")/lib.sh"

printf 'webhooks: {base_url: http://x}\n' >refused.yaml
fails 11 'webhooks are refused by name' det serve --config refused.yaml
says 'webhooks.base_url: webhooks are not built yet'
ok 'and no directory is made' test ! -e "$DATA"

cat >master.yaml <<END
data_dir: $T/m
port: 0
notebook_timeout: 1h
reserved_ports: [12350]
resource_manager: {no_default_resource_pools: true}
resource_pools: [{pool_name: small}]
task_container_defaults:
  dtrain_network_interface: lo
  environment_variables: {cpu: [KIND=cpu], cuda: [KIND=cuda]}
END
cat >agent.yaml <<END
master_host: 127.0.0.1
data_dir: $T/a
resource_pool: small
artificial_slots: 2
http_proxy: http://proxy:3128
bind_port: 9999
END
det master run --config master.yaml >master.log 2>&1 &
MASTER=$!
soon 'the master keeps its data where the file says' test -s "$T/m/master.json"
ok 'a key without effect says so' \
    grep -q 'master.yaml:3:19: notebook_timeout: accepted, but has no effect: notebooks' master.log
DET_MASTER=$(url "$T/m")
export DET_MASTER
det agent run --master "$DET_MASTER" --token-file "$T/m/agent.token" --config agent.yaml --id one >agent.log 2>&1 &
AGENT=$!
soon 'the agent joins the pool of its file' sh -c 'det agent list --csv | grep -q "^one,2,0,small,yes"'
ok 'and keeps its data where the file says' test -d "$T/a/tasks"
ok 'its keys without effect say so, too' grep -q 'bind_port: accepted, but has no effect' agent.log

folder look <<'END'
#!/bin/sh
echo "proxy $http_proxy $HTTP_PROXY, port $DTRAIN_SSH_PORT, over $NCCL_SOCKET_IFNAME, $KIND"
END
fails 2 'without default pools a task must name one' create look
says 'resources.resource_pool'
ok 'and then it runs' create look --config resources.resource_pool=small -f
says 'proxy http://proxy:3128 http://proxy:3128, port 12351, over lo, cpu'
fails 4 'an unknown workspace is refused with the command that makes it' \
    create look --config resources.resource_pool=small --config workspace=lab --config project=p
says "workspace 'lab' not found: make it with 'det workspace create lab'"
ok 'a weight is accepted' create look --config resources.resource_pool=small --config resources.weight=2
says_not 'no effect'

printf 'entrypoint: "true"\nidle_timeout: 5m\nproject: p\nresources: {resource_pool: small}\n' >job.yaml
ok 'a job says which of its keys only others use' det job run job.yaml
says 'idle_timeout: accepted, but has no effect: only a TensorBoard'
says 'project: accepted, but has no effect: a job belongs to a workspace'

kill -TERM $AGENT
wait $AGENT

# ---- GPUs, by a library that stands in for NVIDIA's
printf 'master_host: 127.0.0.1\nslot_type: cuda\n' >gpu.yaml
if [ ! -e /dev/nvidia0 ]; then
    fails 4 'an agent that must have GPUs does not start without them' timeout 60 det agent run \
        --master "$DET_MASTER" --token-file "$T/m/agent.token" --data-dir "$T/g" --config gpu.yaml
    says 'slot_type is cuda, but no NVIDIA GPU was found'
else
    skip 'an agent that must have GPUs does not start without them' 'this machine has one'
fi
if command -v cc >/dev/null; then
    cat >nvml.c <<'END'
#include <stdio.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **gpu) { *gpu = (char *)0 + i + 1; return 0; }
int nvmlDeviceGetName(void *gpu, char *text, unsigned size) { return snprintf(text, size, "Test GPU") < 0 || !gpu; }
int nvmlDeviceGetUUID(void *gpu, char *text, unsigned size)
{
    return snprintf(text, size, "GPU-%d", (int)((char *)gpu - (char *)0)) < 0;
}
END
    cc -shared -fPIC -o libnvidia-ml.so.1 nvml.c
    printf 'resource_pool: small\nvisible_gpus: "2,0"\n' >>gpu.yaml
    LD_LIBRARY_PATH="$T" det agent run --master "$DET_MASTER" --token-file "$T/m/agent.token" --data-dir "$T/g" \
        --config gpu.yaml --id gpus >gpus.log 2>&1 &
    AGENT=$!
    soon 'visible_gpus chooses two of three' sh -c 'det agent list --csv | grep -q "^gpus,2,0,small,yes"'
    printf '#!/bin/sh\necho "$KIND $CUDA_VISIBLE_DEVICES"\n' | folder gpu
    ok 'a task with GPUs has them and its variables' create gpu --config resources.resource_pool=small \
        --config resources.slots_per_trial=2 -f
    says 'cuda GPU-3,GPU-1'
    kill -TERM $AGENT
    wait $AGENT
else
    skip 'visible_gpus chooses two of three' 'there is no compiler'
fi

kill -TERM $MASTER
wait $MASTER
same 'both end' 0 $?
