/* SPDX-License-Identifier: Apache-2.0 */
/* user_signin.c - see user_signin.h.
 *
 *   --sso     this command listens on 127.0.0.1 and opens the page /det/cli-login; the page
 *             sends the browser back here with a code
 *   --device  the person types a short code into /det/device, anywhere
 *
 * Either way the code is worth nothing without the verifier, a secret that only this
 * process knows (master/signin/handover.h). */
#include "cli/signin/user_signin.h"

#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/connect.h"
#include "cli/frame/people_options.h"
#include "cli/output/browser.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/sha256.h"
#include "libdet/client/client.h"
#include "net/web/loopback.h"

enum {
    SECRET_BYTES = 32,
    SIGNIN_S = 300, /* for the person */
};

struct secrets {
    const char *verifier;
    const char *challenge;
    const char *state;
};

static const char *encode_bytes(struct cli *cli, const void *bytes, size_t len)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    base64url_encode(&out, bytes, len);
    return out.status ? NULL : arena_strdup(&cli->mem, out.data);
}

static det_status make_secrets(struct cli *cli, struct secrets *ret_secrets)
{
    unsigned char random[2][SECRET_BYTES], sum[SECRET_BYTES];
    char text[SHA256_TEXT];
    struct sha256 hash;
    det_status st = rng_secret(random, sizeof(random), cli->err);

    if (st)
        return st;
    ret_secrets->verifier = encode_bytes(cli, random[0], SECRET_BYTES);
    ret_secrets->state = encode_bytes(cli, random[1], SECRET_BYTES);
    if (!ret_secrets->verifier || !ret_secrets->state)
        return cli_nomem(cli);
    sha256_init(&hash);
    sha256_add(&hash, ret_secrets->verifier, strlen(ret_secrets->verifier));
    sha256_text(&hash, text);
    if (NEVER(!hex_decode(sum, sizeof(sum), text)))
        return cli_fail(cli, DET_FAILED, "a checksum is not a number");
    ret_secrets->challenge = encode_bytes(cli, sum, sizeof(sum));
    return ret_secrets->challenge ? DET_OK : cli_nomem(cli);
}

/* ---- redeeming ------------------------------------------------------------------- */

static det_status adopt_session(struct cli *cli, const struct json *reply)
{
    const char *token = json_str(json_get(reply, "token"), NULL);
    const char *user = json_str(json_path(reply, "user.username"), "");
    det_status st;

    if (!token)
        return cli_fail(cli, DET_FAILED, "the answer of %s contains no token",
                        det_client_master(cli->client));
    st = client_adopt_session(cli->client, user, token);
    if (st)
        return cli_client_failed(cli, st);
    cli_put(cli, "Logged in as %s at %s\n", user, det_client_master(cli->client));
    return DET_OK;
}

static const char *redeem_body(struct cli *cli, const char *code, const char *verifier)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);

    jw_object(&w, NULL);
    jw_str(&w, "code", code);
    jw_str(&w, "verifier", verifier);
    jw_end_object(&w);
    return body.status ? NULL : arena_strdup(&cli->mem, body.data);
}

/* The master answers when the person has decided, or after a while. */
static det_status redeem_code(struct cli *cli, const char *code, const char *verifier)
{
    const char *body = redeem_body(cli, code, verifier);
    struct json *reply;
    det_status st;

    if (!body)
        return cli_nomem(cli);
    do
        st = cli_send(cli, "POST", body, &reply, "/api/v1/det/signin/redeem");
    while (!st && json_bool(json_get(reply, "isPending"), false));
    return st ? st : adopt_session(cli, reply);
}

/* ---- the loopback form ----------------------------------------------------------- */

static det_status check_provider(struct cli *cli, const char *name)
{
    struct json *info;
    det_status st = *name ? cli_get(cli, &info, "/info") : DET_OK;

    if (st || !*name)
        return st;
    json_each(provider, json_get(info, "sso_providers")) {
        if (!strcmp(json_str(json_get(provider, "name"), ""), name))
            return DET_OK;
    }
    return cli_fail(cli, DET_NOT_FOUND,
                    "the master at %s has no identity provider '%s'",
                    det_client_master(cli->client), name);
}

static det_status sign_in_here(struct cli *cli, const char *provider,
                               const struct secrets *secrets)
{
    CLEANUP(loopback_done) struct loopback port = {.fd = -1};
    const char *url, *code = NULL;
    det_status st = check_provider(cli, provider);

    if (!st)
        st = loopback_open(&port, cli->err);
    if (st)
        return st;
    url = arena_printf(&cli->mem, "%s/det/cli-login?port=%d&challenge=%s&state=%s%s%s",
                       det_client_master(cli->client), port.port, secrets->challenge,
                       secrets->state, *provider ? "&provider=" : "",
                       *provider ? cli_url(cli, provider) : "");
    if (!url)
        return cli_nomem(cli);
    cli_note(cli, "Open this page on this computer to sign in:\n%s", url);
    browser_open(url, NULL);
    st = loopback_wait(&port, secrets->state, SIGNIN_S, &cli->mem, &code, cli->err);
    return st ? st : redeem_code(cli, code, secrets->verifier);
}

/* ---- the device form ------------------------------------------------------------- */

static det_status sign_in_elsewhere(struct cli *cli, const struct secrets *secrets)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    char host[65] = "";
    struct json *reply;
    const char *code;
    det_status st;

    if (gethostname(host, sizeof(host) - 1))
        host[0] = '\0';
    jw_object(&w, NULL);
    jw_str(&w, "challenge", secrets->challenge);
    jw_str(&w, "host", host);
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    st = cli_send(cli, "POST", body.data, &reply, "/api/v1/det/signin/devices");
    if (st)
        return st;
    code = json_str(json_get(reply, "code"), "");
    cli_note(cli, "Open %s/det/device in any browser and enter the code %s",
             det_client_master(cli->client), json_str(json_get(reply, "userCode"), ""));
    return redeem_code(cli, code, secrets->verifier);
}

det_status user_signin_run(struct cli *cli, const struct cli_invocation *in)
{
    const struct login_options *options = in->options;
    struct secrets secrets;
    det_status st;

    if (options->sso && options->device)
        return cli_fail(cli, DET_INVALID, "choose one of --sso and --device");
    if (options->password || in->arg_count)
        return cli_fail(cli, DET_INVALID,
                        "--sso and --device take no name and no password: the page in "
                        "the browser decides who signs in");
    cli->identity = DET_AS_NOBODY;
    st = cli_connect(cli);
    if (!st)
        st = make_secrets(cli, &secrets);
    if (st)
        return st;
    return options->device ? sign_in_elsewhere(cli, &secrets)
                           : sign_in_here(cli, options->sso, &secrets);
}
