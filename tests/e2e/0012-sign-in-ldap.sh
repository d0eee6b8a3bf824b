# SPDX-License-Identifier: Apache-2.0
# Passwords that a directory checks: a real slapd.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need curl jq slapd slapadd openssl
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# ---- the directory
LDAP=$(free_port)
LDAPS=$(free_port)
mkdir slapd
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -keyout key.pem -out cert.pem >/dev/null 2>&1
cat >slapd.conf <<END
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile $T/cert.pem
TLSCertificateKeyFile $T/key.pem
database mdb
suffix dc=x
directory $T/slapd
rootdn cn=root,dc=x
rootpw "service word"
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact=cn=root,dc=x write by * none
END
cat >people.ldif <<'END'
dn: dc=x
objectClass: domain
dc: x

dn: ou=people,dc=x
objectClass: organizationalUnit
ou: people

dn: uid=anna,ou=people,dc=x
objectClass: inetOrgPerson
uid: anna
cn: Anna A.
sn: A
userPassword: annas word

dn: uid=twin,ou=people,dc=x
objectClass: inetOrgPerson
uid: twin
cn: Twin One
sn: T
userPassword: word one

dn: cn=second,ou=people,dc=x
objectClass: inetOrgPerson
uid: twin
cn: second
sn: T
userPassword: word two

dn: uid=admin,ou=people,dc=x
objectClass: inetOrgPerson
uid: admin
cn: Somebody
sn: S
userPassword: somebodys word

dn: ou=groups,dc=x
objectClass: organizationalUnit
ou: groups

dn: cn=chiefs,ou=groups,dc=x
objectClass: groupOfNames
cn: chiefs
member: uid=anna,ou=people,dc=x
END
ok 'the directory is filled' slapadd -f slapd.conf -l people.ldif
slapd -f slapd.conf -h "ldap://127.0.0.1:$LDAP ldaps://127.0.0.1:$LDAPS" -d 0 >slapd.log 2>&1 &
SLAPD=$!
until_true python3 -c "import socket; socket.create_connection(('127.0.0.1', $LDAP))"

printf 'service word\n' >service
config() { # URL MORE
    cat >master.yaml <<END
ldap:
  enabled: true
  url: $1
  bind_dn: cn=root,dc=x
  bind_password_file: $T/service
  user_base: ou=people,dc=x
  group_base: ou=groups,dc=x
  timeout: 2s
$2
END
}
try() { # NAME PASSWORD: prints the status; the sentence is in $T/body
    jq -n --arg u "$1" --arg p "$2" '{username: $u, password: $p}' |
        curl -s -o "$T/body" -w '%{http_code}' "$(url)/api/v1/auth/login" -d @-
}
users() { curl -s -H "Authorization: Bearer $(login admin)" "$(url)/api/v1/users" | jq -c '[.users[] | [.username, .remote, .admin]]'; }
LOCAL='[["admin",false,true],["determined",false,false]]'
ANNA='[["admin",false,true],["determined",false,false],["anna",true,true]]'

config "ldap://127.0.0.1:$LDAP" '  admin_group: chiefs'
platform --config master.yaml
same 'an unknown person gets no account if none may be made' 403 "$(try anna 'annas word')"
ok '... with a sentence' grep -q "there is no user 'anna' on this master" "$T/body"
same 'nobody was added' "$LOCAL" "$(users)"
det stop >/dev/null 2>&1
config "ldap://127.0.0.1:$LDAP" '  admin_group: chiefs
  auto_provision_users: true'
platform --config master.yaml
for row in 'anna|' 'anna|wrong' 'anna|annas word ' 'nobody|x' '*|annas word' 'an*|annas word' 'anna)(uid=*|annas word' 'twin|word one' 'twin|word two'; do
    same "'${row%%|*}' with '${row#*|}' is refused" 401 "$(try "${row%%|*}" "${row#*|}")"
    ok '... with one sentence for all' grep -q '"invalid credentials"' "$T/body"
done
same 'nobody was added' "$LOCAL" "$(users)"
same 'the right password opens a session' 200 "$(try anna 'annas word')"
same 'the name to display comes from the directory' 'Anna A.' "$(jq -r .user.displayName "$T/body")"
same 'she is remote, and her group makes her an administrator' "$ANNA" "$(users)"
same 'local users come first' 401 "$(try admin 'somebodys word')"
same '... with their own passwords' 200 "$(try admin '')"
ok 'the command line logs in' det user login anna -p 'annas word'
says 'Logged in as anna'
fails 3 'but not with a wrong password' det user login anna -p 'wrong'
fails 3 'nor with a blank one' det user login anna -p ''
same 'nor with what is called a hash' 401 "$(curl -s -o /dev/null -w '%{http_code}' "$(url)/api/v1/auth/login" -d '{"username":"anna","password":"annas word","isHashed":true}')"
ok 'no password is in the log' sh -c "! grep -q 'annas word\|service word' '$DATA/master.log'"
kill $SLAPD
wait $SLAPD 2>/dev/null
same 'a directory that is down is named' 503 "$(try anna 'annas word')"
ok '... with a sentence' grep -q 'the directory at' "$T/body"
same 'local users sign in meanwhile' 200 "$(try determined '')"
same 'nobody was changed' "$ANNA" "$(users)"
det stop >/dev/null 2>&1

# ---- TLS
slapd -f slapd.conf -h "ldap://127.0.0.1:$LDAP ldaps://127.0.0.1:$LDAPS" -d 0 >slapd.log 2>&1 &
SLAPD=$!
until_true python3 -c "import socket; socket.create_connection(('127.0.0.1', $LDAPS))"
for row in "ldaps://127.0.0.1:$LDAPS|  ca_file: $T/cert.pem|200" "ldaps://127.0.0.1:$LDAPS||503" \
    "ldap://127.0.0.1:$LDAP|  {start_tls: true}|200"; do
    rest=${row#*|}
    more=${rest%%|*}
    [ "$more" != '  {start_tls: true}' ] || more="  start_tls: true
  ca_file: $T/cert.pem"
    config "${row%%|*}" "$more"
    platform --config master.yaml
    same "${row%%|*} with '$(echo "$more" | tr '\n' ' ')' answers ${rest#*|}" "${rest#*|}" "$(try anna 'annas word')"
    det stop >/dev/null 2>&1
done
printf 'another word\n' >service
config "ldap://127.0.0.1:$LDAP" ''
platform --config master.yaml
same "a wrong password of the service is the master's fault" 503 "$(try anna 'annas word')"
det stop >/dev/null 2>&1
kill $SLAPD

# ---- configuration
refuse() { # SENTENCE URL MORE TEXT
    config "$2" "$3"
    fails 2 "$1 is refused" det config check -k master master.yaml
    says "$4"
}
refuse 'a directory without TLS elsewhere' ldap://dir.example '' 'passwords would travel unencrypted'
refuse 'another scheme' http://dir.example '' 'expected ldaps://HOST'
refuse 'a filter without the name' ldaps://dir.example '  user_filter: (uid=anna)' 'ldap.user_filter'
refuse 'an unknown key' ldaps://dir.example '  bind_word: x' 'bind_word'
config ldap://dir.example '  allow_cleartext: true'
ok 'unless it is asked for by name' det config check -k master master.yaml
