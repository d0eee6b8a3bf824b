# SPDX-License-Identifier: Apache-2.0
# An administrator continues the experiment of another user: the code in it is that user's, and
# gets nothing that the administrator may do.  Nor does a run's token outlive its run in anybody.
. "$(dirname "$0")/lib.sh"
need curl jq
platform
BOB=$(det user list --json | jq '.[] | select(.username == "determined").id')
ADMIN=$(det user list --json | jq '.[] | select(.username == "admin").id')

folder greedy <<END1
#!/bin/sh
try() { # name method path body
    printf '%s: ' "\$1"
    curl -sk -o answer -w '%{http_code} ' -X "\$2" "\$DET_MASTER\$3" -H "Authorization: Bearer \$DET_USER_TOKEN" \${4:+-d "\$4"}
    sed -n 's/.*"\\(username\\|error\\)":"\\([^"]*\\)".*/\\2/p' answer | cut -c1-150
    echo
}
try me GET /api/v1/me
try look GET /api/v1/experiments/\$DET_EXPERIMENT_ID
try password POST /api/v1/users/$ADMIN/password '"Hacked-Word-99"'
try own-password POST /api/v1/users/$BOB/password '"Hacked-Word-99"'
try rename PATCH /api/v1/users/$ADMIN '{"displayName": "hacked"}'
try token POST /api/v1/tokens '{"userId": $ADMIN}'
try user POST /api/v1/users '{"user": {"username": "eve", "admin": true, "active": true}}'
try submit POST /api/v1/experiments '{"config": "name: more\nentrypoint: id\nsearcher: {name: single, metric: x}", "activate": true}'
try kill POST /api/v1/experiments/1/kill
exit 1
END1

# ---- the user's own run: with the user's rights, but not for longer than the run

folder quiet <<'END1'
#!/bin/sh
exit 0
END1
det -u admin e create quiet/const.yaml quiet >/dev/null
det -u admin e wait 1 >/dev/null 2>&1
det e create greedy/const.yaml greedy >/dev/null
det e wait 2 >/dev/null 2>&1
det e logs 2 >"$OUT" 2>&1
says 'me: 200 determined'
says 'look: 200'
says 'password: 403'
says "own-password: 403 a task's token gives nobody lasting access"
says 'submit: 200'
says 'kill: 403'

# ---- the same code, continued by an administrator

det -u admin e continue 2 >/dev/null 2>&1
soon 'it runs again' sh -c '[ "$(det -u admin e logs 2 2>/dev/null | grep -c "|| me: ")" = 2 ]'
det -u admin e wait 2 >/dev/null 2>&1
det -u admin e logs 2 2>&1 | sed '1,/kill: /d' >"$OUT"
says 'me: 200 admin'
says 'look: 200'
for call in password own-password rename token user submit kill; do
    says "$call: 403"
done
says 'its token may only read'
same 'the administrator still has a blank password' 200 \
    "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$(url)/api/v1/auth/login" -d '{"username":"admin","password":""}')"
same 'and no other administrator was made' admin "$(det user list --json | jq -r '[.[] | select(.admin).username] | join(" ")')"

# ---- its Unix identity is the owner's too

if [ "$(id -u)" = 0 ]; then
    chmod 755 "$T"
    mkdir -p "$HOME" && chmod 755 "$HOME"
    ok 'the owner is linked' det -u admin user link-with-agent-user determined --agent-uid 54321 --agent-gid 54321 \
        --agent-user visitor --agent-group visitors
    folder who <<'END1'
#!/bin/sh
echo "I am $(id -u)"
exit 1
END1
    det e create who/const.yaml who >"$T/created" 2>&1
    ID=$(sed -n 's/^Created experiment //p' "$T/created")
    det e wait "$ID" >/dev/null 2>&1
    det -u admin e continue "$ID" >/dev/null 2>&1
    soon 'it runs again' sh -c "[ \"\$(det -u admin e logs $ID 2>/dev/null | grep -c 'I am ')\" = 2 ]"
    same 'code of a linked user does not run as root' 'I am 54321 I am 54321' \
        "$(det -u admin e logs "$ID" | sed -n 's/.*|| \(I am .*\)/\1/p' | xargs)"
fi
