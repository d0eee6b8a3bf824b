# SPDX-License-Identifier: Apache-2.0
# TLS: the certificate that a master makes for itself, files of an administrator, what clients
# trust, and what is refused.
. "$(dirname "$0")/lib.sh"
need openssl curl python3

# Another user's home: nothing there knows this machine's master.
elsewhere() { env HOME="$T/else" XDG_DATA_HOME="$T/else/data" "$@"; }
mkdir -p "$T/else"
# authority NAME: a certificate that signs others
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
        -keyout "$1.key" -out "$1.crt" 2>/dev/null
}
# signed NAME AUTHORITY SAN [DATES]: a certificate for SAN
signed() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -keyout "$1.key" -out "$1.csr" 2>/dev/null
    printf 'subjectAltName=%s\n' "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -extfile "$1.ext" \
        -days "${4:-30}" -out "$1.crt" 2>/dev/null
}
fingerprint() { openssl x509 -in "$1" -noout -fingerprint -sha256 | cut -d= -f2; }
served() { echo | openssl s_client -connect "127.0.0.1:$1" 2>/dev/null | openssl x509 -noout -fingerprint -sha256 | cut -d= -f2; }
port() { url "${1:-$DATA}" | sed 's/.*://'; }

# ---- a certificate of its own

platform --host 0.0.0.0 --initial-password 'long enough' --slots 1
export DET_USER=admin DET_PASS='long enough'
same 'a master on a network address speaks TLS' https "$(url | cut -d: -f1)"
ok 'its key is private' test "$(stat -c %a "$DATA/tls/own.key")" = 600
F=$(fingerprint "$DATA/tls/own.crt")
ok 'it prints the fingerprint of its certificate' grep -qF "SHA-256 fingerprint $F" "$DATA/master.log"
ok 'a command on its machine prints it later' det master certificate
says "$F"
says "$DATA/tls/master.crt"
ok 'for a script, too' sh -c "det master certificate --json | grep -qF '$F'"
ok 'for another user of the machine' elsewhere det master certificate --data-dir "$DATA"
says "$F"
fails 4 'where there is none, it says so' det master certificate --data-dir "$T/else"
says 'no certificate'
ok 'commands of the same user know it' det master info
says "$(url)"
says 'certificate'
fails 1 'nobody is warned of a certificate that is valid for years' grep -q 'the certificate .* expires' "$DATA/master.log"
ok 'also by its address' det -m "$(url)" master info
ok 'other programs know it by its file' curl -sf --cacert "$DATA/tls/master.crt" "$(url)/info"
ok 'also Python, which is strict' python3 -c "
import ssl, urllib.request
context = ssl.create_default_context(cafile='$DATA/tls/master.crt')
print(urllib.request.urlopen('$(url)/info', context=context).status)"
says 200
fails 35 'TLS 1.1 is too old' curl -sk --tls-max 1.1 "$(url)/info"
ok 'TLS 1.2 is not' curl -skf --tls-max 1.2 "$(url)/info"
ok 'who comes back resumes the session' sh -c "openssl s_client -connect 127.0.0.1:$(port) -tls1_2 -reconnect </dev/null 2>/dev/null | grep -q '^Reused'"
curl -sk -D head -o /dev/null -X POST "$(url)/api/v1/auth/login" -d '{"username":"admin","password":"long enough"}'
ok 'a cookie is for TLS alone' grep -qi '^set-cookie:.*; Secure' head
ok 'nobody guesses types' grep -qi '^x-content-type-options: nosniff' head
fails 1 'a browser is not told to insist on a certificate that it does not know' grep -qi '^strict-transport' head

fails 10 'a stranger is refused' elsewhere det -m "$(url)" master info
says 'no authority that this machine trusts vouches for its certificate'
says "$F"
says "det trust $(url)"
says_not 'is a master running'
fails 2 'without a terminal nobody is asked' elsewhere det trust "$(url)"
says '--fingerprint'
fails 3 'another fingerprint is not trusted' elsewhere det trust "$(url)" --fingerprint "$(echo "$F" | tr 0-9A-F 1-9A-F0)"
fails 2 'nor is what is none' elsewhere det trust "$(url)" --fingerprint ab:cd
ok 'and nothing was stored' test ! -e "$T/else/.config/determined/known_masters"
ok 'the right one is trusted' elsewhere det trust "$(url)" --fingerprint "sha256:$(echo "$F" | tr -d : | tr A-F a-f)"
ok 'from then on' elsewhere det -m "$(url)" master info
ok 'in a file of the user alone' test "$(stat -c %a "$T/else/.config/determined/known_masters")" = 600
ok 'anybody may be trusted' env DET_MASTER_CERT_FILE=noverify HOME="$T/third" det -m "$(url)" master info
DET_MASTER_CERT_FILE=$T/nowhere fails 4 'a file that is not there is named' det -m "$(url)" master info
says "'$T/nowhere'"
echo hello >nonsense
DET_MASTER_CERT_FILE=$T/nonsense fails 2 'so is one that is none' det -m "$(url)" master info
says "'$T/nonsense' is not a certificate in PEM form"
DET_MASTER_CERT_FILE=$DATA/tls/master.crt DET_MASTER_CERT_NAME=master.example.com \
    fails 10 'a name that is expected must be there' elsewhere det -m "$(url)" master info
says "not for 'master.example.com' but for"
fails 10 'http:// to it is no way in' elsewhere det -m "http://127.0.0.1:$(port)" master info
says 'if it speaks TLS, name it with https://'

# ---- at a terminal

tty() { elsewhere python3 "$HERE/on_terminal.py" "$@"; }
fails 3 'at a terminal the fingerprint is shown, and no is no' \
    tty 'expect=Trust it?' 'send=n\r' -- det trust "$(url)"
says "$F"
elsewhere det trust "$(url)" --forget 2>/dev/null
fails 3 'the first call asks' tty 'expect=Trust it?' 'send=n\r' -- det -m "$(url)" master info
says "$F"
ok 'a no is not stored' sh -c "! grep -q . '$T/else/.config/determined/known_masters'"
ok 'a yes is' tty 'expect=Trust it?' 'send=y\r' -- det -m "$(url)" master info
says 'cluster id'
ok 'and is not asked again' elsewhere det -m "$(url)" master info

# ---- the whole way of an experiment

folder whole <<'END'
#!/bin/sh
echo "tls: $DET_USE_TLS"
case $DET_MASTER in https://*) echo 'by https' ;; esac
[ -r "$DET_MASTER_CERT_FILE" ] && echo 'has the certificate'
det report --group validation --steps 1 loss=0.25
det -m "$DET_MASTER" master info | grep -q cluster && echo 'reaches the master'
END
ok 'an experiment runs' create whole -f
says 'tls: true'
says 'by https'
says 'has the certificate'
says 'reaches the master'
soon 'and ends well' is_state COMPLETED "$ID"
ok 'its metrics arrived' sh -c "det e metrics $ID --csv | grep -q 0.25"

# ---- it stays the same, and a changed one is refused

PORT=$(port)
ADDRESS=$(url)
det stop >/dev/null 2>&1
platform --host 0.0.0.0 --slots 1
same 'a master that comes back is the same' "$F" "$(served "$PORT")"
det stop >/dev/null 2>&1
rm "$DATA/tls/own.crt" "$DATA/tls/own.key"
platform --host 0.0.0.0 --slots 1
ok 'this machine knows a new certificate' det master info
fails 10 'others refuse it' elsewhere det -m "$ADDRESS" master info
says 'its certificate is not the expected one'
says "expected was"
says "det trust $ADDRESS"
ok 'until it is trusted' elsewhere det trust "$ADDRESS" --fingerprint "$(served "$PORT")"
ok '... again' elsewhere det -m "$ADDRESS" master info
same 'with one line for the address' 1 "$(wc -l <"$T/else/.config/determined/known_masters")"
ok 'trust may be taken back' elsewhere det trust "$ADDRESS" --forget
says 'Not trusting'
fails 4 'but only if it was given' elsewhere det trust "$ADDRESS" --forget
fails 10 'then it is a stranger' elsewhere det -m "$ADDRESS" master info
det stop >/dev/null 2>&1
unset PORT

# ---- files of an administrator

authority ours
authority theirs
signed good ours DNS:localhost,IP:127.0.0.1
signed renewed ours DNS:localhost,IP:127.0.0.1
signed other ours DNS:master.example.com
signed late ours DNS:localhost -1
refused() { # SENTENCE TEXT ARGS...
    sentence=$1
    text=$2
    shift 2
    before=$(sha256sum "$DATA"/tls/* "$DATA/secret.key")
    fails 2 "$sentence" det serve --background --port 0 "$@"
    says "$text"
    same '... and changes nothing' "$before" "$(sha256sum "$DATA"/tls/* "$DATA/secret.key")"
}
refused 'a key of another certificate is refused' 'does not belong to the certificate' --tls-cert good.crt --tls-key other.key
refused 'a certificate that has expired is refused' "'late.crt' expired on" --tls-cert late.crt --tls-key late.key
refused 'a file that is no certificate is refused' "'nonsense' is not a certificate in PEM form" --tls-cert nonsense --tls-key good.key
refused 'a file that is no key is refused' "'nonsense' is not a private key" --tls-cert good.crt --tls-key nonsense
refused 'a certificate alone is refused' 'needs both' --tls-cert good.crt
refused 'yes and no is refused' 'both switched off and asked for' --no-tls --tls-cert good.crt --tls-key good.key
fails 4 'a file that is not there is named' det serve --background --port 0 --tls-cert nowhere.crt --tls-key good.key
says "'nowhere.crt'"

signed brief ours DNS:localhost,IP:127.0.0.1 10
signed long ours DNS:localhost,IP:127.0.0.1 90
cp long.crt use.crt
cp long.key use.key
printf 'security: {tls: {cert: %s/use.crt, key: %s/use.key}}\n' "$T" "$T" >master.yaml
: >"$DATA/master.log"
platform --config master.yaml --slots 1
fails 1 'nobody is warned of one that is valid for 90 days' grep -q 'the certificate .* expires' "$DATA/master.log"
cp brief.crt use.crt
cp brief.key use.key
soon 'one that expires in ten days is warned of' grep -q "the certificate in '$T/use.crt' expires on .* in 9 days" "$DATA/master.log"
ok 'to users of the command line, too' det master info
says 'warning: the certificate of the master expires on'
det stop >/dev/null 2>&1
: >"$DATA/master.log"
platform --config master.yaml --slots 1
ok 'also at the start' grep -q "the certificate in '$T/use.crt' expires on .* in 9 days" "$DATA/master.log"
det stop >/dev/null 2>&1

cp good.crt use.crt
cp good.key use.key
chmod 644 use.key
printf 'security: {tls: {cert: %s/use.crt, key: %s/use.key}}\n' "$T" "$T" >master.yaml
platform --config master.yaml --slots 1
ok 'a key that all can read is warned of' grep -q "every user can read the private key in '$T/use.key'" "$DATA/master.log"
same 'certificate files are used on loopback, too' "$(fingerprint good.crt)" "$(served "$(port)")"
ok 'this machine knows them' det master info
curl -s --cacert ours.crt -D head -o /dev/null "https://localhost:$(port)/info"
ok 'a browser is told to insist on TLS' grep -qi '^strict-transport-security:' head
ok 'an authority in a file vouches for it' env DET_MASTER_CERT_FILE="$T/ours.crt" HOME="$T/else" det -m "https://localhost:$(port)" master info
DET_MASTER_CERT_FILE=$T/theirs.crt fails 10 'another one does not' det -m "https://localhost:$(port)" master info
says 'neither in the file of expected certificates nor signed by one in it'
cp renewed.key use.key
cp renewed.crt use.crt
is_served() { [ "$(served "$(port)")" = "$(fingerprint "$1")" ]; }
soon 'new files are used without a restart' is_served renewed.crt
ok 'the log says so' grep -q 'new connections get the new certificate' "$DATA/master.log"
ok 'commands of this machine follow' det master info
soon 'and the agent is still there' sh -c 'det agent list --csv | grep -q ",yes,"'
folder after <<'END'
#!/bin/sh
det report --steps 1 loss=1
END
ok 'an experiment runs with them' create after -f
cp late.crt use.crt
soon 'a bad file is reported' grep -q 'the new certificate is not used, the old one stays' "$DATA/master.log"
same 'and changes nothing' "$(fingerprint renewed.crt)" "$(served "$(port)")"
cp other.crt use.crt
cp other.key use.key
soon 'a certificate for another name can be served' is_served other.crt
DET_MASTER_CERT_FILE=$T/ours.crt fails 10 'but clients refuse it' det -m "https://localhost:$(port)" master info
says "not for 'localhost' but for master.example.com"
ok 'unless they expect that name' env DET_MASTER_CERT_FILE="$T/ours.crt" DET_MASTER_CERT_NAME=master.example.com \
    det -m "https://localhost:$(port)" master info
page() { curl -s -o /dev/null -w '%{http_code}' --cacert ours.crt --resolve "master.example.com:$(port):127.0.0.1" "$@" "https://master.example.com:$(port)/info"; }
same 'a name of the certificate is a name of the master' 200 "$(page)"
same 'for its own pages, too' 200 "$(page -H "Origin: https://master.example.com:$(port)")"
same 'and for no others' 403 "$(page -H 'Host: another.example.com')"
det stop >/dev/null 2>&1

# ---- without TLS

platform --slots 1
same 'on loopback there is no TLS' http "$(url | cut -d: -f1)"
fails 4 'and no certificate' det master certificate
says 'without TLS'
fails 10 'https:// to it fails in a sentence' elsewhere det -m "https://127.0.0.1:$(port)" master info
says 'http://'
det stop >/dev/null 2>&1
platform --tls --slots 1
same 'unless it is asked for' https "$(url | cut -d: -f1)"
ok 'then commands use it' det master info
det stop >/dev/null 2>&1
: >"$DATA/master.log"
platform --host 0.0.0.0 --no-tls --slots 1
same 'it can be switched off' http "$(url | cut -d: -f1)"
ok 'with a warning' grep -q 'everybody on the network between here and the users can read' "$DATA/master.log"
