# SPDX-License-Identifier: Apache-2.0
# task_limits under an agent that is not root: the kernel limits its processes all the same.
ORDINARY_USER=1
. "$(dirname "$0")/lib.sh"
need python3
# The number of processes is that of the whole user; a margin lets the platform itself run.
BUSY=$(ps -L -u "$(id -u)" -o lwp= | wc -l)
printf 'master_host: 127.0.0.1\ntask_limits: {processes: %s, memory: 300MiB, open_files: 128, disk: 20MiB}\n' $((BUSY + 150)) >agent.yaml
det master run --port 0 --data-dir "$T/m" >master.log 2>&1 &
MASTER=$!
soon 'the master answers' test -s "$T/m/master.json"
DET_MASTER=$(url "$T/m")
export DET_MASTER
DATA=$T/m
det agent run --config agent.yaml --master "$DET_MASTER" --token-file "$T/m/agent.token" --data-dir "$T/a" --slots 1 >agent.log 2>&1 &
AGENT=$!
soon 'an agent has joined' sh -c 'det agent list --csv | grep -q ",1,"'
try() {
    create "$@" >/dev/null
    det e wait "$ID" >"$T/waited" 2>&1
    det t logs "$ID" >"$OUT" 2>&1
}
folder all <<'END1'
#!/bin/sh
exec python3 - <<'END2'
import os, signal, time
children = []
try:
    while len(children) < 1000:
        child = os.fork()
        if child == 0:
            time.sleep(60)
        children.append(child)
    print("BOMBED")
except OSError as error:
    print("no more processes:", error.strerror)
for child in children:
    os.kill(child, signal.SIGKILL)
try:
    print("GOT", len(bytearray(500 << 20)))
except MemoryError:
    print("no more memory")
files = []
try:
    while len(files) < 1000:
        files.append(open("/dev/null"))
    print("OPENED")
except OSError as error:
    print("no more files:", error.strerror)
END2
END1
try all
says 'no more processes: Resource temporarily unavailable'
says 'no more memory'
says 'no more files: Too many open files'
folder filler <<'END1'
#!/bin/sh
i=0
while [ $i -lt 40 ]; do head -c 1000000 /dev/zero >part-$i || exit 1; i=$((i+1)); done
while :; do sleep 0.1; done
END1
try filler
says 'more disk space than task_limits.disk'
same 'a task that fills the disk is ended' ERROR "$(state "$ID")"
kill $AGENT
wait $AGENT
kill $MASTER
wait $MASTER
