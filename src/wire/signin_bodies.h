/* SPDX-License-Identifier: Apache-2.0 */
/* signin_bodies.h - bodies and queries of the calls about sign-in. */
#ifndef WIRE_SIGNIN_BODIES_H
#define WIRE_SIGNIN_BODIES_H

#include <stdbool.h>

#include "model/field.h"

struct oidc_login_query {
    const char *return_to;
};
extern const struct field oidc_login_query_fields[];

struct oidc_callback_query {
    const char *code;
    const char *state;
    const char *iss;
    const char *error;
    const char *error_description;
};
extern const struct field oidc_callback_query_fields[];

struct signin_code_body {
    const char *challenge;
};
extern const struct field signin_code_body_fields[];

struct signin_device_body {
    const char *challenge;
    const char *host;
};
extern const struct field signin_device_body_fields[];

struct signin_decision_body {
    bool is_allowed;
};
extern const struct field signin_decision_body_fields[];

struct signin_redeem_body {
    const char *code;
    const char *verifier;
};
extern const struct field signin_redeem_body_fields[];

#endif
