/* SPDX-License-Identifier: Apache-2.0 */
/* gather_cluster.c - asks the master about itself and its agents, with calls that every
 * client makes.
 *
 * GET /info is made with a connection of its own: its Date header tells the master's time,
 * and its certificate is looked at also if it is not trusted.  Then nothing but /info and
 * /health is sent to it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/gather.h"
#include "cli/frame/cli.h"
#include "data/json/json.h"
#include "data/text.h"
#include "data/url.h"
#include "libdet/client/runfile.h"
#include "libdet/client/trust.h"
#include "net/net_system.h"
#include "net/tls/certificate.h"

enum { TIMEOUT_MS = 10 * 1000, BODY_LIMIT = 16 << 20 };

/* ---- the master ------------------------------------------------------------------ */

/* Finds the master as other commands do, but starts none. */
static det_status open_client(const struct gather *gather, struct err *err)
{
    det_client_options options = {
        .size = sizeof(options),
        .master = gather->cli->in->globals.master,
        .user = gather->cli->in->globals.user,
        .data_dir = gather->data_dir,
        .timeout_ms = TIMEOUT_MS,
        .error = err->text,
        .error_size = sizeof(err->text),
    };

    return det_client_open(&options, &gather->cli->client);
}

/* The address that the user gave; NULL: none. */
static const char *named_master(struct cli *cli)
{
    const char *variable = getenv("DET_MASTER");

    if (cli->in->globals.master)
        return cli->in->globals.master;
    return variable && *variable ? variable : NULL;
}

/* The certificate by which the run file of this data directory knows its master. */
static const char *certificate_file(const struct gather *gather, const char *url)
{
    const char *named = getenv("DET_MASTER_CERT_FILE");
    struct runfile run;

    if (named && *named)
        return named;
    return gather->data_dir &&
                   !runfile_read(io_system(), gather->data_dir, &gather->cli->mem, &run,
                                 NULL) &&
                   !strcmp(run.url, url)
               ? run.cert_file
               : NULL;
}

/* "Tue, 17 Nov 2026 05:30:00 GMT" in the reply's headers. */
static int64_t date_of(const char *headers)
{
    const char *at = strcasestr(headers, "\nDate: ");
    struct tm tm = {0};

    if (!strncasecmp(headers, "Date: ", 6))
        at = headers - 1;
    if (!at || !strptime(at + 7, "%a, %d %b %Y %H:%M:%S GMT", &tm))
        return DOCTOR_UNKNOWN;
    return (int64_t)timegm(&tm) * 1000000;
}

static void read_certificate(struct cli *cli, struct net_client *client,
                             struct master_facts *master)
{
    CLEANUP(buf_done) struct buf pem = BUF_LIMITED(BODY_LIMIT);
    CLEANUP(buf_done) struct buf names = BUF_INIT;
    struct certificates list = {0};
    const struct gnutls *gnutls;

    net_client_certificate(client, &pem);
    if (!pem.len || gnutls_load(&gnutls, NULL) ||
        certificates_read(gnutls, &pem, "", &list, NULL))
        return;
    master->certificate_end_us = certificate_expires_us(gnutls, list.list[0]);
    certificate_names(gnutls, list.list[0], &names);
    master->certificate_names = arena_strdup(&cli->mem, names.data);
    certificates_done(gnutls, &list);
}

/* A look at one master. */
struct visit {
    struct cli *cli;
    struct net *net;
    struct url url;
    struct master_facts *master;
    bool is_distrusted; /* its certificate was refused */
    struct err err;
};

static struct json *get_tree(struct visit *visit, struct net_client *client,
                             const char *name, struct buf *headers)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(BODY_LIMIT);
    struct net_call call = {
        .path = arena_printf(&visit->cli->mem, "%s%s", visit->url.path, name),
        .timeout_ms = TIMEOUT_MS};
    struct net_reply reply = {.body = &body, .headers = headers};
    struct json *tree;

    if (!call.path || net_call(client, &call, &reply, &visit->err))
        return NULL;
    if (reply.mark[0] &&
        !json_parse(body.data, body.len, &visit->cli->mem, &tree, NULL))
        return tree;
    (void)err_set(&visit->err, DET_UNREACHABLE,
                  "the program there is not a det master");
    return NULL;
}

static bool ask(struct visit *visit, struct net_client *client)
{
    CLEANUP(buf_done) struct buf headers = BUF_LIMITED(BODY_LIMIT);
    struct master_facts *master = visit->master;
    const struct json *info, *health;

    master->asked_us = clock_wall_us(&clock_system);
    info = get_tree(visit, client, "/info", &headers);
    master->answered_us = clock_wall_us(&clock_system);
    if (master->is_tls)
        read_certificate(visit->cli, client, master);
    health = info ? get_tree(visit, client, "/health", NULL) : NULL;
    if (!health)
        return false;
    master->date_us = headers.len ? date_of(headers.data) : DOCTOR_UNKNOWN;
    master->version = json_str(json_get(info, "det_version"), "");
    master->is_up = !strcmp(json_str(json_get(health, "status"), ""), "up");
    master->is_read_only =
        !strcmp(json_str(json_get(health, "database"), ""), "read-only");
    return true;
}

/* Whether it answered; visit->err says why not. */
static bool ask_trusting(struct visit *visit, const struct net_trust *trust)
{
    struct net_client *client = NULL;
    bool is_answered;

    if (net_client_new(visit->net, visit->url.host, visit->url.port, &client,
                       &visit->err))
        return false;
    is_answered =
        (!visit->url.is_tls || !net_client_secure(client, trust, &visit->err)) &&
        ask(visit, client);
    visit->is_distrusted = net_client_is_distrusted(client);
    net_client_free(client);
    return is_answered;
}

static void meet(const struct gather *gather, struct visit *visit)
{
    struct master_facts *master = visit->master;
    const struct trust_question question = {
        .io = io_system(),
        .url = &visit->url,
        .cert_file = certificate_file(gather, master->url),
        .cert_name = getenv("DET_MASTER_CERT_NAME"),
    };
    struct net_trust trust = {0};
    enum trust_by by;

    if ((!visit->url.is_tls ||
         !trust_decide(&question, &visit->cli->mem, &trust, &by, &visit->err)) &&
        ask_trusting(visit, &trust)) {
        master->state = MASTER_ANSWERS;
        return;
    }
    master->problem = arena_strdup(&visit->cli->mem, visit->err.text);
    if (visit->is_distrusted &&
        ask_trusting(visit, &(struct net_trust){.is_unverified = true}))
        master->state = MASTER_DISTRUSTED;
}

void gather_master(const struct gather *gather, struct doctor_facts *facts)
{
    struct master_facts *master = &facts->master;
    struct cli *cli = gather->cli;
    struct visit visit = {.cli = cli, .master = master};
    det_status st;

    if (master->is_gathered)
        return;
    *master = (struct master_facts){.is_gathered = true,
                                    .state = MASTER_UNREACHABLE,
                                    .certificate_end_us = DOCTOR_UNKNOWN,
                                    .certificate_names = "",
                                    .date_us = DOCTOR_UNKNOWN,
                                    .disk_free_bytes = DOCTOR_UNKNOWN,
                                    .disk_size_bytes = DOCTOR_UNKNOWN};
    st = open_client(gather, &visit.err);
    if (st == DET_NOT_FOUND && !named_master(cli))
        master->state = MASTER_NONE;
    if (st) {
        master->url = named_master(cli);
    } else {
        master->url = arena_strdup(&cli->mem, det_client_master(cli->client));
        st = url_parse(master->url ? master->url : "", &cli->mem, &visit.url,
                       &visit.err);
    }
    if (!st)
        st = net_system_new(NULL, &visit.net, &visit.err);
    if (st) {
        master->problem = arena_strdup(&cli->mem, visit.err.text);
        return;
    }
    master->host = visit.url.host;
    master->is_tls = visit.url.is_tls;
    meet(gather, &visit);
    net_free(visit.net);
    facts->now_us = clock_wall_us(&clock_system);
}

/* ---- agents ---------------------------------------------------------------------- */

/* A line of a text of metrics, cut into its name with labels and its value. */
struct sample {
    const char *name;
    const char *value;
};
struct samples {
    struct sample *at; /* sorted by name: there may be many agents */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sample *)a)->name, ((const struct sample *)b)->name);
}

/* Changes the text. */
static struct samples cut_samples(struct arena *mem, char *text)
{
    struct samples samples = {0};
    size_t most = 1;

    for (const char *c = text; *c; c++)
        most += *c == '\n';
    samples.at = arena_array(mem, struct sample, most);
    for (char *line = text, *next; samples.at && *line; line = next) {
        size_t len = strcspn(line, "\n");
        char *space;

        next = line + len + (line[len] != '\0');
        line[len] = '\0';
        space = strrchr(line, ' ');
        if (*line == '#' || !space)
            continue;
        *space = '\0';
        samples.at[samples.count++] = (struct sample){line, space + 1};
    }
    if (samples.count)
        qsort(samples.at, samples.count, sizeof(*samples.at), by_name);
    return samples;
}

/* `agent` NULL: without labels. */
static bool find_sample(struct cli *cli, const struct samples *samples,
                        const char *name, const char *agent, double *ret_value)
{
    struct sample key = {.name = name};
    const struct sample *found;

    if (agent)
        key.name = arena_printf(&cli->mem, "%s{agent=\"%s\"}", name, agent);
    if (!key.name || !samples->count)
        return false;
    found = bsearch(&key, samples->at, samples->count, sizeof(key), by_name);
    return found && parse_real(found->value, ret_value);
}

static int64_t sample(struct cli *cli, const struct samples *samples, const char *name,
                      const char *agent, double factor)
{
    double value;

    /* not a number, or too large for one of ours: the master is not to be trusted */
    if (!find_sample(cli, samples, name, agent, &value) ||
        !(fabs(value * factor) < 0x1p62))
        return DOCTOR_UNKNOWN;
    return (int64_t)(value * factor);
}

static void read_agent(struct cli *cli, const struct json *json,
                       const struct samples *metrics, struct agent_fact *ret_agent)
{
    const char *name = json_str(json_get(json, "id"), "");

    *ret_agent = (struct agent_fact){
        .name = name,
        .version = json_str(json_get(json, "version"), ""),
        .is_connected = json_bool(json_get(json, "connected"), false),
        .is_enabled = json_bool(json_get(json, "enabled"), false),
        .quiet_us = sample(cli, metrics, "det_agent_quiet_seconds", name, 1e6),
        .disk_free_bytes = sample(cli, metrics, "det_agent_disk_free_bytes", name, 1),
        .clock_ahead_us =
            sample(cli, metrics, "det_agent_clock_ahead_seconds", name, 1e6),
    };
}

static det_status get_text(struct cli *cli, const char *path, char **ret_text)
{
    det_reply *reply;
    const char *text;
    size_t len;
    det_status st = det_call(cli->client, "GET", path, NULL, &reply);

    if (st)
        return st;
    text = det_reply_body(reply, &len);
    *ret_text = arena_strndup(&cli->mem, text, len);
    det_reply_free(reply);
    return *ret_text ? DET_OK : DET_NOMEM;
}

static void read_agents(struct cli *cli, const struct json *list,
                        const struct samples *metrics, struct agents_facts *agents)
{
    struct agent_fact *at;
    size_t count = 0;

    json_each(one, list)
        count++;
    at = arena_array(&cli->mem, struct agent_fact, count + 1);
    if (!at)
        return;
    json_each(one, list)
        read_agent(cli, one, metrics, &at[agents->count++]);
    agents->at = at;
}

void gather_agents(const struct gather *gather, struct doctor_facts *facts)
{
    struct agents_facts *agents = &facts->agents;
    struct cli *cli = gather->cli;
    struct samples metrics = {0};
    struct json *tree = NULL;
    char *text;
    det_status st;

    gather_master(gather, facts);
    if (agents->is_gathered || facts->master.state != MASTER_ANSWERS)
        return;
    agents->is_gathered = true;
    st = get_text(cli, "/api/v1/agents", &text);
    if (!st)
        st = json_parse(text, strlen(text), &cli->mem, &tree, NULL);
    if (st) {
        agents->problem = arena_strdup(&cli->mem, det_error_text(cli->client));
        agents->is_not_logged_in = st == DET_UNAUTHENTICATED;
        return;
    }
    if (!get_text(cli, "/metrics", &text))
        metrics = cut_samples(&cli->mem, text);
    facts->master.disk_free_bytes =
        sample(cli, &metrics, "det_disk_free_bytes", NULL, 1);
    facts->master.disk_size_bytes =
        sample(cli, &metrics, "det_disk_size_bytes", NULL, 1);
    read_agents(cli, json_get(tree, "agents"), &metrics, agents);
}
