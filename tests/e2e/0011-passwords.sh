# SPDX-License-Identifier: Apache-2.0
# Passwords: the initial one, their length, failed logins in the log, and forgotten ones.
. "$(dirname "$0")/lib.sh"
need curl jq
printf 'from a file\n' >"$T/word"
chmod 600 "$T/word"
DIR=$T/d
login_as() { curl -s -o "$T/body" -w '%{http_code}' -X POST "$(url "$DIR")/api/v1/auth/login" -d "{\"username\":\"$1\",\"password\":\"$2\"}"; }

fails 2 'a short initial password is refused' sh -c "echo short | det serve --port 0 --data-dir '$DIR' --initial-password-file -"
says 'at least 8 characters'
fails 2 'so is an empty file' det serve --port 0 --data-dir "$DIR" --initial-password-file /dev/null
says 'is not a password'
fails 2 'and a password given twice' det serve --port 0 --data-dir "$DIR" --initial-password-file "$T/word" --initial-password 'on the line'
says 'exclude each other'

# A master that cannot listen has changed nothing.
det serve --background --port 0 --no-agent --data-dir "$T/first" >/dev/null 2>&1
BUSY=$(url "$T/first" | sed 's/.*://')
fails 5 'a port in use is named' det serve --port "$BUSY" --no-agent --data-dir "$DIR" --initial-password-file "$T/word"
says 'in use'
ok 'and the next start is an ordinary one' det serve --background --port 0 --no-agent --data-dir "$DIR"
same 'with blank passwords' 200 "$(login_as admin '')"
same 'which the sign-in page is told' '["determined","admin"]' "$(curl -s "$(url "$DIR")/api/v1/master" | jq -c .usersWithoutPassword)"
ok 'it stops' det stop --data-dir "$DIR"

ok 'a password from a file is set' det serve --background --port 0 --no-agent --data-dir "$DIR" --initial-password-file "$T/word"
same 'the blank one opens no more' 401 "$(login_as admin '')"
same 'the new one does' 200 "$(login_as admin 'from a file')"
same 'the sign-in page has no hint' '[]' "$(curl -s "$(url "$DIR")/api/v1/master" | jq -c .usersWithoutPassword)"
same 'an unknown name is refused like a wrong password' 401 "$(login_as 'eve\nforged line' 'wrong-password-1')"
ok 'both are in the log' grep -q "login as 'admin' from 127.0.0.1 failed" "$DIR/master.log"
ok 'on one line' grep -q "login as 'eve.*forged line' from" "$DIR/master.log"
ok 'without the password' sh -c "! grep -q 'wrong-password-1' '$DIR/master.log'"
ok 'it stops' det stop --data-dir "$DIR"
fails 5 'a password that would be ignored is refused' det serve --port 0 --no-agent --data-dir "$DIR" --initial-password-file "$T/word"
says 'every user of this master has one'
says 'det user reset-password'

# On the command line it is taken, but not shown.
ok 'a password on the command line works' det serve --background --port 0 --no-agent --data-dir "$T/line" --initial-password 'seen by all'
PID=$(jq .pid "$T/line/master.json")
ok 'and ps does not show it' sh -c "! tr '\0' ' ' </proc/$PID/cmdline | grep -q 'seen by all'"
det stop --data-dir "$T/line" >/dev/null 2>&1
det stop --data-dir "$T/first" >/dev/null 2>&1

# A forgotten password.
det serve --background --port 0 --no-agent --data-dir "$DIR" >/dev/null 2>&1
reset() { printf '%s\n' "$2" | det user reset-password "$1" --data-dir "$DIR"; }
fails 2 'a short one is refused' reset admin short
ok 'the owner of the data directory sets a new one' reset admin 'another word'
says 'Set the password of admin'
same 'the old one opens no more' 401 "$(login_as admin 'from a file')"
same 'the new one does' 200 "$(login_as admin 'another word')"
same 'no ticket is left' 0 "$(find "$DIR" -name 'reset-*' | wc -l)"
fails 4 'an unknown user is named' reset nobody 'another word'
says "'nobody' not found"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$T"
    fails 3 'other users of the machine cannot' sh -c "echo 'another word' | setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent '$DET' user reset-password admin --data-dir '$DIR'"
fi
det stop --data-dir "$DIR" >/dev/null 2>&1
det serve --background --tls --port 0 --no-agent --data-dir "$DIR" >/dev/null 2>&1
ok 'over TLS it knows the master by its data directory' reset admin 'a third word'
det stop --data-dir "$DIR" >/dev/null 2>&1
fails 4 'it needs a master that runs' reset admin 'another word'
says 'no master runs in'
