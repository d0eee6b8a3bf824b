# SPDX-License-Identifier: Apache-2.0
# `det user login --sso` and `--device`: this script does in place of the browser what the pages do.
. "$(dirname "$0")/lib.sh"
need curl jq
platform
det -u admin user create anna --password 'annas word' >/dev/null
ANNA=$(login anna 'annas word')
as_anna() { # METHOD PATH BODY: prints the status
    curl -s -o "$T/body" -w '%{http_code}' -X "$1" -H "Authorization: Bearer $ANNA" "$(url)$2" ${3+-d "$3"}
}
# begin ARGS...: starts `det user login ARGS...`; $LOGIN is its number, its output in $T/login
begin() {
    : >"$T/login"
    det user login "$@" >"$T/login" 2>&1 &
    LOGIN=$!
}
ended() { # CODE: waits for it
    wait $LOGIN
    same "... and the command ends with $1" "$1" $?
    cp "$T/login" "$OUT"
}

# ---- a browser on any computer
code() { sed -n 's/.* enter the code \([A-Z-]*\)$/\1/p' "$T/login"; }
begin --device
soon 'the command prints a code' sh -c "grep -q 'enter the code [B-Z]*-[B-Z]*$' '$T/login'"
same 'the page shows who asks' 200 "$(as_anna GET "/api/v1/det/signin/devices/$(code | tr 'A-Z-' 'a-z ' | sed 's/ /%20/')")"
same '... by the name of the computer' "$(hostname)" "$(jq -r .host "$T/body")"
same '... and its address' 127.0.0.1 "$(jq -r .address "$T/body")"
same 'but not without a session' 401 "$(curl -s -o /dev/null -w '%{http_code}' "$(url)/api/v1/det/signin/devices/$(code)")"
CODE=$(code)
same 'she allows it' 200 "$(as_anna POST "/api/v1/det/signin/devices/$CODE" '{"isAllowed": true}')"
ended 0
says 'Logged in as anna'
ok 'later commands are hers' det user whoami
says 'anna'
same 'a code is decided once' 404 "$(as_anna POST "/api/v1/det/signin/devices/$CODE" '{"isAllowed": true}')"
same 'an unknown code is not found' 404 "$(as_anna GET /api/v1/det/signin/devices/BBBB-BBBB)"
begin --device
soon 'another command waits' sh -c "grep -q 'enter the code' '$T/login'"
same 'she refuses it' 200 "$(as_anna POST "/api/v1/det/signin/devices/$(code)" '{"isAllowed": false}')"
ended 3
says 'the sign-in was refused in the browser'

# ---- a browser on this computer
part() { sed -n "s/.*[?&]$1=\([^&]*\).*/\1/p" "$T/login" | head -1; }
det user logout >/dev/null
begin --sso
soon 'the command prints an address' sh -c "grep -q '/det/cli-login?port=' '$T/login'"
HERE_PORT=$(part port)
back() { curl -s -o "$T/body" -w '%{http_code}' "http://127.0.0.1:$HERE_PORT$1"; }
same 'the page gets a code for it' 200 "$(as_anna POST /api/v1/det/signin/codes "{\"challenge\": \"$(part challenge)\"}")"
CODE=$(jq -r .code "$T/body")
same 'not without a session' 401 "$(curl -s -o /dev/null -w '%{http_code}' "$(url)/api/v1/det/signin/codes" -d "{\"challenge\": \"$(part challenge)\"}")"
same 'other calls of its port are refused' '404 400 400' "$(back /favicon.ico) $(back "/?code=$CODE&state=guessed") $(back "/?state=$(part state)")"
same 'the browser brings the code' 200 "$(back "/?code=$CODE&state=$(part state)")"
ended 0
says 'Logged in as anna'
ok 'later commands are hers' det user whoami
says 'anna'
redeem() { curl -s -o "$T/body" -w '%{http_code}' "$(url)/api/v1/det/signin/redeem" -d "{\"code\": \"$1\", \"verifier\": \"$2\"}"; }
VERIFIER=0123456789012345678901234567890123456789abc
same 'a code works once' 401 "$(redeem "$CODE" $VERIFIER)"
CHALLENGE=$(printf %s $VERIFIER | openssl dgst -sha256 -binary | basenc --base64url | tr -d =)
as_anna POST /api/v1/det/signin/codes "{\"challenge\": \"$CHALLENGE\"}" >/dev/null
CODE=$(jq -r .code "$T/body")
same 'who stole the code cannot use it' 401 "$(redeem "$CODE" "${VERIFIER}x")"
same '... and nobody can afterwards' 401 "$(redeem "$CODE" $VERIFIER)"
same 'a challenge that is none is refused' 400 "$(as_anna POST /api/v1/det/signin/codes '{"challenge": "x"}')"
same 'a short verifier is refused' 400 "$(redeem "$CODE" x)"

# ---- arguments
begin --sso
soon 'a third command waits' sh -c "grep -q '/det/cli-login?port=' '$T/login'"
HERE_PORT=$(part port)
same 'a refusal in the browser' 200 "$(back "/?error=refused&state=$(part state)")"
ended 3
says 'the sign-in was refused'
fails 4 'a provider that the master does not have is refused' det user login --sso=Okta
says "no identity provider 'Okta'"
fails 2 'both forms at once are refused' det user login --sso --device
fails 2 'a name is refused' det user login anna --device
says 'the page in the browser decides who signs in'

# ---- a task's token must not outlive its task
printf '#!/bin/sh\necho "token $DET_USER_TOKEN"\nuntil [ -e "$HOME/end" ]; do sleep 0.05; done\n' | folder mine
create mine >/dev/null
soon 'a task runs' sh -c 'det t logs 1 | grep -q "|| token "'
ANNA=$(det t logs 1 | sed -n 's/.*|| token //p')
same 'its token opens what its user may' 200 "$(as_anna GET /api/v1/experiments)"
same '... but no other session' 403 "$(as_anna POST /api/v1/det/signin/codes "{\"challenge\": \"$CHALLENGE\"}")"
touch "$HOME/end"
det e wait 1 >/dev/null
