/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server.c - see tls_server.h.
 *
 * A session may still use the certificate it began with, so replaced ones are kept until
 * the server ends: a few KB every few weeks. */
#include "net/tls/tls_server.h"

#include <pthread.h>

#include "base/memory/mem.h"

struct served {
    struct certificate_pair pair;
    struct served *older;
};

struct tls_server {
    const struct gnutls *gnutls;
    char *cert_file;
    char *key_file;
    pthread_mutex_t lock; /* guards what follows */
    struct served *newest;
    gnutls_datum_t ticket_key;
};

static void ticket_key_free(const struct gnutls *gnutls, gnutls_datum_t *key)
{
    (*gnutls->free)(key->data);
    *key = (gnutls_datum_t){0};
}

det_status tls_server_reload(struct tls_server *tls, struct err *err)
{
    struct served *served = mem_new(struct served);
    gnutls_datum_t key = {0};
    gnutls_datum_t old;
    det_status st;

    if (!served)
        return err_default(err, DET_NOMEM);
    st = certificate_pair_read(tls->cert_file, tls->key_file, &served->pair, err);
    if (!st && tls->gnutls->session_ticket_key_generate(&key))
        st = err_default(err, DET_NOMEM);
    if (st) {
        certificate_pair_done(&served->pair);
        mem_free(served);
        return st;
    }
    pthread_mutex_lock(&tls->lock);
    served->older = tls->newest;
    tls->newest = served;
    old = tls->ticket_key;
    tls->ticket_key = key;
    pthread_mutex_unlock(&tls->lock);
    ticket_key_free(tls->gnutls, &old);
    return DET_OK;
}

det_status tls_server_new(const char *cert_file, const char *key_file,
                          struct tls_server **ret_tls, struct err *err)
{
    const struct gnutls *gnutls;
    struct tls_server *tls;
    det_status st = gnutls_load(&gnutls, err);

    if (st)
        return st;
    tls = mem_new(struct tls_server);
    if (!tls)
        return err_default(err, DET_NOMEM);
    tls->gnutls = gnutls;
    pthread_mutex_init(&tls->lock, NULL);
    tls->cert_file = mem_strdup(cert_file);
    tls->key_file = mem_strdup(key_file);
    st = tls->cert_file && tls->key_file ? tls_server_reload(tls, err)
                                         : err_default(err, DET_NOMEM);
    if (st)
        tls_server_free(tls);
    else
        *ret_tls = tls;
    return st;
}

void tls_server_free(struct tls_server *tls)
{
    if (!tls)
        return;
    while (tls->newest) {
        struct served *served = tls->newest;

        tls->newest = served->older;
        certificate_pair_done(&served->pair);
        mem_free(served);
    }
    ticket_key_free(tls->gnutls, &tls->ticket_key);
    pthread_mutex_destroy(&tls->lock);
    mem_free(tls->cert_file);
    mem_free(tls->key_file);
    mem_free(tls);
}

void tls_server_fingerprint(struct tls_server *tls, char text[CERTIFICATE_FINGERPRINT])
{
    pthread_mutex_lock(&tls->lock);
    snprintf(text, CERTIFICATE_FINGERPRINT, "%s", tls->newest->pair.fingerprint);
    pthread_mutex_unlock(&tls->lock);
}

bool tls_server_has_name(struct tls_server *tls, const char *host)
{
    bool has_name;

    pthread_mutex_lock(&tls->lock);
    has_name = tls->gnutls->x509_crt_check_hostname(tls->newest->pair.leaf, host);
    pthread_mutex_unlock(&tls->lock);
    return has_name;
}

/* The session copies the key.  Without tickets it would only be slower to come back. */
void tls_server_join(struct tls_server *tls, gnutls_session_t session)
{
    tls->gnutls->session_set_ptr(session, tls);
    pthread_mutex_lock(&tls->lock);
    (void)tls->gnutls->session_ticket_enable_server(session, &tls->ticket_key);
    pthread_mutex_unlock(&tls->lock);
}

int tls_server_certificate(gnutls_session_t session,
                           const struct gnutls_cert_retr_st *info,
                           gnutls_pcert_st **certs, unsigned *count,
                           gnutls_ocsp_data_st **ocsp, unsigned *ocsp_count,
                           gnutls_privkey_t *key, unsigned *flags)
{
    const struct gnutls *gnutls;
    struct tls_server *tls;

    (void)info;
    if (gnutls_load(&gnutls, NULL))
        return -1;
    tls = gnutls->session_get_ptr(session);
    if (!tls)
        return -1;
    pthread_mutex_lock(&tls->lock);
    *certs = tls->newest->pair.chain;
    *count = tls->newest->pair.count;
    *key = tls->newest->pair.key;
    pthread_mutex_unlock(&tls->lock);
    *ocsp = NULL;
    *ocsp_count = 0;
    *flags = 0;
    return 0;
}
