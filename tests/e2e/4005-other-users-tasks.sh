# SPDX-License-Identifier: Apache-2.0
# Tasks that run as another user than their root agent: what they see, may use, and cannot reach.
. "$(dirname "$0")/lib.sh"
need curl jq setpriv python3
if [ "$(id -u)" != 0 ]; then
    skip 'tasks of another user are kept apart' 'needs root'
    exit 0
fi
USER_ID=54321
as_user() { setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups "$@"; }
mkdir -p storage shared/data shared/closed elsewhere/victim
chmod 711 "$T"
chown $USER_ID storage
echo payload >shared/data/file
chmod 700 shared/closed
ln -s /etc shared/link
cp /usr/bin/id storage/set-id
chmod 4755 storage/set-id
MARK=det-mark-$$
touch "/tmp/$MARK" "/dev/shm/$MARK"

cat >master.yaml <<END1
security: {default_task: {uid: $USER_ID, gid: $USER_ID}}
checkpoint_storage_roots: ["$T/storage"]
END1
cat >agent.yaml <<END1
master_host: 127.0.0.1
bind_mount_roots: ["$T/shared"]
pass_environment: ["OFFERED_*"]
task_limits: {processes: 100, open_files: 256, disk: 20MiB}
END1
det master run --config master.yaml --port 0 --data-dir "$T/m" >master.log 2>&1 &
MASTER=$!
soon 'the master answers' test -s "$T/m/master.json"
URL=$(url "$T/m")
DET_MASTER=$URL
export DET_MASTER
DATA=$T/m
AWS_SECRET_ACCESS_KEY=of-root OFFERED_ONE=offered det agent run --config agent.yaml --master "$URL" \
    --token-file "$T/m/agent.token" --data-dir "$T/a" --slots 4 >agent.log 2>&1 &
AGENT=$!
soon 'an agent has joined' sh -c 'det agent list --csv | grep -q ",4,"'
stop_all() {
    kill $AGENT
    wait $AGENT
    kill $MASTER
    wait $MASTER
    rm -f "/tmp/$MARK" "/dev/shm/$MARK"
}
# Runs a folder to its end; the output of its task is in $OUT.
try() {
    name=$1
    shift
    create "$name" "$@" >/dev/null
    det e wait "$ID" >"$T/waited" 2>&1
    det e logs "$ID" >"$OUT" 2>&1 || det t logs "$ID" >"$OUT" 2>&1
}

# ---- while another task of the same user runs

folder keeper <<'END1'
#!/bin/sh
until [ -e "$STOP_FILE" ]; do sleep 0.05; done
END1
create keeper --config "environment.environment_variables=[STOP_FILE=$T/storage/stop]" >/dev/null
soon 'a first task has its directory' sh -c "ls -d '$T'/a/tasks/*/work"
KEEPER=$(dirname "$(ls -d "$T"/a/tasks/*/work)")
soon '... which belongs to its user' sh -c "[ \$(stat -c %u '$KEEPER/work') = $USER_ID ]"

folder look <<END1
#!/bin/sh
echo "uid \$(id -u), no new rights \$(sed -n 's/NoNewPrivs:.//p' /proc/self/status), set-id \$($T/storage/set-id -u)"
echo "secret x\$AWS_SECRET_ACCESS_KEY, offered \$OFFERED_ONE, path \${PATH:+set}"
ls /tmp/$MARK 2>/dev/null && echo SEES-TMP
ls /dev/shm/$MARK 2>/dev/null && echo SEES-SHM
echo mine >/tmp/$MARK-2 && cat /tmp/$MARK-2
echo "shm \$(df -kP /dev/shm | awk 'NR == 2 { print \$2 }')"
echo "tokens \$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep '^DET_SESSION_TOKEN=' | sort -u | wc -l)"
ls -d $KEEPER $KEEPER/work 2>/dev/null && echo SEES-TASK
cat $KEEPER/run/info/cluster.json 2>/dev/null && echo READS-TASK
cat $T/m/secret.key $T/m/agent.token 2>/dev/null && echo READS-KEYS
echo "files \$(ulimit -n)"
cat /run/determined/info/cluster.json | grep -c session_token
ls /run/determined/workdir/run.sh
END1
try look --config resources.shm_size=64MiB
says "uid $USER_ID, no new rights 1, set-id $USER_ID"
says 'secret x, offered offered, path set'
says_not 'SEES-'
says_not 'READS-'
says 'mine'
says 'shm 65536'
says 'tokens 1'
says 'files 256'
says '/run/determined/workdir/run.sh'
ok 'nothing of its /tmp is left' test ! -e "/tmp/$MARK-2"
same 'it ended well' COMPLETED "$(state "$ID")"

folder processes <<'END1'
#!/bin/sh
sh -c 'i=0; while [ $i -lt 500 ]; do sleep 2 & i=$((i+1)); done; echo BOMBED'
echo "contained"
exit 0
END1
try processes
says 'contained'
says_not 'BOMBED'

folder big <<'END1'
#!/bin/sh
head -c 15000000 /dev/zero >one
head -c 15000000 /dev/zero >two
echo written
while :; do sleep 0.1; done
END1
try big
says 'more disk space than task_limits.disk'
same 'a task that fills the disk is ended' ERROR "$(state "$ID")"

folder signals <<'END1'
#!/bin/sh
(sleep 0.3; echo late) &
exit 7
END1
try signals
says 'late'
says 'exited with code 7'

# ---- bind mounts

folder binds <<'END1'
#!/bin/sh
cat data/file
echo x 2>/dev/null >data/new || echo "read-only"
END1
try binds --config "bind_mounts=[{host_path: $T/shared/data, container_path: data, read_only: true}]"
says 'payload'
says 'read-only'
for path in /etc "$T/shared/../elsewhere" "$T/shared/link" "$T/shared/closed/inside" "$T/sharedness"; do
    try binds --config "bind_mounts=[{host_path: $path, container_path: data}]"
    same "a bind mount of ${path#"$T"} fails the task" ERROR "$(state "$ID")"
    says_not payload
    says 'mount'
done
says 'bind_mount_roots'

# ---- storage

folder saves <<'END1'
#!/bin/sh
python3 - <<'END2'
import determined as det
with det.core.init() as core:
    core.train.report_validation_metrics(1, {"loss": 1.0})
    with core.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "weights").write_text("w")
END2
END1
for place in /etc/det-e2e "$T/elsewhere" "$T/storage/../elsewhere" "$T/storageness"; do
    ok "storage in ${place#"$T"} is refused" sh -c \
        "! det e create saves/const.yaml saves --config checkpoint_storage.type=shared_fs --config checkpoint_storage.host_path='$place'"
    says 'is not below a directory that this master allows'
done
try saves --config checkpoint_storage.type=shared_fs --config "checkpoint_storage.host_path=$T/storage/anna"
same 'storage below the root is used' COMPLETED "$(state "$ID")"
UUID=$(basename "$(dirname "$(ls "$T"/storage/anna/*/weights)")")
ok 'its checkpoint is there' test -f "$T/storage/anna/$UUID/weights"
TOKEN=$(login)
download() { curl -s -o "$T/got" -w '%{http_code}' -H "Authorization: Bearer $TOKEN" -H 'Accept: application/x-tar' "$URL/checkpoints/$UUID"; }
same 'and can be downloaded' 200 "$(download)"

chown root "storage/anna/$UUID/weights"
chmod 600 "storage/anna/$UUID/weights"
same 'but not with a file that only root may read' 403 "$(download)"
chown $USER_ID "storage/anna/$UUID/weights"

# The task's user replaces the storage by a link to a directory that is root's.
mkdir -p "elsewhere/victim/$UUID"
cp -r "$T/storage/anna/$UUID/"* "elsewhere/victim/$UUID"
chmod 700 elsewhere
as_user mv "$T/storage/anna" "$T/storage/moved"
as_user ln -s "$T/elsewhere/victim" "$T/storage/anna"
same 'a link in the place of the storage is not read through' 400 "$(download | sed 's/^[45]../400/')"
det c delete --yes "$UUID" >/dev/null 2>&1
failed_removal() { det c describe "$UUID" --json 2>/dev/null | grep -q "$1" || grep -q "$1" master.log; }
soon 'nor removed through' failed_removal 'symlink'
ok '... and what it led to is there' test -f "elsewhere/victim/$UUID/weights"

# A directory of root's in the place of the checkpoint: the tasks' user may not remove it.
as_user rm "$T/storage/anna"
mkdir -p "storage/anna/$UUID"
touch "storage/anna/$UUID/weights"
chmod 755 storage/anna
det c delete --yes "$UUID" >/dev/null 2>&1
soon 'a directory of root is not removed for a user' failed_removal 'ermission denied'
ok '... although root could remove it' test -f "storage/anna/$UUID/weights"
rm -rf storage/anna
as_user mv "$T/storage/moved" "$T/storage/anna"

# ---- an agent that cannot isolate

setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$DET" agent run --config agent.yaml --master "$URL" --token-file "$T/m/agent.token" --id plain \
    --data-dir "$T/b" --slots 0 >plain.log 2>&1 &
PLAIN=$!
soon 'an agent that cannot isolate joins' grep -q 'joined the master' plain.log
kill $PLAIN
wait $PLAIN
same '... and says so once' 1 "$(grep -c 'tasks are not isolated from each other: the kernel refuses namespaces' plain.log)"
ok '... with what to do' grep -q 'CAP_SYS_ADMIN' plain.log
printf 'task_isolation: always\n' >>agent.yaml
fails 11 'an agent that must isolate does not start' \
    setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$DET" agent run --config agent.yaml --master "$URL" \
    --token-file "$T/m/agent.token" --id plain --data-dir "$T/b" --slots 0
says "task_isolation is 'always', but the kernel refuses namespaces"

touch "$T/storage/stop"
soon 'the first task ends' is_state COMPLETED 1
stop_all
