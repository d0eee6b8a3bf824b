# SPDX-License-Identifier: Apache-2.0
# Damaged or missing files in a task's directory are found, reported and contained.
. "$(dirname "$0")/lib.sh"
need jq
platform --slots 4
agent_pid() { jq .pid "$DATA/agent/agent.json"; }
folder wait <<'END'
#!/bin/sh
echo "$DET_TRIAL_RUN_ID $$" >>"$HOME/runs-$DET_TRIAL_ID"
echo "first line"
[ "$DET_TRIAL_RUN_ID" -gt 1 ] && exit 0
until [ -e "$HOME/end-$DET_TRIAL_ID" ]; do sleep 0.05; done
echo "last line"
END
runs() { grep -q '^1 ' "$HOME/runs-$1"; }
place() { ls -d "$DATA/agent/tasks/$1".*-0; }

# A directory that is removed under its task.
create wait >/dev/null
soon 'a task runs' runs 1
rm -rf "$(place 1)"
ok 'without its directory it starts again elsewhere' det e wait 1 --timeout 120
same 'at no cost' 0 "$(det e list-trials 1 --csv | sed -n 2p | cut -d, -f5)"
soon 'and nothing of the first run is left' is_dead "$(sed -n 's/^1 //p' "$HOME/runs-1")"

# Files that are damaged while nobody looks: the agent is stopped, not killed, so that the
# supervisor is alone.
flip() { # FILE: one bit of its tenth byte
    byte=$(od -An -tu1 -j9 -N1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o' $((byte ^ 1)))" | dd of="$1" bs=1 seek=9 conv=notrunc 2>/dev/null
}
damaged() { # EXPERIMENT HOW FILE
    soon "task $1 runs" runs "$1"
    dir=$(place "$1")
    supervisor=$(jq -Rr 'fromjson? | .supervisor' "$dir/pid")
    A=$(agent_pid)
    kill -STOP "$A"
    kill -STOP "$supervisor"
    kill -9 "$supervisor"
    case $2 in
    cut) : >"$dir/$3" ;;
    flip) flip "$dir/$3" ;;
    fake)
        printf '{"exit":"CLEAN","code":0,"reason":"faked"}' >"$dir/$3"
        printf '\ncheck 0123456789abcdef\n' >>"$dir/$3"
        ;;
    esac
    kill -CONT "$A"
    ok "with $3 damaged ($2) it starts again" det e wait "$1" --timeout 120
    same 'at no cost' 0 "$(det e list-trials "$1" --csv | sed -n 2p | cut -d, -f5)"
    soon 'nothing of the first run is left' is_dead "$(sed -n 's/^1 //p' "$HOME/runs-$1")"
}
create wait >/dev/null
damaged 2 cut pid
create wait >/dev/null
damaged 3 flip pid
create wait >/dev/null
damaged 4 fake exit.json
ok 'which the log says' det t logs 4
says 'damaged'
create wait >/dev/null
damaged 5 flip spec.json
ok 'the agent says so' grep -q 'damaged' "$DATA/agent.log"
ok 'the agent is well' sh -c 'det agent list --csv | grep -q ",yes,yes,"'
