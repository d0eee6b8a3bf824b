# SPDX-License-Identifier: Apache-2.0
# Tokens that become invalid in the middle of a run: the master's key was replaced,
# the owner of the trial is inactive, the session of the command line has expired.  Nothing
# that the trial said is lost, and nothing hangs.
. "$(dirname "$0")/lib.sh"
need jq sqlite3
platform --slots 2
folder talks <<'END'
#!/bin/sh
at=$HOME/trial-$DET_TRIAL_ID
for n in 1 2 3 4; do
    det report --steps $n loss=$n || exit 1
    echo "step $n"
    until [ -e "$at-$n" ]; do sleep 0.02; done
done
det report --steps 5 --validation loss=0.5 || exit 1
echo "step 5"
END
go() {
    for n in "$@"; do touch "$HOME/trial-$TRIAL-$n"; done
}
said() { det t logs "$TRIAL" | sed -n 's/.*|| step //p' | xargs; }
metrics() { det t metrics "$TRIAL" --csv | sed -n 's/^[0-9]*,[0-9]*,\([0-9]*\),.*,loss,.*/\1/p' | xargs; }
has_said() { [ "$(said)" = "$*" ]; }
has_log() { cat "$DATA"/agent/tasks/*/supervisor.log | grep -q "$1"; }
change_key() { # the master starts again with another key, or with the one that is given
    slay "$(jq .pid "$DATA/master.json")"
    rm -f "$DATA/secret.key"
    [ -z "${1:-}" ] || cp -p "$1" "$DATA/secret.key"
    platform --slots 2
}

# ---- the key is replaced for good: the agent sends what the supervisor cannot

TRIAL=1
create talks >/dev/null
soon 'a trial runs' has_said 1
cp -p "$DATA/secret.key" key
change_key
go 1 2
soon 'its supervisor hears that its token is no good' has_log 'answered 401'
go 3 4
ok 'the trial ends all the same' det e wait 1 --timeout 120
same 'all of its lines are there' '1 2 3 4 5' "$(said)"
same 'and all of its metrics' '1 2 3 4 5' "$(metrics)"
same 'it completed' COMPLETED "$(state 1)"

# ---- the key comes back while it runs: the supervisor goes on

TRIAL=2
create talks >/dev/null
soon 'another trial runs' has_said 1
cp -p "$DATA/secret.key" second
change_key key
go 1
soon 'its token is no good' has_log 'answered 401'
change_key second
go 2
soon 'with the old key what it said arrives while it runs' has_said 1 2 3
go 3 4
ok 'and it ends' det e wait 2 --timeout 120
same 'with all of its metrics' '1 2 3 4 5' "$(metrics)"

# ---- the owner is deactivated

TRIAL=3
active() { # true or false
    if $1; then det -u admin user activate ann; else det -u admin user deactivate ann; fi
}
ok 'there is another user' det -u admin user create ann --password 'S3cret-enough'
DET_USER=ann DET_PASS=S3cret-enough create talks >/dev/null
soon 'a trial of hers runs' has_said 1
ok 'she is deactivated' active false
go 1
soon 'the token of her trial is no good' has_log 'answered 401'
ok 'she is activated again' active true
soon 'what was said arrives' has_said 1 2
ok 'she is deactivated again' active false
go 2 3 4
ok 'her trial ends' det e wait 3 --timeout 120
same 'with every line' '1 2 3 4 5' "$(said)"
same 'and every metric' '1 2 3 4 5' "$(metrics)"

# ---- the session of the command line expires

TRIAL=4
create talks >/dev/null
soon 'a trial runs' has_said 1
DET_USER=ann
export DET_USER
ok 'she is activated' active true
ok 'she logs in' sh -c 'echo S3cret-enough | det user login ann'
ok 'her session is remembered' det e list -a
sqlite3 "$DATA/det.db" '.timeout 60000' 'UPDATE sessions SET expires_us = 1' >"$OUT" 2>&1
result $? 'every session expires'
slay "$(jq .pid "$DATA/master.json")" # which remembers whom it knows
platform --slots 2
fails 3 'she is told to log in again' det e list -a
says "log in with 'det user login ann'"
unset DET_USER
ok 'who has no password is logged in again by itself' det e list -a
go 1 2 3 4
ok 'the trial does not mind' det e wait 4 --timeout 120
same 'every line is there' '1 2 3 4 5' "$(said)"
same 'and every metric' '1 2 3 4 5' "$(metrics)"
