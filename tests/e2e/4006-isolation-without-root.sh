# SPDX-License-Identifier: Apache-2.0
# An agent that is not root isolates its tasks in user namespaces, where it is told to.
ORDINARY_USER=1
. "$(dirname "$0")/lib.sh"
if ! unshare -Ur true 2>/dev/null; then
    skip 'tasks are isolated without root' 'no user namespaces here'
    exit 0
fi
MARK=det-mark-$$
touch "/tmp/$MARK" "/dev/shm/$MARK"
printf 'master_host: 127.0.0.1\ntask_isolation: always\nbind_mount_roots: ["%s/shared"]\n' "$T" >agent.yaml
# Below the home, which tasks of this user see.
M=$HOME/master A=$HOME/agent
mkdir -p shared/data "$HOME"
echo payload >shared/data/file
det master run --port 0 --data-dir "$M" >master.log 2>&1 &
MASTER=$!
soon 'the master answers' test -s "$M/master.json"
URL=$(url "$M")
DET_MASTER=$URL
export DET_MASTER
DATA=$M
det agent run --config agent.yaml --master "$URL" --token-file "$M/agent.token" --data-dir "$A" --slots 2 \
    >agent.log 2>&1 &
AGENT=$!
soon 'an agent has joined' sh -c 'det agent list --csv | grep -q ",2,"'
stop_all() {
    kill $AGENT
    wait $AGENT
    kill $MASTER
    wait $MASTER
    rm -f "/tmp/$MARK" "/dev/shm/$MARK"
}
mkdir -p "$M/checkpoints"
folder look <<END1
#!/bin/sh
echo "uid \$(id -u)"
ls /tmp/$MARK 2>/dev/null && echo SEES-TMP
ls /dev/shm/$MARK 2>/dev/null && echo SEES-SHM
echo "processes of others \$(cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'maste[r] run')"
echo mine >/tmp/$MARK-2 && cat /tmp/$MARK-2
echo "shm \$(df -kP /dev/shm | awk 'NR == 2 { print \$2 }')"
cat data/file
echo "tasks \$(ls \$(dirname \$DET_RUN_DIR)/.. | wc -l)"
# what belongs to the same user: the master's key, the agents' token, the sessions of the person here
for f in "$M"/secret.key "$M"/agent.token "$M"/*.db "$A"/agent.json "$HOME"/agent.token "$HOME"/.config/determined/*; do
    [ -s "\$f" ] && echo "READS \$f"
done
echo "home \$(ls -d "$HOME")"
touch "$M/checkpoints/x" && echo stored
(sleep 0.3; echo late) &
kill -9 \$\$
END1
create look --config resources.shm_size=64MiB \
    --config "bind_mounts=[{host_path: $T/shared/data, container_path: data}]" >/dev/null
det e wait "$ID" >/dev/null 2>&1
det e logs "$ID" >"$OUT" 2>&1 || det t logs "$ID" >"$OUT" 2>&1
says "uid $(id -u)"
says_not 'SEES-'
says 'processes of others 0'
says 'mine'
says 'shm 65536'
says 'payload'
says 'tasks 1'
says_not 'READS'
says "home $HOME"
says 'stored'
says 'late'
says 'killed by signal SIGKILL'
ok 'nothing of its /tmp is left' test ! -e "/tmp/$MARK-2"

ok 'there was something to read' test -s "$M/secret.key" -a -s "$HOME/.config/determined/auth.json"

folder stubborn <<'END1'
#!/bin/sh
trap '' TERM
(trap '' TERM; while :; do sleep 0.05; done) &
echo up
while :; do sleep 0.05; done
END1
create stubborn >/dev/null
soon 'another task is up' sh -c "det t logs $ID | grep -q 'up$'"
ok 'it is killed' det e kill "$ID"
no_process() { ! grep -lzsxF "DET_EXPERIMENT_ID=$ID" /proc/[0-9]*/environ; }
soon '... with all its processes' no_process

# ---- a token that is not in a master's directory

kill $AGENT
wait $AGENT
cp -p "$M/agent.token" "$HOME/agent.token"
det agent run --config agent.yaml --master "$URL" --token-file "$HOME/agent.token" --data-dir "$A" --slots 2 \
    >>agent.log 2>&1 &
AGENT=$!
soon 'the agent is back' sh -c 'det agent list --csv | grep -q ",2,"'
create look --config resources.shm_size=64MiB \
    --config "bind_mounts=[{host_path: $T/shared/data, container_path: data}]" >/dev/null
det e wait "$ID" >/dev/null 2>&1
det e logs "$ID" >"$OUT" 2>&1 || det t logs "$ID" >"$OUT" 2>&1
says 'late'
says_not "READS $HOME/agent.token"
says_not "READS $A"
stop_all
