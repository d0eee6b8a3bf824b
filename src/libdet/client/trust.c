/* SPDX-License-Identifier: Apache-2.0 */
#include "libdet/client/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/url.h"
#include "libdet/client/runfile.h"
#include "net/tls/certificate.h"

enum { FILE_LIMIT = 1 << 20 };

static bool is_set(const char *text)
{
    return text && *text;
}

/* ---- known_masters --------------------------------------------------------------- */

det_status trust_known_default(struct arena *mem, const char **ret_path,
                               struct err *err)
{
    const char *home = getenv("HOME");

    if (!home || *home != '/')
        return err_set(err, DET_NOT_FOUND, "HOME is not set");
    *ret_path = arena_printf(mem, "%s/.config/determined/known_masters", home);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

/* "host:port", as it begins a line. */
static const char *address_of(struct arena *mem, const struct url *url)
{
    return arena_printf(mem, strchr(url->host, ':') ? "[%s]:%u" : "%s:%u", url->host,
                        url->port);
}

/* The text of the file; empty if there is none. */
static det_status read_known(struct io *io, const char *path, struct buf *text,
                             struct err *err)
{
    det_status st = io_read_file(io, path, text, err);

    return st == DET_NOT_FOUND ? DET_OK : st;
}

/* Whether the line is about the address; `ret_rest` is what follows it. */
static bool is_about(const char *line, size_t len, const char *address,
                     const char **ret_rest)
{
    size_t size = strlen(address);

    if (len <= size || strncmp(line, address, size) != 0 ||
        (line[size] != ' ' && line[size] != '\t'))
        return false;
    *ret_rest = line + size + strspn(line + size, " \t");
    return true;
}

det_status trust_known_find(struct io *io, const char *path, const struct url *url,
                            struct arena *mem, const char **ret_fingerprint,
                            struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    const char *address = address_of(mem, url);
    det_status st = read_known(io, path, &text, err);
    size_t len;

    *ret_fingerprint = NULL;
    if (st)
        return st;
    if (!address)
        return err_default(err, DET_NOMEM);
    for (const char *line = text.data; *line; line += len + (line[len] == '\n')) {
        const char *rest;

        len = strcspn(line, "\n");
        if (!is_about(line, len, address, &rest))
            continue;
        *ret_fingerprint = arena_strndup(mem, rest, strcspn(rest, " \t\r\n"));
        if (!*ret_fingerprint)
            return err_default(err, DET_NOMEM);
        if (!certificate_is_fingerprint(*ret_fingerprint))
            return err_set(err, DET_CORRUPT,
                           "the line of %s in '%s' has no fingerprint; repair it with "
                           "'det trust'",
                           address, path);
        return DET_OK;
    }
    return DET_OK;
}

static void copy_others(const struct buf *text, const char *address, struct buf *out)
{
    size_t len;

    for (const char *line = text->data; *line; line += len + (line[len] == '\n')) {
        const char *rest;

        len = strcspn(line, "\n");
        if (is_about(line, len, address, &rest))
            continue;
        buf_add(out, line, len);
        buf_putc(out, '\n');
    }
}

det_status trust_known_set(struct io *io, const char *path, const struct url *url,
                           const char *fingerprint, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const char *address = address_of(&mem, url);
    const char *slash = strrchr(path, '/');
    const char *folder;
    det_status st = read_known(io, path, &text, err);

    if (st)
        return st;
    folder = arena_strndup(&mem, path, slash ? (size_t)(slash - path) : 0);
    if (!address || !folder)
        return err_default(err, DET_NOMEM);
    copy_others(&text, address, &out);
    if (fingerprint)
        buf_printf(&out, "%s %s\n", address, fingerprint);
    if (out.status)
        return err_default(err, out.status);
    if (*folder)
        st = io_mkdir(io, folder, true, err);
    return st ? st : io_replace(io, path, out.data, out.len, true, err);
}

/* ---- deciding -------------------------------------------------------------------- */

void trust_from_words(const char *cert_file, const char *cert_name,
                      struct net_trust *ret_trust)
{
    *ret_trust = (struct net_trust){.name = is_set(cert_name) ? cert_name : NULL};
    if (is_set(cert_file) && !strcmp(cert_file, TRUST_NOVERIFY))
        ret_trust->is_unverified = true;
    else if (is_set(cert_file))
        ret_trust->cert_file = cert_file;
}

static bool is_this_machine(const char *host)
{
    return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) ||
           !strcmp(host, "::1");
}

/* The certificate of the master that runs here under this address; NULL: none. */
static const char *find_local(struct io *io, const struct url *url, struct arena *mem)
{
    struct runfile run;
    const char *data_dir;

    if (!is_this_machine(url->host) || runfile_data_dir(mem, &data_dir, NULL) ||
        runfile_read(io, data_dir, mem, &run, NULL) || run.port != url->port)
        return NULL;
    return run.cert_file;
}

det_status trust_decide(const struct trust_question *question, struct arena *mem,
                        struct net_trust *ret_trust, enum trust_by *ret_by,
                        struct err *err)
{
    const char *known = question->known_path;
    const char *local;

    trust_from_words(question->cert_file, question->cert_name, ret_trust);
    *ret_by = TRUST_BY_FILE;
    if (is_set(question->cert_file))
        return DET_OK;
    *ret_by = TRUST_BY_RUNFILE;
    local = find_local(question->io, question->url, mem);
    ret_trust->cert_file = local;
    if (local)
        return DET_OK;
    *ret_by = TRUST_BY_AUTHORITY;
    if (!known && trust_known_default(mem, &known, NULL))
        return DET_OK; /* no home: nothing is known */
    if (trust_known_find(question->io, known, question->url, mem,
                         &ret_trust->fingerprint, err))
        return err ? err->status : DET_CORRUPT;
    if (ret_trust->fingerprint)
        *ret_by = TRUST_BY_KNOWN;
    return DET_OK;
}

void trust_hint(const struct net_client *client, const char *address, enum trust_by by,
                struct err *err)
{
    const char *fingerprint = net_client_fingerprint(client);
    size_t len = err ? strlen(err->text) : 0;

    if (!err || !*fingerprint || !net_client_is_distrusted(client))
        return;
    if (by == TRUST_BY_KNOWN)
        snprintf(err->text + len, sizeof(err->text) - len,
                 "; ask the administrator, and if the new one is right, trust it with "
                 "'det trust %s'",
                 address);
    else if (by == TRUST_BY_AUTHORITY)
        snprintf(err->text + len, sizeof(err->text) - len,
                 "; if 'det master certificate' on its machine prints the fingerprint "
                 "%s, trust it with 'det trust %s'",
                 fingerprint, address);
    else if (by == TRUST_BY_FILE)
        snprintf(err->text + len, sizeof(err->text) - len,
                 "; correct DET_MASTER_CERT_FILE or DET_MASTER_CERT_NAME");
}
