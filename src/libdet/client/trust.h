/* SPDX-License-Identifier: Apache-2.0 */
/* trust.h - by which certificate a client knows a master at an https:// address.  The
 * first row that applies counts:
 *
 *   a file that the caller names   its certificates; "noverify": whoever answers
 *   the master of this machine     the certificate that its run file names
 *   an address in known_masters    the certificate with the fingerprint there
 *   otherwise                      one that the machine's authorities vouch for
 *
 * known_masters belongs to one user and has a line for each address that the user trusts:
 *
 *   master.example.com:8443 AB:CD:...
 *
 * A certificate that changes is refused until the user trusts the new one. */
#ifndef LIBDET_CLIENT_TRUST_H
#define LIBDET_CLIENT_TRUST_H

#include "net/net.h"

struct arena;
struct io;
struct url;

#define TRUST_NOVERIFY "noverify"

enum trust_by { TRUST_BY_FILE, TRUST_BY_RUNFILE, TRUST_BY_KNOWN, TRUST_BY_AUTHORITY };

struct trust_question {
    struct io *io;
    const struct url *url;
    const char *cert_file;  /* NULL or "": none is named */
    const char *cert_name;  /* that the certificate must have; NULL or "": any */
    const char *known_path; /* NULL: trust_known_default() */
};

/* The answer's strings are in `mem`, or the question's.  DET_CORRUPT: the address's line in
 * known_masters is damaged. */
det_status trust_decide(const struct trust_question *question, struct arena *mem,
                        struct net_trust *ret_trust, enum trust_by *ret_by,
                        struct err *err);

/* What a caller names as a file, without looking elsewhere. */
void trust_from_words(const char *cert_file, const char *cert_name,
                      struct net_trust *ret_trust);

/* After a call that failed because the server is not trusted: appends to the sentence what
 * to do about it. */
void trust_hint(const struct net_client *client, const char *address, enum trust_by by,
                struct err *err);

/* ~/.config/determined/known_masters.  DET_NOT_FOUND: no home directory. */
det_status trust_known_default(struct arena *mem, const char **ret_path,
                               struct err *err);
/* The fingerprint of an address; NULL: none is known. */
det_status trust_known_find(struct io *io, const char *path, const struct url *url,
                            struct arena *mem, const char **ret_fingerprint,
                            struct err *err);
/* Stores the fingerprint of an address; NULL removes it.  Only the owner can read the
 * file. */
det_status trust_known_set(struct io *io, const char *path, const struct url *url,
                           const char *fingerprint, struct err *err);

#endif
