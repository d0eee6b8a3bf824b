/* SPDX-License-Identifier: Apache-2.0 */
/* The real network over TLS: the common scenarios, and whom a client trusts. */
#define IS_MEMORY false
#include "tests/unit/net/world.h"

#include "tests/unit/net/scenarios.inc"
#include "tests/unit/net/tls_files.h"

static char cert_file[TLS_PATH];
static char key_file[TLS_PATH];
static char other_cert[TLS_PATH];
static char other_key[TLS_PATH];

/* Before every test: the scenarios make their worlds themselves. */
__attribute__((constructor)) static void make_files(void)
{
    tls_make_folder();
    tls_make_pair(tls_path(cert_file, "cert.pem"), tls_path(key_file, "key.pem"));
    tls_make_pair(tls_path(other_cert, "other.pem"),
                  tls_path(other_key, "other-key.pem"));
    world_cert_file = cert_file;
    world_key_file = key_file;
}

static void fingerprint_of(const char *cert, const char *key, char *text)
{
    struct certificate_pair pair;

    CHECK_OK(certificate_pair_read(cert, key, &pair, &test_err));
    snprintf(text, CERTIFICATE_FINGERPRINT, "%s", pair.fingerprint);
    certificate_pair_done(&pair);
}

static det_status call_with(struct world *w, const struct net_trust *trust,
                            const char *host, bool *ret_is_distrusted)
{
    struct net_call call = {.path = "/echo", .timeout_ms = 20000};
    struct net_reply reply = {0};
    struct net_client *client;
    det_status st;

    CHECK_OK(
        net_client_new(w->net, host, net_server_port(w->server), &client, &test_err));
    CHECK_OK(net_client_secure(client, trust, &test_err));
    test_err.text[0] = '\0';
    st = net_call(client, &call, &reply, &test_err);
    if (!st)
        CHECK_EQ(reply.status, 200);
    *ret_is_distrusted = net_client_is_distrusted(client);
    net_client_free(client);
    return st;
}

/* ---- whom a client trusts -------------------------------------------------------- */

TEST(a_server_is_trusted_by_its_fingerprint_or_by_its_file_and_else_not)
{
    char right[CERTIFICATE_FINGERPRINT], wrong[CERTIFICATE_FINGERPRINT];
    bool is_distrusted;
    struct world w;

    fingerprint_of(cert_file, key_file, right);
    fingerprint_of(other_cert, other_key, wrong);
    world_init(&w, IS_MEMORY);

    CHECK_OK(call_with(&w, &(struct net_trust){.fingerprint = right}, "127.0.0.1",
                       &is_distrusted));
    CHECK(!is_distrusted);
    CHECK_OK(call_with(&w, &(struct net_trust){.is_unverified = true}, "127.0.0.1",
                       &is_distrusted));
    CHECK_EQ(call_with(&w, &(struct net_trust){.fingerprint = wrong}, "127.0.0.1",
                       &is_distrusted),
             DET_UNREACHABLE);
    CHECK(is_distrusted);
    CHECK(strstr(test_err.text, right));
    CHECK(strstr(test_err.text, wrong));
    CHECK_EQ(call_with(&w, &(struct net_trust){.cert_file = other_cert}, "127.0.0.1",
                       &is_distrusted),
             DET_UNREACHABLE);
    CHECK(is_distrusted);
    CHECK_EQ(call_with(&w, &(struct net_trust){0}, "127.0.0.1", &is_distrusted),
             DET_UNREACHABLE);
    CHECK(is_distrusted);
    world_done_all(&w);
}

TEST(a_name_that_is_expected_must_be_in_the_certificate)
{
    struct net_trust trust = {.cert_file = cert_file, .name = "localhost"};
    bool is_distrusted;
    struct world w;

    world_init(&w, IS_MEMORY);
    CHECK_OK(call_with(&w, &trust, "127.0.0.1", &is_distrusted));
    trust.name = "master.example.com";
    CHECK_EQ(call_with(&w, &trust, "127.0.0.1", &is_distrusted), DET_UNREACHABLE);
    CHECK(is_distrusted);
    CHECK(strstr(test_err.text, "is not for 'master.example.com' but for "));
    CHECK(strstr(test_err.text, "localhost"));
    world_done_all(&w);
}

TEST(a_fingerprint_that_is_none_is_refused)
{
    struct net_client *client;
    struct world w;

    world_init(&w, IS_MEMORY);
    CHECK_OK(net_client_new(w.net, "127.0.0.1", 1, &client, &test_err));
    CHECK_EQ(net_client_secure(client, &(struct net_trust){.fingerprint = "AB:CD"},
                               &test_err),
             DET_INVALID);
    net_client_free(client);
    world_done_all(&w);
}

TEST(fingerprints_are_compared_by_their_digits)
{
    char upper[CERTIFICATE_FINGERPRINT], lower[80] = "sha256:";
    size_t len = strlen(lower);

    fingerprint_of(cert_file, key_file, upper);
    for (const char *at = upper; *at; at++)
        if (*at != ':')
            lower[len++] = (char)(*at >= 'A' ? *at - 'A' + 'a' : *at);
    lower[len] = '\0';
    CHECK(certificate_same_fingerprint(upper, lower));
    lower[len - 1] = lower[len - 1] == '0' ? '1' : '0';
    CHECK(!certificate_same_fingerprint(upper, lower));
    CHECK(!certificate_same_fingerprint("", ""));
    CHECK(!certificate_is_fingerprint("sha256:"));
}

/* ---- wrong protocols ------------------------------------------------------------- */

TEST(plain_http_to_a_tls_server_and_tls_to_a_plain_one_fail_with_a_sentence)
{
    struct net_server_config config = {
        .host = "127.0.0.1", .handler = world_handler, .threads = 1};
    struct net_call call = {.path = "/echo", .timeout_ms = 20000};
    struct net_reply reply = {0};
    struct net_client *client;
    struct net_server *plain;
    struct world w;

    world_init(&w, IS_MEMORY);
    config.arg = &w;
    CHECK_OK(net_serve(w.net, &config, &plain, &test_err));
    CHECK_OK(net_client_new(w.net, "127.0.0.1", net_server_port(w.server), &client,
                            &test_err));
    CHECK(net_call(client, &call, &reply, &test_err) != DET_OK);
    net_client_free(client);
    CHECK_OK(
        net_client_new(w.net, "127.0.0.1", net_server_port(plain), &client, &test_err));
    CHECK_OK(net_client_secure(client, &(struct net_trust){.is_unverified = true},
                               &test_err));
    CHECK_EQ(net_call(client, &call, &reply, &test_err), DET_UNREACHABLE);
    CHECK(strstr(test_err.text, "name it with http://"));
    CHECK(!net_client_is_distrusted(client));
    net_client_free(client);
    net_server_free(plain);
    world_done_all(&w);
}

/* ---- new files ------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    struct buf text = BUF_INIT;

    CHECK_OK(io_read_file(io_system(), from, &text, &test_err));
    tls_write(to, &text);
    buf_done(&text);
}

TEST(new_connections_get_new_files_and_bad_files_change_nothing)
{
    char first[CERTIFICATE_FINGERPRINT], second[CERTIFICATE_FINGERPRINT];
    char cert[TLS_PATH], key[TLS_PATH];
    struct buf none = BUF_INIT;
    bool is_distrusted;
    struct world w;

    copy_file(cert_file, tls_path(cert, "served.pem"));
    copy_file(key_file, tls_path(key, "served-key.pem"));
    fingerprint_of(cert_file, key_file, first);
    fingerprint_of(other_cert, other_key, second);
    world_cert_file = cert;
    world_key_file = key;
    world_init(&w, IS_MEMORY);

    copy_file(other_cert, cert); /* the key does not match yet */
    CHECK_EQ(net_server_reload(w.server, &test_err), DET_INVALID);
    CHECK(strstr(test_err.text, "does not belong to the certificate"));
    CHECK_OK(call_with(&w, &(struct net_trust){.fingerprint = first}, "127.0.0.1",
                       &is_distrusted));
    tls_write(key, &none);
    CHECK_EQ(net_server_reload(w.server, &test_err), DET_INVALID);
    CHECK(strstr(test_err.text, "is not a private key"));
    copy_file(other_key, key);
    CHECK_OK(net_server_reload(w.server, &test_err));
    CHECK_OK(call_with(&w, &(struct net_trust){.fingerprint = second}, "127.0.0.1",
                       &is_distrusted));
    CHECK_EQ(call_with(&w, &(struct net_trust){.fingerprint = first}, "127.0.0.1",
                       &is_distrusted),
             DET_UNREACHABLE);
    unlink(cert);
    CHECK_EQ(net_server_reload(w.server, &test_err), DET_NOT_FOUND);
    world_done_all(&w);
    unlink(key);
    world_cert_file = cert_file;
    world_key_file = key_file;
}

TEST(a_certificate_that_expires_soon_is_warned_of)
{
    const int64_t day_us = INT64_C(24) * 3600 * 1000000;
    const int64_t at_us = INT64_C(1772366400) * 1000000; /* 2026-03-01 12:00 UTC */
    char text[CERTIFICATE_WARNING];

    CHECK(!certificate_warning(at_us, at_us - 365 * day_us, text));
    CHECK(!certificate_warning(at_us, at_us - 30 * day_us, text));
    CHECK(certificate_warning(at_us, at_us - 30 * day_us + 1, text));
    CHECK_STR(text, "expires on 2026-03-01 12:00 UTC, in 29 days");
    CHECK(certificate_warning(at_us, at_us - day_us, text));
    CHECK_STR(text, "expires on 2026-03-01 12:00 UTC, in 1 day");
    CHECK(certificate_warning(at_us, at_us, text));
    CHECK_STR(text, "expires on 2026-03-01 12:00 UTC, in 0 days");
    CHECK(certificate_warning(at_us, at_us + 1, text));
    CHECK_STR(text, "expired on 2026-03-01 12:00 UTC");
}

/* ---- coming back ----------------------------------------------------------------- */

/* The second connection resumes the session of the first, and is checked as it was. */
TEST(a_client_that_comes_back_is_served_and_checks_again)
{
    struct net_call call = {.path = "/echo",
                            .headers = (const char *[]){"Connection: close", NULL},
                            .timeout_ms = 20000};
    struct net_reply reply = {0};
    char right[CERTIFICATE_FINGERPRINT];
    struct world w;

    fingerprint_of(cert_file, key_file, right);
    world_init(&w, IS_MEMORY);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(net_call(w.client, &call, &reply, &test_err));
        CHECK_EQ(reply.status, 200);
        CHECK_STR(net_client_fingerprint(w.client), right);
    }
    CHECK_OK(net_server_reload(w.server, &test_err)); /* with new keys for tickets */
    CHECK_OK(net_call(w.client, &call, &reply, &test_err));
    CHECK_EQ(reply.status, 200);
    world_done_all(&w);
}
