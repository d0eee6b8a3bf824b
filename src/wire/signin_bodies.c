/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/signin_bodies.h"

const struct field oidc_login_query_fields[] = {
    FIELD_NAMED(STR, oidc_login_query, return_to, "return",
                "path of this master to return to; absent: the home page"),
    FIELD_END,
};

const struct field oidc_callback_query_fields[] = {
    FIELD(STR, oidc_callback_query, code, "the provider's code, redeemed once"),
    FIELD(STR, oidc_callback_query, state, "names the sign-in that comes back"),
    FIELD(STR, oidc_callback_query, iss, "the provider's issuer, if it sends it"),
    FIELD(STR, oidc_callback_query, error, "why the provider refused"),
    FIELD(STR, oidc_callback_query, error_description, "the same in words"),
    FIELD_END,
};

const struct field signin_code_body_fields[] = {
    FIELD_REQUIRED(STR, signin_code_body, challenge,
                   "SHA-256 of the command's verifier, in base64url"),
    FIELD_END,
};

const struct field signin_device_body_fields[] = {
    FIELD_REQUIRED(STR, signin_device_body, challenge,
                   "SHA-256 of the command's verifier, in base64url"),
    FIELD(STR, signin_device_body, host, "name of the command's machine"),
    FIELD_END,
};

const struct field signin_decision_body_fields[] = {
    FIELD_REQUIRED(BOOL, signin_decision_body, is_allowed,
                   "whether the command may act as the caller"),
    FIELD_END,
};

const struct field signin_redeem_body_fields[] = {
    FIELD_REQUIRED(STR, signin_redeem_body, code, "the code"),
    FIELD_REQUIRED(STR, signin_redeem_body, verifier, "the verifier of its challenge"),
    FIELD_END,
};
