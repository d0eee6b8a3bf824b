# SPDX-License-Identifier: Apache-2.0
# A backup of a running master, and what a restore makes of the time in between: who was signed in,
# what ran and what numbers were given.  Backups that are killed, damaged or find no room.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need jq sqlite3
platform --no-agent
PORT=$(jq .port "$DATA/master.json")
cp -p "$DATA/agent.token" token
det agent run --id a --slots 3 --master "http://127.0.0.1:$PORT" --data-dir "$T/a" --token-file token >a.log 2>&1 &
AGENT=$!
folder train <<'END'
#!/bin/sh
at=$HOME/$DET_EXPERIMENT_ID
det checkpoint restore state >/dev/null 2>&1
echo "run $DET_TRIAL_RUN_ID from '$(cat state/step 2>/dev/null)'" >>"$at.runs"
echo $$ >>"$at.pids"
mkdir -p state
for n in 1 2 3; do
    echo $n >state/step
    det report --steps $n loss=$n || exit 1
    det checkpoint save state --steps $n --wait || exit 1
    echo $n >>"$at.steps"
    until [ -e "$at.$n" ]; do sleep 0.02; done
done
END
steps() { [ "$(xargs <"$HOME/$1.steps")" = "$2" ]; }
B=$T/backups

# ---- backups while it runs

create train >/dev/null
create train >/dev/null
soon 'a trial has a checkpoint' steps 1 1
soon 'and another one' steps 2 1
ok 'ann is made' det -u admin user create ann --password 'S3cret-enough'
SESSION=$(login ann S3cret-enough)
TOKEN=$(login admin)
ACCESS=$(api POST /api/v1/tokens '{"userId":2,"lifespan":"24h"}' | jq -r .token 2>/dev/null | head -1)
known() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" "$(url)/api/v1/me")" = 200 ]; }
ok 'her session is valid' known "$SESSION"
ok 'and an access token' known "$ACCESS"
ok 'a backup is made while the master runs' det backup "$B"
says 'not included: the checkpoints in'
ok 'another one' det backup "$B"
same 'adds little' yes "$(det backup "$B" --list | awk 'NR == 3 && $4 < 1 { print "yes" }')"
ok 'both are intact' det backup "$B" --verify
says '2 of 2 backups are intact'
same 'only the owner can read them' '' "$(find "$B" -perm /077)"
same 'the key of tokens is not in them' '' "$(cat "$B"/backups/* | grep secret.key)"
fails 6 'a running master is not replaced' det restore "$B" --replace
says "stop it with 'det stop"
rm "$DATA/master.lock"
fails 6 'though its lock file is removed' det restore "$B" --replace
fails 2 'a backup into the data directory is refused' det backup "$DATA/backups"
ln -s "$DATA" "$T/link"
fails 2 'by another name, too' det backup "$T/link/backups"
fails 2 'and into a directory with other files' det backup "$T/train"
says 'holds other files'
fails 2 'a directory without a name is refused' det backup ''
fails 2 'the backups are not replaced by what is restored from them' det restore "$B" --data-dir "$B" --replace
fails 2 'nothing is restored into them' det restore "$B" --data-dir "$B/drill"
fails 4 'a directory without backups is named' det restore "$T/train" --data-dir "$T/drill"
says "there are no backups in '$T/train'"

# ---- the time that is lost

KEPT=$(det backup "$B" --list | awk 'NR == 3 { print $1 }')
create train >/dev/null
soon 'another experiment runs' steps 3 1
touch "$HOME/1.1"
soon 'and the first one goes on' steps 1 '1 2'
GONE=$(det e list-checkpoints 2 --csv | grep -o '[0-9a-f]*-[0-9a-f-]*' | head -1)
ok 'a checkpoint of the second one is removed' rm -r "$DATA/checkpoints/$GONE"
slay "$(jq .pid "$DATA/master.json")"

# ---- restored

fails 5 'an existing directory is not replaced by itself' det restore "$B"
says 'with --replace'
ok 'it is restored' det restore "$B" --backup "$KEPT" --replace
says 'the old directory is now'
says 'the latest checkpoint of 1 unfinished trials is gone'
platform --no-agent
soon 'the agent is back' sh -c 'det agent list --csv | grep -q "^a,.*,yes,yes,"'
fails 1 'the session of before is no more' known "$SESSION"
fails 1 'nor is the access token' known "$ACCESS"
fails 1 'nor the session of the administrator' known "$TOKEN"
lost_ends() { is_dead "$(tail -1 "$HOME/3.pids")"; }
soon 'what ran in the lost time is ended' lost_ends
same 'the lost experiment is unknown' '' "$(state 3)"
again() { [ "$(tail -1 "$HOME/$1.runs")" = "run 1000 from '$2'" ]; }
soon 'the first trial begins again, from the checkpoint that the backup knows' again 1 1
soon 'the second one from its start, because that checkpoint is gone' again 2 ''
create train >/dev/null
same 'a new experiment has a number that was never used' 10000 "$ID"
for n in 1 2 3; do touch "$HOME/1.$n" "$HOME/2.$n" "$HOME/10000.$n"; done
ok 'the first experiment ends' det e wait 1 --timeout 120
ok 'and the second' det e wait 2 --timeout 120
ok 'and the new one' det e wait 10000 --timeout 120
same 'with one curve without a gap' '1 2 3' \
    "$(det t metrics 1 --csv | sed -n 's/^[0-9]*,[0-9]*,\([0-9]*\),.*,loss,.*/\1/p' | sort -u | xargs)"
same 'the restore is in the audit log' 1 "$(det -u admin audit list --action restore --csv | grep -c "$KEPT")"

# ---- killed, damaged, old

ok 'the restored master is backed up into the same directory' det backup "$B" --keep 2
says 'removed 1 older backups'
head -c 100000 /dev/urandom >"$B/packs/99999999.part"
ok 'the rest of a killed backup does not disturb the next one' det backup "$B" --keep 2
same 'and is removed' '' "$(find "$B" -name '*.part')"
det stop >/dev/null 2>&1
ok 'a backup needs no master' det backup "$B" --keep 3 --checkpoints
ok 'a restore elsewhere' det restore "$B" --data-dir "$T/drill"
same 'has the checkpoints' yes "$([ "$(ls "$T/drill/checkpoints")" = "$(ls "$DATA/checkpoints")" ] && echo yes)"
same 'and is a whole database' ok "$(sqlite3 "$T/drill/det.db" 'PRAGMA integrity_check')"
fails 4 'no backup is older than all' det restore "$B" --at 2020-01-01T00:00:00Z --data-dir "$T/none"
kill -TERM $AGENT
wait $AGENT
LAST=$(ls "$B"/packs | tail -1)
printf 'x' | dd of="$B/packs/$LAST" bs=1 seek=1000 conv=notrunc 2>/dev/null
fails 8 'a damaged backup is found' det backup "$B" --verify
says 'does not hold what was written'
rm -rf "$T/drill"
fails 8 'and is not restored' det restore "$B" --data-dir "$T/drill"
same 'nothing of it is left' '' "$(ls -d "$T"/drill* 2>/dev/null)"
ok 'the next backup stores again what was damaged' det backup "$B"
says "pack $LAST of earlier backups is damaged"
ok 'and then all of them are whole' det backup "$B" --verify
mkdir "$T/other"
det master run --data-dir "$T/other" --port 0 >other.log 2>&1 &
OTHER=$!
soon 'another cluster' test -e "$T/other/master.json"
fails 3 'does not get the same directory' det backup "$B" --data-dir "$T/other"
says 'of another cluster'
kill -TERM $OTHER
wait $OTHER

# ---- a damaged database

D=$T/damaged
cp -R "$DATA" "$D"
ok 'a directory' det backup "$T/few" --data-dir "$D" --keep 1
sqlite3 "$D/det.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
PAGE=$(sqlite3 "$D/det.db" 'PRAGMA page_size')
ROOT=$(sqlite3 "$D/det.db" "SELECT rootpage FROM sqlite_master WHERE name = 'trials'")
dd if=/dev/urandom of="$D/det.db" bs="$PAGE" seek=$((ROOT - 1)) count=1 conv=notrunc 2>/dev/null
fails 8 'a damaged database is said to be so' det backup "$T/few" --data-dir "$D" --keep 1
says 'older backups were not removed'
FIRST=$(ls "$T/few/backups" | head -1)
fails 8 'its copy is not restored' det restore "$T/few" --data-dir "$T/drill"
ok 'the backup of before is' det restore "$T/few" --backup "${FIRST%.json}" --data-dir "$T/drill"
