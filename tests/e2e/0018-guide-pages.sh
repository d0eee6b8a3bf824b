# SPDX-License-Identifier: Apache-2.0
# Chapters of the guide: every block runs as it is on the page, or is marked as one that cannot run here.
. "$(dirname "$0")/lib.sh"
need python3 openssl
page() { python3 "$HERE/guide_page.py" "$@"; }
# block PAGE NAME: prints the file NAME of a page
block() { awk -v mark="<!-- file: $2 -->" '$0 == mark { found = 1; next } found && /^```$/ { exit } found && !/^```/' "$HERE/../../docs/guide/$1"; }

# ---- ten people: the master and the agents have the configuration of the page

mkdir "$T/srv" ten && cd ten || exit 99
block ten-people.md master.yaml | sed "s,/srv/det,$T/srv," >first.yaml
det master run --config first.yaml --port 0 --data-dir "$T/m" >"$T/master.log" 2>&1 &
PIDS=$!
soon 'the master of the page starts' test -s "$T/m/master.json"
URL=https://127.0.0.1:$(url "$T/m" | sed 's/.*://')
F=$(openssl x509 -in "$T/m/tls/own.crt" -noout -fingerprint -sha256 | cut -d= -f2)
for id in gpu1 gpu2; do
    block ten-people.md agent.yaml | sed "s/FD:45:3B:8C:.../$F/" >$id.yaml
    det agent run --config $id.yaml --master "$URL" --token-file "$T/m/agent.token" --id $id --slots 1 \
        --data-dir "$T/$id" >"$T/$id.log" 2>&1 &
    PIDS="$PIDS $!"
    soon "$id joins" grep -q joined "$T/$id.log"
done
ok 'every block of ten-people.md runs' page ten-people.md "https://10.0.0.1:8080=$URL" "FD:45:3B:8C:...=$F" \
    "/srv/det=$T/srv" "/var/lib/det=$T/m" "/mnt/backup=$T/backup" "/tmp/drill=$T/drill"
# shellcheck disable=SC2086 # several numbers
kill $PIDS
# shellcheck disable=SC2086
wait $PIDS
cd "$T" || exit 99

# ---- the other pages: their commands exist, their configurations are valid, their programs compile

ok 'what the older pages show exists' python3 "$HERE/guide_look.py"

# ---- pages that need no platform

for name in from-determined.md comparison.md faq.md; do
    mkdir "$name" && cd "$name" || exit 99
    ok "what $name says about commands is true" page "$name"
    cd "$T" || exit 99
done
