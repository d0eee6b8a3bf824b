#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Databases of every earlier schema, from real runs (tools/make-upgrade-corpus): this program upgrades
# each, everything that was in it is there, and some are used on.  UPGRADES='05 12-killed' takes some only.
IN_MEMORY=1
. "$(dirname "$0")/lib.sh"
need jq curl sqlite3 xz
CORPUS=$HERE/../upgrade

# The schema, one line per object, without what a migration may write differently: spaces.
schema() {
    sqlite3 "$1" "SELECT type, name, replace(sql, char(10), ' ') FROM sqlite_schema ORDER BY type, name" | tr -s ' '
}
platform --no-agent
det stop >"$OUT" 2>&1
schema "$DATA/det.db" >"$T/schema.new"
sqlite3 "$DATA/det.db" 'SELECT * FROM schema_versions' >"$T/versions.new"
NEWEST=$(sed -n '$s/|.*//p' "$T/versions.new")
rm -rf "$DATA"

# One line per fact, in the words of the corpus.
facts() {
    det e list -a --json >"$T/list"
    grep -v '^#' "$1" | while read -r kind id rest; do
        case $kind in
        experiment) jq -r ".[] | select(.id == $id) | \"experiment $id \(.state[6:]) \(.numTrials)\"" "$T/list" ;;
        trial)
            echo "trial $id $(curl -s -H "Authorization: Bearer $TOKEN" \
                "$(url)/api/v1/trials/metrics/training_metrics?trialIds=$id" |
                jq -r '.result.metrics[].metrics.avg_metrics.loss' | awk '{ n++; sum += $1 } END { print n, sum }')" ;;
        lines) echo "lines $id $(det e logs "$id" | grep -c '\(step .* of lr\|line .* of many\)')" ;;
        checkpoints) echo "checkpoints $id $(det e list-checkpoints "$id" --csv | tail -n +2 | grep -c .)" ;;
        user)
            if [ -n "$(login "$id" "$rest")" ]; then echo "user $id $rest"; else echo "user $id cannot log in"; fi ;;
        workspace) echo "workspace $(det -u admin workspace list --csv | grep -o "\\b$id\\b" | head -1)" ;;
        job) echo "job $(det task list -a --csv 2>/dev/null | grep -c tool)" ;;
        esac
    done
}

# What a page draws; every one of the points is between the first and the last value.
series() {
    curl -s -H "Authorization: Bearer $TOKEN" \
        "$(url)/api/v1/det/series?format=json&trials=4&metrics=training.loss&points=100" >"$T/series" &&
        jq -e '[.. | numbers] | max >= 1100' "$T/series"
}

# Their checkpoints were below a temporary directory.
echo 'checkpoint_storage_roots: [/tmp]' >"$T/master.yaml"

folder added <<'END'
#!/bin/sh
det report --steps 1 loss=1
echo from the new program
END

# Uses what it found: goes on, again, from the start, and away.
use() {
    ok "$1: an experiment that was paused goes on" det e activate 4
    soon "$1: ... to its end" is_state COMPLETED 4
    ok "$1: it is continued" det e continue 4 -f
    ok "$1: it is forked" det e create --fork 4 --config 'entrypoint=echo forked' -f
    ok "$1: a new experiment runs" create added -f
    says 'from the new program'
    ok "$1: an experiment is deleted" det e delete 2 --yes
    soon "$1: ... and is gone" sh -c '! det e describe 2'
}

upgrade() {
    mkdir -p "$DATA"
    tar -xJf "$CORPUS/schema-$1.tar.xz" -C "$DATA" --no-same-owner
    want=$CORPUS/schema-$1.txt
    # The killed trial starts again at once; all others are read before they are used.
    case $1 in
    05 | *-killed) platform --slots 2 --config "$T/master.yaml" ;;
    *) platform --no-agent --config "$T/master.yaml" ;;
    esac
    TOKEN=$(login)
    grep -v '^#' "$want" | sed 's/ACTIVE/COMPLETED/' >"$T/want"
    ! grep -q ACTIVE "$want" || soon "$1: the trial that was running runs again" is_state COMPLETED 6
    facts "$want" >"$T/got" 2>&1
    same "$1: everything is there" "$(cat "$T/want")" "$(cat "$T/got")"
    ok "$1: and drawn" series
    case $1 in
    05 | *-killed) use "$1" ;;
    esac
    ok "$1: it stops" det stop
    same "$1: the database is whole" ok "$(sqlite3 "$DATA/det.db" 'PRAGMA integrity_check')"
    schema "$DATA/det.db" >"$T/schema.old"
    ok "$1: its schema is that of a new one" diff "$T/schema.new" "$T/schema.old"
    same "$1: ... of the same number" "$(cat "$T/versions.new")" "$(sqlite3 "$DATA/det.db" 'SELECT * FROM schema_versions')"
    same "$1: the first workspace and project, and the whole cluster, are the administrator's" '1 1 1' \
        "$(sqlite3 -separator ' ' "$DATA/det.db" 'SELECT w.owner_id, p.owner_id, r.role_id FROM workspaces w, projects p,
            role_assignments r WHERE w.id = 1 AND p.id = 1 AND r.user_id = 1 AND r.workspace_id = 0')"
    number=${1%-killed}
    [ "$number" = "$NEWEST" ] ||
        same "$1: a copy for the earlier program is kept" "ok ${number#0}" "$(sqlite3 "$DATA/det.db.schema-$number" \
            'PRAGMA integrity_check; SELECT MAX(version) FROM schema_versions' | tr '\n' ' ' | sed 's/ $//')"
    rm -rf "$DATA"
}

for NAME in ${UPGRADES:-$(cd "$CORPUS" && ls schema-*.tar.xz | sed 's/schema-//; s/\.tar\.xz//')}; do
    upgrade "$NAME"
done

# An earlier program on the data of a later one.
platform --no-agent
det stop >"$OUT" 2>&1
sqlite3 "$DATA/det.db" "INSERT INTO schema_versions VALUES (999, 'of a later program')"
fails 5 'data of a newer program are refused' det serve --background --port 0
says 'was written by a newer det (its schema is number 999'
says 'use a newer det, or go back to the copy'
