# SPDX-License-Identifier: Apache-2.0
# A damaged database, a directory that cannot be written, a full disk.
. "$(dirname "$0")/lib.sh"

mkdir -p "$T/bad"
head -c 20000 /dev/urandom >"$T/bad/det.db"
cp "$T/bad/det.db" garbage
fails 8 'a database of garbage is refused' det serve --port 0 --data-dir "$T/bad"
says 'det.db'
ok 'and left as it is' cmp garbage "$T/bad/det.db"
fails 8 'in the background too' det serve --background --port 0 --data-dir "$T/bad"
says 'det.db'
ok 'and left as it is again' cmp garbage "$T/bad/det.db"

platform
printf '#!/bin/sh\necho hi\n' | folder one
create one -f >/dev/null
det stop >/dev/null 2>&1
SIZE=$(wc -c <"$DATA/det.db")
cp "$DATA/det.db" whole
head -c $((SIZE / 2)) whole >"$DATA/det.db"
cp "$DATA/det.db" half
det serve --background --port 0 >"$OUT" 2>&1
CODE=$?
if [ $CODE = 0 ]; then
    # Missing data is found when it is needed; no caller gets half a list.
    ok 'half a database is noticed at the latest when it is read' sh -c '! det e describe 1 2>&1'
    det stop >/dev/null 2>&1
else
    same 'half a database is refused' 8 $CODE
    says 'det.db'
    ok 'and left as it is' cmp half "$DATA/det.db"
fi
rm -f "$DATA"/det.db*
# Pages in the middle are overwritten: nobody gets a list with something missing.
cp whole "$DATA/det.db"
dd if=/dev/urandom of="$DATA/det.db" bs=4096 seek=4 count=12 conv=notrunc 2>/dev/null
det serve --background --port 0 >"$OUT" 2>&1
CODE=$?
if [ $CODE = 0 ]; then
    ok 'damaged pages are noticed at the latest when they are read' sh -c '! det e describe 1 2>&1'
    det stop >/dev/null 2>&1
else
    same 'damaged pages are refused' 8 $CODE
    says 'restore a backup'
fi
rm -f "$DATA"/det.db*
cp whole "$DATA/det.db"
for f in agent.token secret.key; do
    cp "$DATA/$f" kept
    head -c 7 kept >"$DATA/$f"
    fails 8 "a damaged $f is refused" det serve --port 0
    says "$f"
    says 'remove it to have a new one made'
    cp kept "$DATA/$f"
done
platform
ok 'the whole one works again' det e describe 1
det stop >/dev/null 2>&1

echo 'a file' >file
det serve --port 0 --data-dir "$T/file" >"$OUT" 2>&1
ok 'a data directory that is a file is refused' test $? != 0
mkdir -p "$T/ro"
chmod 555 "$T/ro"
fails 3 'a data directory that cannot be written is refused' as_nobody serve --port 0 --data-dir "$T/ro"
says 'ro'

mkdir -p "$T/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=6m tmpfs "$T/small" 2>/dev/null; then
    mkdir "$T/small/data"
    DATA=$T/small/data
    ok 'a master starts on a small disk' det serve --background --port 0 --data-dir "$DATA"
    DET_MASTER=$(url)
    export DET_MASTER
    folder fill <<'END'
#!/bin/sh
i=0
while [ $i -lt 60 ]; do head -c 200000 /dev/urandom | base64; i=$((i + 1)); done
echo "the task came to its end" >"$HOME/came"
END
    create fill >/dev/null
    soon 'a task that fills the disk is not blocked by it' test -e "$HOME/came"
    ok 'the master answers' det master info
    cat /dev/zero >"$T/small/filler" 2>/dev/null
    PID=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DATA/master.json")
    # Larger than whatever the database's log may still hold.
    mkdir big
    head -c 8000000 /dev/urandom >big/data
    fails 6 'on a full disk no experiment is taken' det e create one/const.yaml big
    says 'no space left on the disk'
    ok 'what is there can be read' det e describe 1
    ok 'and listed' det e list
    mount -o remount,size=200m "$T/small"
    ok 'with room again the experiment comes to its end' det e wait 1 --timeout 120
    ok 'its log says what is missing' sh -c 'det t logs 1 | grep "\[det\]"'
    says 'lines were dropped here: the disk was full'
    ok 'the next experiment runs' det e create one/const.yaml one -f
    ok 'the master is still the same process' grep -q "\"pid\": *$PID," "$DATA/master.json"
    unset DET_MASTER
    ok 'it stops' det stop --data-dir "$DATA"
    umount -l "$T/small"
    mount -t tmpfs -o size=100k tmpfs "$T/small"
    fails 8 'a command cannot start a master on a full disk' env XDG_DATA_HOME="$T/small" det e list
    says 'none could be started here: no space left on the disk'
    umount -l "$T/small"

    # The agent's disk: nothing fails, work begins when there is room.
    mount -t tmpfs -o size=2m tmpfs "$T/small"
    DATA=$T/own
    platform --no-agent
    det agent run --id a --slots 1 --data-dir "$T/small/agent" >agent.log 2>&1 &
    A=$!
    soon 'an agent with a small disk joins' sh -c 'det agent list --csv | grep -q "^a,.*,yes,yes,"'
    cat /dev/zero >"$T/small/filler" 2>/dev/null
    create one >/dev/null
    soon 'it says that it waits for room' sh -c "det t logs $ID | grep -q 'agent a lacks resources: no space left on the disk for .*; this costs no restart'"
    ok 'the experiment has not failed' sh -c "det e list --csv | grep -q '^$ID,.*,ACTIVE,\|^$ID,.*,QUEUED,\|^$ID,.*,PULLING,\|^$ID,.*,STARTING,'"
    rm "$T/small/filler"
    ok 'with room it runs to its end' det e wait "$ID" --timeout 120
    says 'is COMPLETED'
    same 'and it took no restart' 0 "$(det e list-trials "$ID" --json | jq '.[0].restarts')"
    slay $A
    umount -l "$T/small"
else
    skip 'a full disk' 'a small disk cannot be mounted here'
fi
