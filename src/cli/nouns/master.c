/* SPDX-License-Identifier: Apache-2.0 */
/* master.c - `det master`: what the master says about itself. */
#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/options.h"
#include "data/json/json.h"
#include "data/time.h"
#include "libdet/client/runfile.h"
#include "net/tls/certificate.h"

enum { FILE_LIMIT = 4 << 20 };

/* Everybody who looks may tell the administrator. */
static void warn_of_expiry(struct cli *cli, int64_t expires_us)
{
    char text[CERTIFICATE_WARNING];

    if (certificate_warning(expires_us, clock_wall_us(&clock_system), text))
        cli_note(cli, "warning: the certificate of the master %s", text);
}

det_status run_master_info(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    const char *expires;
    int64_t expires_us;
    det_status st = cli_get(cli, &reply, "/api/v1/master");

    if (st)
        return st;
    if (in->format == CLI_JSON)
        return cli_print_json(cli, reply);
    cli_print_field(cli, "address", det_client_master(cli->client));
    cli_print_field(cli, "version", json_str(json_get(reply, "detVersion"), ""));
    cli_print_field(cli, "API", json_str(json_get(reply, "version"), ""));
    cli_print_field(cli, "cluster", json_str(json_get(reply, "clusterName"), ""));
    cli_print_field(cli, "cluster id", json_str(json_get(reply, "clusterId"), ""));
    if (json_bool(json_get(reply, "isDiskFull"), false))
        cli_print_field(cli, "disk",
                        "full: everything can be read, and nothing changed until there "
                        "is room");
    cli_print_field(cli, "master id", json_str(json_get(reply, "masterId"), ""));
    expires = json_str(json_get(reply, "certificateExpires"), NULL);
    if (!expires || !time_parse(expires, &expires_us))
        return DET_OK;
    cli_print_field(cli, "certificate",
                    arena_printf(&cli->mem, "valid until %s", expires));
    warn_of_expiry(cli, expires_us);
    return DET_OK;
}

det_status run_master_config(struct cli *cli, const struct cli_invocation *in)
{
    struct json *reply;
    det_status st = cli_get(cli, &reply, "/api/v1/master/config");

    (void)in;
    return st ? st : cli_print_tree(cli, json_get(reply, "config"));
}

/* ---- the certificate, on the master's own machine --------------------------------- */

/* The file stays behind when a master is started without TLS. */
static bool is_plain(struct cli *cli, const char *dir)
{
    struct runfile run;

    return runfile_read(io_system(), dir, &cli->mem, &run, NULL) == DET_OK &&
           strncmp(run.url, "http://", 7) == 0;
}

static det_status read_certificate(struct cli *cli, const char *dir, const char *path,
                                   struct buf *pem)
{
    det_status st = io_read_file(io_system(), path, pem, cli->err);

    if (is_plain(cli, dir))
        return err_set(cli->err, DET_NOT_FOUND,
                       "the master of '%s' serves without TLS, so it shows no "
                       "certificate",
                       dir);
    if (st == DET_NOT_FOUND)
        return err_set(cli->err, DET_NOT_FOUND,
                       "there is no certificate of a master in '%s'; run this command "
                       "on the master's machine, with the master's --data-dir",
                       path);
    return st;
}

static det_status print_certificate(struct cli *cli, const struct cli_invocation *in,
                                    const char *path, const struct gnutls *gnutls,
                                    gnutls_x509_crt_t certificate)
{
    CLEANUP(buf_done) struct buf names = BUF_INIT;
    int64_t expires_us = certificate_expires_us(gnutls, certificate);
    char fingerprint[CERTIFICATE_FINGERPRINT];
    char time[TIME_TEXT];

    certificate_fingerprint(gnutls, certificate, fingerprint);
    certificate_names(gnutls, certificate, &names);
    time_format(expires_us, time);
    if (names.status)
        return err_default(cli->err, names.status);
    if (in->format == CLI_JSON) {
        struct json *tree = json_new(&cli->mem, JSON_OBJECT);

        json_set(&cli->mem, tree, "file", json_new_str(&cli->mem, path));
        json_set(&cli->mem, tree, "fingerprint", json_new_str(&cli->mem, fingerprint));
        json_set(&cli->mem, tree, "names", json_new_str(&cli->mem, names.data));
        json_set(&cli->mem, tree, "expires", json_new_str(&cli->mem, time));
        return cli->mem.has_failed ? err_default(cli->err, DET_NOMEM)
                                   : cli_print_json(cli, tree);
    }
    cli_print_field(cli, "file", path);
    cli_print_field(cli, "SHA-256 fingerprint", fingerprint);
    cli_print_field(cli, "names", names.data);
    cli_print_field(cli, "valid until", time);
    warn_of_expiry(cli, expires_us);
    return DET_OK;
}

det_status run_master_certificate(struct cli *cli, const struct cli_invocation *in)
{
    const struct master_certificate_options *options = in->options;
    CLEANUP(buf_done) struct buf pem = BUF_LIMITED(FILE_LIMIT);
    struct certificates list = {0};
    const struct gnutls *gnutls;
    const char *dir = options->data_dir;
    const char *path;
    det_status st = dir ? DET_OK : runfile_data_dir(&cli->mem, &dir, cli->err);

    if (st)
        return st;
    path = arena_printf(&cli->mem, "%s/tls/master.crt", dir);
    if (!path)
        return err_default(cli->err, DET_NOMEM);
    st = read_certificate(cli, dir, path, &pem);
    if (!st)
        st = gnutls_load(&gnutls, cli->err);
    if (!st)
        st = certificates_read(gnutls, &pem, path, &list, cli->err);
    if (st)
        return st;
    /* the first one; the one before a renewal may follow */
    st = print_certificate(cli, in, path, gnutls, list.list[0]);
    certificates_done(gnutls, &list);
    return st;
}
