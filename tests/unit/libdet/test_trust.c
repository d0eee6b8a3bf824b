/* SPDX-License-Identifier: Apache-2.0 */
/* test_trust.c - the file of trusted masters, and who is asked first. */
#include "libdet/client/trust.h"

#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/url.h"
#include "tests/support/test.h"

#define PATH "/home/ann/.config/determined/known_masters"
#define ONE                                                                            \
    "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:"                                 \
    "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF"
#define TWO                                                                            \
    "F0:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:"                                 \
    "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF"

static const struct url master = {.is_tls = true, .host = "m.example", .port = 8443};
static const struct url longer = {.is_tls = true, .host = "m.example", .port = 844};
static const struct url six = {.is_tls = true, .host = "::1", .port = 8443};

struct world {
    struct io *io;
    struct arena mem;
};

static void begin(struct world *w)
{
    CHECK_OK(io_memory_new(&w->io, &test_err));
    w->mem = (struct arena)ARENA_INIT(1 << 20);
}

static void end(struct world *w)
{
    arena_done(&w->mem);
    io_free(w->io);
}

static void set(struct world *w, const struct url *url, const char *fingerprint)
{
    CHECK_OK(trust_known_set(w->io, PATH, url, fingerprint, &test_err));
}

static const char *get(struct world *w, const struct url *url)
{
    const char *found = "?";

    CHECK_OK(trust_known_find(w->io, PATH, url, &w->mem, &found, &test_err));
    return found;
}

static void write_text(struct world *w, const char *text)
{
    CHECK_OK(io_mkdir(w->io, "/home/ann/.config/determined", true, &test_err));
    CHECK_OK(io_replace(w->io, PATH, text, strlen(text), true, &test_err));
}

TEST(an_address_has_one_fingerprint_and_others_stay)
{
    struct io_stat found;
    struct world w;

    begin(&w);
    CHECK(!get(&w, &master));
    set(&w, &master, ONE);
    set(&w, &six, TWO);
    CHECK_STR(get(&w, &master), ONE);
    CHECK_STR(get(&w, &six), TWO);
    CHECK(!get(&w, &longer));
    set(&w, &master, TWO);
    CHECK_STR(get(&w, &master), TWO);
    CHECK_STR(get(&w, &six), TWO);
    set(&w, &master, NULL);
    CHECK(!get(&w, &master));
    CHECK_STR(get(&w, &six), TWO);
    CHECK_OK(io_stat(w.io, PATH, &found, &test_err));
    CHECK_EQ(found.mode, 0600);
    end(&w);
}

TEST(lines_that_a_person_wrote_are_kept)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct world w;

    begin(&w);
    write_text(&w, "# ours\n\nm.example:8443\t" ONE "\r\nno end");
    CHECK_STR(get(&w, &master), ONE);
    set(&w, &six, TWO);
    CHECK_OK(io_read_file(w.io, PATH, &text, &test_err));
    CHECK_STR(text.data,
              "# ours\n\nm.example:8443\t" ONE "\r\nno end\n[::1]:8443 " TWO "\n");
    end(&w);
}

TEST(a_damaged_line_is_not_trusted_and_can_be_replaced)
{
    const struct trust_question question = {
        .url = &master, .known_path = PATH, .io = NULL};
    struct trust_question asked = question;
    struct net_trust trust;
    const char *found;
    enum trust_by by;
    struct world w;

    begin(&w);
    asked.io = w.io;
    write_text(&w, "m.example:8443 00:11\n");
    CHECK_EQ(trust_known_find(w.io, PATH, &master, &w.mem, &found, &test_err),
             DET_CORRUPT);
    CHECK_HAS(test_err.text, "repair it with 'det trust'");
    CHECK_EQ(trust_decide(&asked, &w.mem, &trust, &by, &test_err), DET_CORRUPT);
    set(&w, &master, ONE);
    CHECK_OK(trust_decide(&asked, &w.mem, &trust, &by, &test_err));
    CHECK_EQ(by, TRUST_BY_KNOWN);
    CHECK_STR(trust.fingerprint, ONE);
    end(&w);
}

TEST(what_the_caller_names_comes_first_and_authorities_last)
{
    struct trust_question question = {.url = &master, .known_path = PATH};
    struct net_trust trust;
    enum trust_by by;
    struct world w;

    begin(&w);
    question.io = w.io;
    CHECK_OK(trust_decide(&question, &w.mem, &trust, &by, &test_err));
    CHECK_EQ(by, TRUST_BY_AUTHORITY);
    CHECK(!trust.fingerprint && !trust.cert_file && !trust.is_unverified);
    set(&w, &master, ONE);
    question.cert_file = "/ca.pem";
    question.cert_name = "other.example";
    CHECK_OK(trust_decide(&question, &w.mem, &trust, &by, &test_err));
    CHECK_EQ(by, TRUST_BY_FILE);
    CHECK_STR(trust.cert_file, "/ca.pem");
    CHECK_STR(trust.name, "other.example");
    CHECK(!trust.fingerprint);
    question.cert_file = TRUST_NOVERIFY;
    CHECK_OK(trust_decide(&question, &w.mem, &trust, &by, &test_err));
    CHECK(trust.is_unverified && !trust.cert_file);
    end(&w);
}
