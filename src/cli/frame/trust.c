/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - `det trust`, and the question at the first call.
 *
 * The certificate is first looked at without trusting it, and nothing but GET /info is
 * sent.  What is stored is what the user saw. */
#include "cli/frame/trust.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "cli/frame/prompt.h"
#include "data/url.h"
#include "libdet/client/trust.h"
#include "net/net_system.h"
#include "net/tls/certificate.h"

enum { CALL_TIMEOUT_MS = 10 * 1000 };

/* Calls GET /info of the master; the fingerprint is "" if it showed no certificate. */
static det_status meet(const struct url *url, const struct net_trust *trust,
                       char fingerprint[CERTIFICATE_FINGERPRINT],
                       bool *ret_is_distrusted, struct err *err)
{
    const struct net_call call = {.path = "/info", .timeout_ms = CALL_TIMEOUT_MS};
    struct net_reply reply = {0};
    struct net_client *client = NULL;
    struct net *net;
    det_status st = net_system_new(NULL, &net, err);

    if (st)
        return st;
    st = net_client_new(net, url->host, url->port, &client, err);
    if (!st)
        st = net_client_secure(client, trust, err);
    if (!st)
        st = net_call(client, &call, &reply, err);
    if (!st && !reply.mark[0])
        st = err_set(err, DET_UNREACHABLE, "the server at %s port %u is not a master",
                     url->host, url->port);
    if (client) {
        snprintf(fingerprint, CERTIFICATE_FINGERPRINT, "%s",
                 net_client_fingerprint(client));
        *ret_is_distrusted = net_client_is_distrusted(client);
    }
    net_client_free(client);
    net_free(net);
    return st;
}

static det_status ask(struct cli *cli, const char *address, const char *fingerprint,
                      const char *known, bool *ret_yes)
{
    cli_note(cli, "The certificate of %s has the SHA-256 fingerprint\n  %s", address,
             fingerprint);
    if (known)
        cli_note(cli, "Until now it was\n  %s", known);
    cli_note(
        cli,
        "Compare it with the one that 'det master certificate' prints on its machine.");
    return cli_confirm(cli, "Trust it?", ret_yes);
}

/* Stores what was shown, if the certificate is usable at all. */
static det_status store_trust(struct cli *cli, const struct url *url, const char *path,
                              const char *fingerprint)
{
    const struct net_trust trust = {.fingerprint = fingerprint};
    char again[CERTIFICATE_FINGERPRINT];
    bool is_distrusted;
    det_status st = meet(url, &trust, again, &is_distrusted, cli->err);

    return st ? st : trust_known_set(io_system(), path, url, fingerprint, cli->err);
}

/* ---- det trust ------------------------------------------------------------------- */

static det_status agree(struct cli *cli, const struct trust_options *options,
                        const char *address, const char *fingerprint, const char *known)
{
    bool is_yes = false;
    det_status st;

    if (options->fingerprint) {
        if (certificate_same_fingerprint(options->fingerprint, fingerprint))
            return DET_OK;
        return cli_fail(cli, DET_FORBIDDEN,
                        "the certificate of %s has the fingerprint %s, not the given "
                        "one; it is not trusted",
                        address, fingerprint);
    }
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return cli_fail(
            cli, DET_INVALID,
            "there is no terminal to ask on; if the fingerprint %s is the "
            "one that 'det master certificate' prints on its machine, name it with "
            "--fingerprint",
            fingerprint);
    st = ask(cli, address, fingerprint, known, &is_yes);
    if (!st && !is_yes)
        st = cli_fail(cli, DET_FORBIDDEN, "%s is not trusted", address);
    return st;
}

static det_status add_trust(struct cli *cli, const struct trust_options *options,
                            const struct url *url, const char *path)
{
    char fingerprint[CERTIFICATE_FINGERPRINT] = "";
    const char *address = url_text(&cli->mem, url);
    const char *known = NULL;
    bool is_distrusted;
    det_status st = meet(url, &(struct net_trust){.is_unverified = true}, fingerprint,
                         &is_distrusted, cli->err);

    (void)trust_known_find(io_system(), path, url, &cli->mem, &known, NULL);
    if (!st && !address)
        st = err_default(cli->err, DET_NOMEM);
    if (!st)
        st = agree(cli, options, address, fingerprint, known);
    if (!st)
        st = store_trust(cli, url, path, fingerprint);
    if (!st)
        cli_note(cli, "Trusting %s", address);
    return st;
}

static det_status forget(struct cli *cli, const struct url *url, const char *path)
{
    const char *known = NULL;
    const char *address = url_text(&cli->mem, url);
    det_status st =
        trust_known_find(io_system(), path, url, &cli->mem, &known, cli->err);

    if (!st && !address)
        st = cli_nomem(cli);
    if (!st && !known)
        return cli_fail(cli, DET_NOT_FOUND, "%s was not trusted; '%s' does not list it",
                        address, path);
    if (!st)
        st = trust_known_set(io_system(), path, url, NULL, cli->err);
    if (!st)
        cli_note(cli, "Not trusting %s any longer", address);
    return st;
}

det_status run_trust(struct cli *cli, const struct cli_invocation *in)
{
    const struct trust_options *options = in->options;
    const char *path;
    struct url url;
    det_status st = url_parse(in->args[0], &cli->mem, &url, cli->err);

    if (!st)
        st = trust_known_default(&cli->mem, &path, cli->err);
    if (st)
        return st;
    if (options->forget && options->fingerprint)
        return cli_fail(cli, DET_INVALID, "--forget takes no --fingerprint");
    if (options->forget)
        return forget(cli, &url, path);
    if (!url.is_tls)
        return cli_fail(cli, DET_INVALID,
                        "'%s' is not an https:// address: only there a master shows a "
                        "certificate",
                        in->args[0]);
    if (options->fingerprint && !certificate_is_fingerprint(options->fingerprint))
        return cli_fail(cli, DET_INVALID,
                        "'%s' is not the SHA-256 fingerprint of a certificate: it must "
                        "have 64 hexadecimal digits",
                        options->fingerprint);
    return add_trust(cli, options, &url, path);
}

/* ---- the first call -------------------------------------------------------------- */

/* By a certificate file or by what was trusted before there is nothing to ask. */
static bool has_question(struct cli *cli, const struct url *url,
                         struct net_trust *ret_trust)
{
    const struct trust_question question = {
        .io = io_system(),
        .url = url,
        .cert_file = getenv("DET_MASTER_CERT_FILE"),
        .cert_name = getenv("DET_MASTER_CERT_NAME"),
    };
    enum trust_by by;

    return !trust_decide(&question, &cli->mem, ret_trust, &by, NULL) &&
           by == TRUST_BY_AUTHORITY;
}

det_status cli_offer_trust(struct cli *cli, const char *master)
{
    char fingerprint[CERTIFICATE_FINGERPRINT] = "";
    struct net_trust trust;
    bool is_distrusted = false;
    bool is_yes = false;
    const char *path;
    struct url url;
    det_status st;

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) ||
        url_parse(master, &cli->mem, &url, NULL) || !url.is_tls ||
        !has_question(cli, &url, &trust) ||
        trust_known_default(&cli->mem, &path, NULL) ||
        !meet(&url, &trust, fingerprint, &is_distrusted, NULL) || !is_distrusted ||
        !*fingerprint)
        return DET_OK;
    st = ask(cli, master, fingerprint, NULL, &is_yes);
    if (st || !is_yes)
        return st ? st : cli_fail(cli, DET_FORBIDDEN, "%s is not trusted", master);
    return store_trust(cli, &url, path, fingerprint);
}
