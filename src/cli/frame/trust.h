/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - asks the user whether to trust a master's certificate. */
#ifndef CLI_FRAME_TRUST_H
#define CLI_FRAME_TRUST_H

#include "base/err.h"

struct cli;

/* Before the first call to an https:// address that nothing vouches for: shows the
 * fingerprint and asks, if there is a terminal.  Otherwise does nothing, and the first call
 * says what to do. */
det_status cli_offer_trust(struct cli *cli, const char *master);

#endif
