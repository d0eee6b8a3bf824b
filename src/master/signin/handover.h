/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - sessions that a signed-in person hands to a command line.
 *
 *   loopback  the browser's page asks for a *code* and carries it to the command's own port
 *             on 127.0.0.1; the command redeems it
 *   device    the command asks for a pair of codes; the person types the short one into a
 *             page, on any machine, and allows it; the command redeems the long one
 *
 * Both times the command first shows the SHA-256 of a secret (the *challenge*) and redeems
 * with the secret (the *verifier*), as in RFC 7636: who reads a code on its way cannot use
 * it.  A code works once; one wrong verifier ends it.
 *
 * Handovers are kept in memory: they live for minutes, and a restart of the master ends them.
 * Their number is limited, and so is the number of devices that wait at one address.
 *
 * Threading: from any thread; one lock. */
#ifndef MASTER_SIGNIN_HANDOVER_H
#define MASTER_SIGNIN_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct handovers;

enum {
    HANDOVER_CODE_TEXT = 44,      /* 32 random bytes in base64url, with the NUL */
    HANDOVER_USER_CODE_TEXT = 10, /* "BCDF-GHJK" */
    HANDOVER_HOST_TEXT = 65,
    HANDOVER_ADDRESS_TEXT = 48,
    HANDOVER_CODE_S = 60,
    HANDOVER_DEVICE_S = 600,
};

det_status handovers_new(struct handovers **ret_handovers, struct err *err);
void handovers_free(struct handovers *handovers);

/* The loopback form: `user_id` has allowed it already.  DET_INVALID: the challenge is not
 * the base64url of 32 bytes; DET_BUSY: too many handovers are open. */
det_status handovers_add_code(struct handovers *handovers, int64_t user_id,
                              const char *challenge, int64_t now_us,
                              char ret_code[HANDOVER_CODE_TEXT], struct err *err);

struct handover_device {
    char code[HANDOVER_CODE_TEXT];
    char user_code[HANDOVER_USER_CODE_TEXT];
    char host[HANDOVER_HOST_TEXT];       /* as the command says */
    char address[HANDOVER_ADDRESS_TEXT]; /* where it calls from */
    int64_t created_us;
};
/* The device form.  Takes host and address from `device` and sets the rest. */
det_status handovers_add_device(struct handovers *handovers,
                                struct handover_device *device, const char *challenge,
                                int64_t now_us, struct err *err);
/* What a person is asked to allow, without its code.  DET_NOT_FOUND: no such code waits.
 * Case, spaces and dashes in the code do not matter. */
det_status handovers_find_device(struct handovers *handovers, const char *user_code,
                                 int64_t now_us, struct handover_device *ret_device,
                                 struct err *err);
/* `user_id` 0: refused. */
det_status handovers_decide(struct handovers *handovers, const char *user_code,
                            int64_t user_id, int64_t now_us, struct err *err);

struct handover_result {
    bool is_allowed; /* false: nobody has decided yet */
    int64_t user_id;
    char user_code[HANDOVER_USER_CODE_TEXT]; /* of the device form */
};
/* Redeems a code.  DET_UNAUTHENTICATED: unknown, used, expired, or the wrong verifier;
 * DET_FORBIDDEN: refused by the person. */
det_status handovers_redeem(struct handovers *handovers, const char *code,
                            const char *verifier, int64_t now_us,
                            struct handover_result *ret_result, struct err *err);

#endif
