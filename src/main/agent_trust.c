/* SPDX-License-Identifier: Apache-2.0 */
#include "main/agent_trust.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/frame/role_options.h"
#include "data/json/json.h"
#include "data/url.h"
#include "libdet/client/trust.h"
#include "net/net.h"

enum { CALL_TIMEOUT_MS = 10 * 1000, RETRY_S = 1 };

/* ---- what was said --------------------------------------------------------------- */

static det_status make_absolute(struct arena *mem, const char **path, struct err *err)
{
    char here[4096];

    if (!*path || **path == '/' || !strcmp(*path, TRUST_NOVERIFY))
        return DET_OK;
    if (!getcwd(here, sizeof(here)))
        return err_errno(err, errno, "cannot find the current directory");
    *path = arena_printf(mem, "%s/%s", here, *path);
    return *path ? DET_OK : err_default(err, DET_NOMEM);
}

static const char *first_of(const char *option, const struct json *tls, const char *key)
{
    return option ? option : json_str(json_get(tls, key), NULL);
}

det_status agent_trust_read(const struct agent_run_options *options,
                            const struct json *tree, const char *master_url,
                            struct arena *mem, struct agent_trust *ret_trust,
                            struct err *err)
{
    const struct json *tls = json_path(tree, "security.tls");
    const char *option = options->master_fingerprint ? "--master-fingerprint"
                         : options->master_cert      ? "--master-cert"
                         : options->master_cert_name ? "--master-cert-name"
                                                     : NULL;
    struct agent_trust trust = {
        .cert_file = first_of(options->master_cert, tls, "master_cert"),
        .name = first_of(options->master_cert_name, tls, "master_cert_name"),
        .fingerprint = first_of(options->master_fingerprint, tls, "master_fingerprint"),
    };
    struct url url;
    det_status st = url_parse(master_url, mem, &url, err);

    if (st)
        return st;
    if (!url.is_tls && option)
        return err_set(err, DET_INVALID,
                       "%s needs a master at an https:// address, and '%s' is none",
                       option, master_url);
    if (!options->master_cert && json_bool(json_get(tls, "skip_verify"), false))
        trust.cert_file = TRUST_NOVERIFY;
    if (url.is_tls && trust.fingerprint && trust.cert_file)
        return err_set(err, DET_INVALID,
                       "the master is known either by a fingerprint or by a "
                       "certificate: name one of them");
    st = make_absolute(mem, &trust.cert_file, err);
    if (!st)
        *ret_trust = trust;
    return st;
}

/* ---- the master ------------------------------------------------------------------ */

/* One call that needs no token.  `pem` gets the certificate. */
static det_status call_master(const struct agent_trust *trust,
                              const struct agent_config *config, const struct url *url,
                              struct buf *pem, bool *ret_is_distrusted, struct err *err)
{
    const struct net_call call = {.path = "/info", .timeout_ms = CALL_TIMEOUT_MS};
    struct net_reply reply = {0};
    struct net_client *client;
    struct net_trust how;
    det_status st = net_client_new(config->net, url->host, url->port, &client, err);

    *ret_is_distrusted = false;
    if (st)
        return st;
    trust_from_words(trust->cert_file, trust->name, &how);
    how.fingerprint = trust->fingerprint;
    st = net_client_secure(client, &how, err);
    if (!st)
        st = net_call(client, &call, &reply, err);
    if (!st)
        net_client_certificate(client, pem);
    *ret_is_distrusted = net_client_is_distrusted(client);
    if (*ret_is_distrusted && err) {
        size_t len = strlen(err->text);

        snprintf(err->text + len, sizeof(err->text) - len,
                 "; name the right one with --master-fingerprint, which the master "
                 "prints at its start, or with --master-cert");
    }
    net_client_free(client);
    return st;
}

/* Tasks, and other programs in them, know the master by a file. */
static det_status store_certificate(struct agent_config *config, const struct buf *pem,
                                    struct arena *mem, struct err *err)
{
    const char *path = arena_printf(mem, "%s/master.crt", config->data_dir);
    det_status st;

    if (!path || pem->status)
        return err_default(err, DET_NOMEM);
    st = io_mkdir(config->io, config->data_dir, true, err);
    if (!st)
        st = io_replace(config->io, path, pem->data, pem->len, false, err);
    config->cert_file = path;
    return st;
}

det_status agent_trust_meet(const struct agent_trust *trust,
                            struct agent_config *config, const sigset_t *signals,
                            struct arena *mem, bool *ret_is_stopped, struct err *err)
{
    const struct timespec pause = {.tv_sec = RETRY_S};
    CLEANUP(buf_done) struct buf pem = BUF_INIT;
    bool is_distrusted;
    struct url url;
    det_status st = url_parse(config->master_url, mem, &url, err);

    if (st || !url.is_tls)
        return st;
    config->cert_file = trust->cert_file;
    config->cert_name = trust->name;
    for (bool is_first = true;; is_first = false) {
        st = call_master(trust, config, &url, &pem, &is_distrusted, err);
        if (is_distrusted || (st != DET_UNREACHABLE && st != DET_TIMEOUT))
            break;
        if (!trust->fingerprint) /* the agent itself waits for the master */
            return DET_OK;
        if (is_first)
            log_warn("%s; trying again every second", err->text);
        *ret_is_stopped = sigtimedwait(signals, NULL, &pause) > 0;
        if (*ret_is_stopped)
            return DET_OK;
    }
    return st || !trust->fingerprint ? st : store_certificate(config, &pem, mem, err);
}
