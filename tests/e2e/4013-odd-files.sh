# SPDX-License-Identifier: Apache-2.0
# Files of the data directory that are no files: nobody waits for a pipe, or reads without end.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need jq timeout
odd() { # FILE KIND
    rm -rf "$1"
    case $2 in
    pipe) mkfifo "$1" ;;
    zeros) ln -s /dev/zero "$1" ;;
    large) truncate -s 1T "$1" ;;
    esac
}
platform
det stop >/dev/null 2>&1
for name in secret.key agent.token; do
    for kind in pipe zeros large; do
        cp "$DATA/$name" kept
        odd "$DATA/$name" $kind
        fails 8 "a master ends whose $name is no plain file ($kind)" timeout -s KILL 120 "$DET" master run --port 0
        says 'remove it to have a new one made'
        rm "$DATA/$name"
        mv kept "$DATA/$name"
    done
done
for kind in pipe zeros large; do
    odd "$DATA/master.json" $kind
    odd "$DATA/agent/agent.json" $kind
    odd "$DATA/agent/instance" $kind
    platform
    soon "master and agent work though their notes were no files ($kind)" sh -c 'det agent list --csv | grep -q ",yes,yes,"'
    ok 'and stop' det stop
done
