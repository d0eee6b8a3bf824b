/* SPDX-License-Identifier: Apache-2.0 */
/* user_signin.h - `det user login --sso` and `--device`: sign-in with a browser. */
#ifndef CLI_NOUNS_USER_SIGNIN_H
#define CLI_NOUNS_USER_SIGNIN_H

#include "base/err.h"

struct cli;
struct cli_invocation;

det_status user_signin_run(struct cli *cli, const struct cli_invocation *in);

#endif
