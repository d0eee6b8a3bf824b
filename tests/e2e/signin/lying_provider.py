#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An OpenID Connect provider that lies on request.

    lying_provider.py PORT_FILE MODE_FILE

Writes its port to PORT_FILE.  Reads MODE_FILE at every call: a JSON object whose members change what it says
(see LIES below).  It signs people in without asking.  Whatever the lie, it checks what an honest provider checks:
the client's secret, the redirect URI, PKCE, and that a code is used once.
"""
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlparse

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

LIES = {
    "discovery": {},        # members that replace those of the discovery document
    "header": {},           # ... of the header of the ID token
    "claims": {},           # ... of its claims; null removes one
    "key": "rsa",           # signs: rsa, ec, new (not published), rotated (published from now on), none, hmac
    "userinfo": None,       # the whole reply
    "callback": {},         # ... of the parameters of the redirect
    "token_status": 200,    # of the token endpoint
}
CLIENT, SECRET = "det", "a secret: %&+"
codes, redeemed, fetched = {}, set(), {"keys": 0}


def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


KEYS = {"rsa": rsa.generate_private_key(65537, 2048), "new": rsa.generate_private_key(65537, 2048),
        "ec": ec.generate_private_key(ec.SECP256R1())}


def jwk(name):
    public = KEYS[name].public_key().public_numbers()
    if name == "ec":
        return {"kty": "EC", "crv": "P-256", "kid": name, "use": "sig", "x": b64(public.x.to_bytes(32, "big")), "y": b64(public.y.to_bytes(32, "big"))}
    return {"kty": "RSA", "kid": name, "use": "sig", "n": number(public.n), "e": number(public.e)}


def sign(key, text):
    if key == "none":
        return b""
    if key == "hmac":
        return hmac.new(json.dumps(jwk("rsa")).encode(), text, "sha256").digest()
    if key == "ec":
        r, s = utils.decode_dss_signature(KEYS["ec"].sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return KEYS[key].sign(text, padding.PKCS1v15(), hashes.SHA256())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def lies(self):
        with open(sys.argv[2], encoding="utf-8") as file:
            return {**LIES, **json.loads(file.read() or "{}")}

    def reply(self, value, status=200, headers=()):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *headers]:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url, lies = urlparse(self.path), self.lies()
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        issuer = f"http://127.0.0.1:{self.server.server_port}"
        if url.path == "/.well-known/openid-configuration":
            self.reply({"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token", "jwks_uri": issuer + "/keys",
                        "userinfo_endpoint": issuer + "/userinfo", "token_endpoint_auth_methods_supported": ["client_secret_basic"], **lies["discovery"]})
        elif url.path == "/keys":
            fetched["keys"] += 1
            self.reply({"keys": [jwk("rsa"), jwk("ec")] + ([jwk("new")] if lies["key"] == "rotated" else [])})
        elif url.path == "/fetched":
            self.reply(fetched)
        elif url.path == "/userinfo":
            self.reply(lies["userinfo"] or {}, 200 if lies["userinfo"] else 404)
        elif url.path == "/authorize":
            code = b64(os.urandom(16))
            codes[code] = query
            answer = {"code": code, "state": query["state"], "iss": issuer, **lies["callback"]}
            target = query["redirect_uri"] + "?" + urlencode({key: value for key, value in answer.items() if value is not None})
            self.reply({}, 302, [("Location", target)])
        else:
            self.reply({}, 404)

    def do_POST(self):
        lies = self.lies()
        form = {key: values[0] for key, values in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()}
        asked = codes.get(form.get("code"))
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        given = base64.b64decode(self.headers.get("Authorization", "Basic ").split(" ", 1)[1]).decode()
        if given != "det:" + "a%20secret%3A%20%25%26%2B":
            self.reply({"error": "invalid_client"}, 401)
        elif (not asked or form["code"] in redeemed or form.get("grant_type") != "authorization_code" or asked["redirect_uri"] != form.get("redirect_uri")
              or asked.get("code_challenge_method") != "S256" or asked.get("code_challenge") != challenge):
            self.reply({"error": "invalid_grant"}, 400)
        elif lies["token_status"] != 200:
            self.reply({"error": "server_error"}, lies["token_status"])
        else:
            redeemed.add(form["code"])
            self.reply({"access_token": "at-1", "token_type": "Bearer", "id_token": self.id_token(asked, lies)})

    def id_token(self, asked, lies):
        now, key = int(time.time()), "new" if lies["key"] == "rotated" else lies["key"]
        algorithm = {"ec": "ES256", "none": "none", "hmac": "HS256"}.get(key, "RS256")
        header = {"alg": algorithm, "kid": "rsa" if key in ("none", "hmac") else key, **lies["header"]}
        half = hashlib.sha256(b"at-1").digest()[:16]
        claims = {"iss": f"http://127.0.0.1:{self.server.server_port}", "aud": CLIENT, "sub": "subject-1", "exp": now + 300, "iat": now, "nonce": asked.get("nonce"),
                  "at_hash": b64(half), "preferred_username": "liam", "groups": ["ml"], **lies["claims"]}
        text = b64(header) + "." + b64({key: value for key, value in claims.items() if value is not None})
        return text + "." + b64(sign(key, text.encode()))


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w", encoding="utf-8") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
