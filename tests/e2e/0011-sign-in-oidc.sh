# SPDX-License-Identifier: Apache-2.0
# Sign-in through an OpenID Connect provider: a real one, one that lies, and one that is down.
. "$(dirname "$0")/lib.sh"
need curl jq sqlite3
need_signin
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# ---- a real provider
REAL=$(free_port)
"${SIGNIN_PYTHON%/*}/oidc-provider-mock" --port "$REAL" --require-nonce true \
    --user-claims '{"sub": "s-anna", "preferred_username": "anna", "name": "Anna A.", "groups": ["ml"]}' \
    --user-claims '{"sub": "s-admin", "preferred_username": "admin"}' \
    --user-claims '{"sub": "s-thief", "preferred_username": "anna"}' \
    --user-claims '{"sub": "s-odd", "preferred_username": "a b"}' \
    --user-claims '{"sub": "s-mail", "email": "mia@example.org", "email_verified": true}' >"$T/real.log" 2>&1 &
PROVIDERS=$!
until_true curl -sf "http://127.0.0.1:$REAL/.well-known/openid-configuration"
PORT=$(free_port)
US=http://127.0.0.1:$PORT
printf 'a secret: %%&+\n' >secret
config() { # ISSUER AUTO_PROVISION
    cat >master.yaml <<END
oidc:
  enabled: true
  provider: Rock Okta
  idp_sso_url: $1
  idp_recipient_url: $US
  client_id: det
  client_secret_file: $T/secret
  admin_group: chiefs
  auto_provision_users: $2
END
}
config "http://127.0.0.1:$REAL" true
platform --config master.yaml
# page JAR ARGS...: one call of a browser; prints the status.  `to`: where it is sent next.
page() {
    jar=$1
    shift
    curl -s -b "$jar" -c "$jar" -H 'Accept: text/html' -D "$T/head" -o "$T/page" -w '%{http_code}' "$@"
}
to() { sed -n 's/^[Ll]ocation: \([^\r]*\).*/\1/p' "$T/head" | tr -d '\r'; }
users() { curl -s -H "Authorization: Bearer $(login admin)" "$US/api/v1/users" | jq -c '[.users[] | [.username, .remote, .admin]]'; }
me() { curl -s -b "$1" "$US/api/v1/me" | jq -r '.user.username // "nobody"'; }
# real_sign_in JAR SUBJECT: as a browser does it; leaves the address of the callback in $BACK.
real_sign_in() {
    page "$1" "$US/oidc/login?return=/det/experiments" >/dev/null
    page "$1" -d "sub=$2" "$(to)" >/dev/null
    BACK=$(to)
    page "$1" "$BACK"
}
same 'clients learn of the provider' "[{\"name\":\"Rock Okta\",\"sso_url\":\"$US/oidc/login\",\"type\":\"OIDC\",\"always_redirect\":false}]" "$(curl -s "$US/info" | jq -c .sso_providers)"
same 'a sign-in begins at the provider' 302 "$(page anna "$US/oidc/login")"
ok '... with PKCE, state and nonce' sh -c "echo '$(to)' | grep 'code_challenge=.*' | grep 'code_challenge_method=S256' | grep 'state=' | grep -q 'nonce='"
same 'it ends where it was to end' '302 /det/experiments' "$(real_sign_in anna s-anna; printf ' '; to)"
same 'the browser has a session' anna "$(me anna)"
same 'the user is new and remote' '[["admin",false,true],["determined",false,false],["anna",true,false]]' "$(users)"
real_sign_in anna s-anna >/dev/null
same 'a second time is the same user' '[["admin",false,true],["determined",false,false],["anna",true,false]]' "$(users)"
same 'the same answer a second time is refused' 401 "$(page anna "$BACK")"
same 'an answer in another browser is refused' 401 "$(page other "$BACK")"
ok '... with a sentence' grep -q 'did not begin a sign-in here' "$T/page"
same 'anna has no password here' 401 "$(curl -s -o "$T/page" -w '%{http_code}' "$US/api/v1/auth/login" -d '{"username":"anna","password":""}')"
same 'an account of another person with her name is not hers' 403 "$(real_sign_in thief s-thief)"
ok '... with a sentence' grep -q 'belongs to another account of Rock Okta' "$T/page"
same "a local user's name opens nothing" 403 "$(real_sign_in thief s-admin)"
ok '... with a sentence' grep -q 'has a password on this master' "$T/page"
same 'a name that no user can have is refused' 403 "$(real_sign_in thief s-odd)"
same 'none of them got a session' nobody "$(me thief)"
same 'without a user name the address serves' '302 mia@example.org' "$(real_sign_in mia s-mail; printf ' '; me mia)"
for target in https://evil.example //evil.example '/\evil.example' evil '/%09/evil.example' 'javascript:alert(1)'; do
    same "a return to $target is refused" 400 "$(page other "$US/oidc/login?return=$target")"
done
det stop >/dev/null 2>&1

# ---- a provider that lies
echo '{}' >lies
"$SIGNIN_PYTHON" "$HERE/signin/lying_provider.py" port lies >liar.log 2>&1 &
PROVIDERS="$PROVIDERS $!"
until_true test -s port
LIAR=http://127.0.0.1:$(cat port)
config "$LIAR" false
sqlite3 "$DATA/det.db" "INSERT INTO user_groups (id, name) VALUES (71, 'ml'), (72, 'ops'), (73, 'given here')"
platform --config master.yaml
AFTER=$(users)
sign_in() { # JAR LIES: prints the status of the callback
    echo "$2" >lies
    page "$1" "$US/oidc/login?return=/det/" >/dev/null
    page "$1" "$(to)" >/dev/null
    BACK=$(to)
    page "$1" "$BACK"
}
same 'an unknown person gets no account if none may be made' 403 "$(sign_in liam '{}')"
ok '... with a sentence' grep -q "there is no user &#39;liam&#39; on this master" "$T/page"
curl -s -o /dev/null -H "Authorization: Bearer $(login admin)" "$US/api/v1/users" -d '{"user":{"username":"liam","remote":true,"active":true}}'
AFTER=$(users)
same 'a remote user who was added signs in' '302 liam' "$(sign_in liam '{}'; printf ' '; me liam)"
groups() { sqlite3 "$DATA/det.db" "SELECT group_concat(name) FROM (SELECT name FROM group_members m JOIN user_groups g ON g.id = m.group_id JOIN users u ON u.id = m.user_id WHERE username = 'liam' ORDER BY name)"; }
same 'his groups become memberships' ml "$(groups)"
sqlite3 "$DATA/det.db" "INSERT INTO group_members (group_id, user_id) SELECT 73, id FROM users WHERE username = 'liam'"
sign_in liam '{"claims": {"groups": ["ops", "unknown"]}}' >/dev/null
same 'new ones replace them; those given here stay' 'given here,ops' "$(groups)"
sign_in liam '{"claims": {"groups": []}}' >/dev/null
same 'without groups he has only those' 'given here' "$(groups)"
same 'ES256 serves, too' 302 "$(sign_in liam '{"key": "ec"}')"
same 'the group of administrators decides' 302 "$(sign_in liam '{"claims": {"groups": ["ml", "chiefs"]}}')"
same '... for him' true "$(users | jq '.[] | select(.[0] == "liam")[2]')"
same 'who leaves it is none' 302 "$(sign_in liam '{}')"
same '... for him' "$AFTER" "$(users)"
same 'claims may come from userinfo' 302 "$(sign_in liam '{"claims": {"preferred_username": null, "groups": null}, "userinfo": {"sub": "subject-1", "preferred_username": "liam"}}')"
lie() { # SENTENCE STATUS LIES TEXT
    same "$1 is refused" "$2" "$(sign_in deceived "$3")"
    ok "... with a sentence" grep -q "$4" "$T/page"
    same '... and without a session' nobody "$(me deceived)"
}
lie 'an unsigned token' 401 '{"key": "none"}' 'is not signed'
lie 'a token signed with the public key as a secret' 401 '{"key": "hmac"}' 'HS256'
lie 'a token that hides its algorithm' 401 '{"key": "rsa", "header": {"alg": "none"}}' 'is not signed'
lie 'a signature of another key' 401 '{"key": "new", "header": {"kid": "rsa"}}' 'wrong signature'
lie 'a key that is not published' 401 '{"key": "new"}' 'does not publish'
lie 'a token of another issuer' 401 '{"claims": {"iss": "https://evil.example"}}' 'was issued by'
lie 'a token for another client' 401 '{"claims": {"aud": "other"}}' 'aud'
lie 'a wrong nonce' 401 '{"claims": {"nonce": "another"}}' 'nonce'
lie 'an expired token' 401 '{"claims": {"exp": 1000}}' 'exp'
lie 'a token of yesterday' 401 '{"claims": {"iat": 1000}}' 'iat'
lie 'an access token that does not belong to it' 401 '{"claims": {"at_hash": "AAAA"}}' 'at_hash'
lie 'userinfo about somebody else' 401 '{"claims": {"preferred_username": null}, "userinfo": {"sub": "other", "preferred_username": "liam"}}' 'another person'
lie 'a state that is not ours' 401 '{"callback": {"state": "forged"}}' 'not the one that this browser began'
lie 'an answer of another provider' 401 '{"callback": {"iss": "https://evil.example"}}' 'came back from'
lie 'a refusal' 401 '{"callback": {"error": "access_denied", "code": null}}' 'access_denied'
lie 'a code that nobody gave' 401 '{"callback": {"code": "guessed"}}' 'invalid_grant'
lie 'an answer without a code' 400 '{"callback": {"code": null}}' 'sent no code'
lie 'a failing token endpoint' 503 '{"token_status": 500}' 'status 500'
lie 'a script in a message' 401 '{"callback": {"error": "<script>", "code": null}}' '&#60;script&#62;'
BEFORE_KEYS=$(curl -s "$LIAR/fetched" | jq .keys)
for _ in 1 2 3 4 5; do sign_in deceived '{"key": "new"}' >/dev/null; done
same 'forged keys make the master fetch the keys again at most once' true "$(curl -s "$LIAR/fetched" | jq ".keys <= $BEFORE_KEYS + 1")"
same 'nobody was changed' "$AFTER" "$(users)"
same 'a program gets JSON with the same status' 401 "$(curl -s -o "$T/page" -w '%{http_code}' "$US/oidc/callback?code=x&state=y")"
ok '... and the sentence' sh -c "jq -e '.error.error | test(\"did not begin\")' '$T/page'"
ok 'no secret is shown' sh -c "! curl -s -H 'Authorization: Bearer $(login admin)' '$US/api/v1/master/config' | grep -q 'a secret'"
det stop >/dev/null 2>&1

# ---- lies in the discovery document, and no provider at all
config "$LIAR" false
for row in '{"issuer": "https://evil.example"}|401|says that it is' '{"token_endpoint": "file:///etc/passwd"}|401|token_endpoint' '{"jwks_uri": null}|401|jwks_uri'; do
    echo "{\"discovery\": ${row%%|*}}" >lies
    platform --config master.yaml # it keeps a good document for an hour
    rest=${row#*|}
    same "the discovery document with ${row%%|*} is refused" "${rest%%|*}" "$(page other "$US/oidc/login")"
    ok '... with a sentence' grep -q "${rest#*|}" "$T/page"
    det stop >/dev/null 2>&1
done
config "http://127.0.0.1:$(free_port)" false
platform --config master.yaml
same 'a provider that is down is named' 503 "$(page other "$US/oidc/login")"
ok '... with a sentence' grep -q 'Rock Okta does not answer' "$T/page"
same 'passwords serve meanwhile' 200 "$(curl -s -o /dev/null -w '%{http_code}' "$US/api/v1/auth/login" -d '{"username":"determined","password":""}')"
det stop >/dev/null 2>&1

# ---- configuration
refuse() { # SENTENCE OLD NEW TEXT
    config https://idp.example true
    sed -i "s|$2|$3|" master.yaml
    fails 2 "$1 is refused" det config check -k master master.yaml
    says "$4"
}
refuse 'a provider without TLS elsewhere' https://idp.example http://idp.example 'expected https://'
refuse 'a missing client id' 'client_id: det' 'client_id: ""' 'oidc.client_id'
refuse 'two secrets' 'client_id: det' 'client_id: det\n  client_secret: x' 'client_secret'
refuse 'an unknown key' 'client_id: det' 'client_ids: det' 'client_ids'
# shellcheck disable=SC2086 # two numbers
kill $PROVIDERS
