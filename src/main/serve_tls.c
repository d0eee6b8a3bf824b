/* SPDX-License-Identifier: Apache-2.0 */
#include "main/serve_tls.h"

#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/frame/role_options.h"
#include "data/json/json.h"
#include "master/master.h"

enum { FILE_LIMIT = 4 << 20 };
static const int64_t DAY_US = INT64_C(24) * 3600 * 1000000;

static bool is_loopback(const char *host)
{
    return !strcmp(host, "localhost") || !strcmp(host, "::1") ||
           !strncmp(host, "127.", 4);
}

/* ---- deciding -------------------------------------------------------------------- */

/* What was asked for. */
struct wish {
    const char *cert;
    const char *key;
    bool is_off;
};

static det_status read_wish(const struct serve_options *options,
                            const struct json *config, struct wish *wish,
                            struct err *err)
{
    const struct json *tls = json_path(config, "security.tls");

    wish->cert = json_str(json_get(tls, "cert"), NULL);
    wish->key = json_str(json_get(tls, "key"), NULL);
    if (options->tls_cert)
        wish->cert = options->tls_cert;
    if (options->tls_key)
        wish->key = options->tls_key;
    wish->is_off = options->no_tls || json_bool(json_get(tls, "disabled"), false);
    if (!wish->cert != !wish->key)
        return err_set(err, DET_INVALID,
                       "TLS needs both the certificate and its private key: name them "
                       "with --tls-cert and --tls-key, or with security.tls.cert and "
                       "security.tls.key");
    if (wish->is_off && (wish->cert || options->tls))
        return err_set(err, DET_INVALID,
                       "TLS is both switched off and asked for: remove --no-tls (or "
                       "security.tls.disabled), or the certificate and --tls");
    return DET_OK;
}

/* ---- the self-signed certificate ------------------------------------------------- */

static det_status make_own(const struct serve_tls *tls, const char *host,
                           struct err *err)
{
    CLEANUP(buf_done) struct buf cert = BUF_INIT;
    CLEANUP(buf_done) struct buf key = BUF_INIT;
    det_status st = certificate_make(host, &cert, &key, err);

    if (!st)
        st = io_replace(io_system(), tls->key_file, key.data, key.len, true, err);
    if (!st)
        st = io_replace(io_system(), tls->cert_file, cert.data, cert.len, false, err);
    memset(key.data, 0, key.len);
    return st;
}

/* Keeps the one of an earlier start.  One that has expired is replaced: nobody accepts it
 * any more. */
static det_status ensure_own(struct serve_tls *tls, const char *host, struct err *err)
{
    struct certificate_pair pair;
    struct io_stat found;
    det_status st;

    if (io_stat(io_system(), tls->cert_file, &found, NULL) == DET_NOT_FOUND)
        return make_own(tls, host, err);
    st = certificate_pair_read(tls->cert_file, tls->key_file, &pair, err);
    if (!st) {
        certificate_pair_done(&pair);
        return DET_OK;
    }
    if (err && strstr(err->text, " expired on ")) {
        log_warn("%s; making a new one, which clients must be told to trust",
                 err->text);
        return make_own(tls, host, err);
    }
    (void)err_prefix(err,
                     "the master's own certificate is damaged (remove '%s' and '%s' "
                     "to get a new one, which clients must be told to trust)",
                     tls->cert_file, tls->key_file);
    return st;
}

/* ---- what is shown --------------------------------------------------------------- */

/* The new certificate first.  The old one stays behind it: for a moment both are shown. */
static det_status show(const struct serve_tls *tls, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    CLEANUP(buf_done) struct buf old = BUF_LIMITED(FILE_LIMIT);
    static const char end[] = "-----END CERTIFICATE-----\n";
    const char *first_end;
    det_status st = io_read_file(io_system(), tls->cert_file, &text, err);

    if (st)
        return st;
    if (!io_read_file(io_system(), tls->shown_file, &old, NULL)) {
        first_end = strstr(old.data, end);
        if (first_end) {
            if (text.len && text.data[text.len - 1] != '\n')
                buf_putc(&text, '\n');
            buf_add(&text, old.data, (size_t)(first_end - old.data) + sizeof(end) - 1);
        }
    }
    if (text.status)
        return err_default(err, text.status);
    st = io_replace(io_system(), tls->shown_file, text.data, text.len, false, err);
    if (!st && chmod(tls->shown_file, 0644)) /* tasks of other users read it */
        log_warn("tasks of other users cannot read '%s'", tls->shown_file);
    return st;
}

static det_status check_pair(struct serve_tls *tls, struct err *err)
{
    struct certificate_pair pair;
    det_status st = certificate_pair_read(tls->cert_file, tls->key_file, &pair, err);

    if (st)
        return st;
    memcpy(tls->fingerprint, pair.fingerprint, sizeof(tls->fingerprint));
    tls->expires_us = pair.expires_us;
    tls->warned_us = 0;
    certificate_pair_done(&pair);
    return DET_OK;
}

static void stat_files(const struct serve_tls *tls, struct stat found[2])
{
    memset(found, 0, 2 * sizeof(*found));
    (void)stat(tls->cert_file, &found[0]);
    (void)stat(tls->key_file, &found[1]);
}

/* The files as they are used from now on. */
static void note_files(struct serve_tls *tls)
{
    stat_files(tls, tls->used);
    memcpy(tls->seen, tls->used, sizeof(tls->seen));
    if (tls->used[1].st_mode & 0004)
        log_warn(
            "every user can read the private key in '%s'; close it with 'chmod 600'",
            tls->key_file);
}

static det_status prepare_on(struct serve_tls *tls, const struct wish *wish,
                             const char *host, const char *folder, struct arena *mem,
                             struct err *err)
{
    det_status st = DET_OK;

    tls->is_self_signed = !wish->cert;
    tls->cert_file = wish->cert ? wish->cert : arena_printf(mem, "%s/own.crt", folder);
    tls->key_file = wish->key ? wish->key : arena_printf(mem, "%s/own.key", folder);
    tls->shown_file = arena_printf(mem, "%s/master.crt", folder);
    if (!tls->cert_file || !tls->key_file || !tls->shown_file)
        return err_default(err, DET_NOMEM);
    if (!tls->is_self_signed)
        st = check_pair(tls, err);
    if (!st)
        st = io_mkdir(io_system(), folder, true, err);
    if (!st && chmod(folder, 0711))
        log_warn("tasks of other users cannot reach '%s'", folder);
    if (!st && tls->is_self_signed)
        st = ensure_own(tls, host, err);
    if (!st)
        st = check_pair(tls, err);
    if (!st)
        st = show(tls, err);
    note_files(tls);
    return st;
}

det_status serve_tls_prepare(struct serve_tls *tls, const struct serve_options *options,
                             const struct json *config, const char *host,
                             const char *data_dir, struct arena *mem, struct err *err)
{
    const char *folder = arena_printf(mem, "%s/tls", data_dir);
    struct wish wish;
    det_status st = read_wish(options, config, &wish, err);

    if (st)
        return st;
    if (!folder)
        return err_default(err, DET_NOMEM);
    if (wish.is_off && !is_loopback(host))
        log_warn("TLS is switched off: everybody on the network between here and the "
                 "users can read passwords, tokens and data");
    if (wish.is_off || (is_loopback(host) && !wish.cert && !options->tls))
        return DET_OK;
    return prepare_on(tls, &wish, host, folder, mem, err);
}

/* ---- new files ------------------------------------------------------------------- */

static bool is_same(const struct stat one[2], const struct stat other[2])
{
    for (int i = 0; i < 2; i++)
        if (one[i].st_ino != other[i].st_ino || one[i].st_dev != other[i].st_dev ||
            one[i].st_size != other[i].st_size ||
            one[i].st_mtim.tv_sec != other[i].st_mtim.tv_sec ||
            one[i].st_mtim.tv_nsec != other[i].st_mtim.tv_nsec)
            return false;
    return true;
}

static det_status use_new(struct serve_tls *tls, struct master *master, struct err *err)
{
    det_status st = check_pair(tls, err);

    if (!st)
        st = show(tls, err);
    return st ? st : master_reload_certificate(master, err);
}

static void warn_of_expiry(struct serve_tls *tls)
{
    int64_t now_us = clock_wall_us(&clock_system);
    char text[CERTIFICATE_WARNING];

    if (tls->warned_us && now_us >= tls->warned_us && now_us - tls->warned_us < DAY_US)
        return;
    if (!certificate_warning(tls->expires_us, now_us, text))
        return;
    tls->warned_us = now_us;
    log_warn("the certificate in '%s' %s; clients refuse one that has expired.  %s",
             tls->cert_file, text,
             tls->is_self_signed
                 ? "Remove the file and start the master again: it makes a new one, "
                   "which clients must be told to trust"
                 : "Replace it and its key: the master reads them again by itself");
}

void serve_tls_look(struct serve_tls *tls, struct master *master)
{
    struct stat now[2];
    struct err err = {0};
    bool is_settled;

    if (!tls->cert_file)
        return;
    warn_of_expiry(tls);
    stat_files(tls, now);
    is_settled = is_same(now, tls->seen);
    memcpy(tls->seen, now, sizeof(now));
    if (!is_settled || is_same(now, tls->used))
        return;
    memcpy(tls->used, now, sizeof(now));
    if (use_new(tls, master, &err)) {
        log_error("the new certificate is not used, the old one stays: %s", err.text);
        return;
    }
    log_info("new connections get the new certificate; its SHA-256 fingerprint is %s",
             tls->fingerprint);
    master_set_certificate(master, tls->expires_us);
}
