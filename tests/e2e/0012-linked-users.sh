# SPDX-License-Identifier: Apache-2.0
# A user that is linked with a Unix identity: tasks run with it, where the agent can.
. "$(dirname "$0")/lib.sh"
need curl jq
chmod 755 "$T" # tasks of other users pass through it
mkdir -p "$HOME" && chmod 755 "$HOME"
platform
folder who <<'END'
#!/bin/sh
id -u
id -g
mkdir state && echo weights >state/w
det checkpoint save state --steps 1 --wait
END
fails 2 'all four are needed' det -u admin user link-with-agent-user determined --agent-uid 54321
says 'all four'
link() { det -u admin user link-with-agent-user determined --agent-uid "$1" --agent-gid "$1" --agent-user visitor --agent-group visitors; }
ok 'an administrator links a user' link 54321
says 'New tasks of determined run as visitor:visitors (54321:54321)'
same 'which everybody sees' 54321 "$(det user list --json | jq '.[] | select(.username == "determined").agentUserGroup.agentUid')"
create who >/dev/null
det e wait 1 --timeout 120 >/dev/null 2>&1
if [ "$(id -u)" = 0 ]; then
    same 'a task of a root agent runs with that identity' '54321 54321' "$(det t logs 1 | sed -n 's/.*|| \([0-9]*\)$/\1/p' | xargs)"
    same 'and stores its checkpoint' 1 "$(det e list-checkpoints 1 --csv | grep -c ,COMPLETED,)"
    same 'in a folder where it can remove none of others' 1777 "$(stat -c %a "$DATA/checkpoints")"

    # What root owns is neither sent nor removed for a checkpoint of the linked user.
    UUID=$(det e list-checkpoints 1 --json | jq -r '.[0].uuid')
    AT=$DATA/checkpoints/$UUID
    TOKEN=$(login)
    download() { curl -s -o "$T/got" -w '%{http_code}' -H "Authorization: Bearer $TOKEN" -H 'Accept: application/x-tar' "$(url)/checkpoints/$UUID"; }
    same 'it is downloaded' 200 "$(download)"
    chown root "$AT"
    chmod 700 "$AT"
    same 'but no file in a directory that only root may enter' 403 "$(download)"
    chown 54321 "$AT"
    chown root "$AT/w"
    chmod 600 "$AT/w"
    same 'nor one in it that only root may read' 403 "$(download)"
    mv "$AT" "$T/aside"
    mkdir "$AT"
    touch "$AT/w"
    det c delete --yes "$UUID" >/dev/null 2>&1
    refused() { grep -qE 'ermission denied|not permitted' "$DATA/master.log"; }
    soon 'a directory of root in its place is not removed' refused
    ok '... although root could' test -f "$AT/w"
    rm -rf "$AT"
    mv "$T/aside" "$AT"
    gone() { [ ! -e "$AT" ]; }
    soon 'what is its own is' gone
else
    ok 'an agent that is not root refuses' sh -c "det t logs 1 | grep -q 'is linked with user 54321'"
fi
ok 'the link is ended' det -u admin user link-with-agent-user determined --remove
create who >/dev/null
ok 'then tasks run as before' det e wait 2 --timeout 120
same 'as the agent' "$(id -u) $(id -g)" "$(det t logs 2 | sed -n 's/.*|| \([0-9]*\)$/\1/p' | xargs)"
