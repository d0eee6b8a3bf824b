# SPDX-License-Identifier: Apache-2.0
# A master starts on a full disk, shows what it has, and changes nothing until there is room.
. "$(dirname "$0")/lib.sh"

mkdir -p "$T/small"
if [ "$(id -u)" != 0 ] || ! mount -t tmpfs -o size=8m tmpfs "$T/small" 2>/dev/null; then
    skip 'a full disk' 'a small disk cannot be mounted here'
    exit
fi
DATA=$T/small/data
printf '#!/bin/sh\necho hi\n' | folder one
echo 'resources: {slots_per_trial: 0}' >>one/const.yaml
serve() { timeout 60 det serve --background --port 0 --no-agent --data-dir "$DATA"; }
fill() { cat /dev/zero >"$T/small/filler" 2>/dev/null; }
pid() { sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$DATA/master.json"; }
# Reads, with the session of before and without one, and tries to change something.
look() {
    DET_MASTER=$(url "$DATA")
    export DET_MASTER
    ok "$1: experiments are listed" det e list --csv
    says '1,'
    ok "$1: one is shown" det e describe 1
    ok "$1: also to a new session of whoever runs the master" env HOME="$T/new" XDG_CONFIG_HOME="$T/new" det e list --csv
    says '1,'
    fails 6 "$1: nothing is created" det e create one/const.yaml one --paused
    says 'no space left on the disk'
    fails 6 "$1: without a session neither" env HOME="$T/new" XDG_CONFIG_HOME="$T/new" det e create one/const.yaml one --paused
    says 'no space left on the disk'
    ok "$1: the health says so" curl -sS "$DET_MASTER/health"
    says '"database":"read-only"'
    ok "$1: det master info says so" det master info
    says 'disk'
    PID=$(pid)
    rm "$T/small/filler"
    soon "$1: with room an experiment is taken" det e create one/const.yaml one --paused
    same "$1: by the same master" "$PID" "$(pid)"
    soon "$1: the health is good again" sh -c 'curl -sS "$DET_MASTER/health" | grep -q "\"database\":\"up\""'
    unset DET_MASTER
}

ok 'a master starts on a small disk' serve
DET_MASTER=$(url "$DATA") create one --paused >/dev/null
ok 'it is stopped' det stop --data-dir "$DATA"
fill
ok 'on a full disk a master starts that was stopped' serve
look 'stopped'
fill
slay "$(pid)"
fill
ok 'so does one that was killed there' serve
look 'killed'
ok 'it stops' det stop --data-dir "$DATA"

if command -v sqlite3 >/dev/null; then
    same 'the database is whole' ok "$(sqlite3 "$DATA/det.db" 'PRAGMA integrity_check')"
fi
umount -l "$T/small"
