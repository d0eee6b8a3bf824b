/* SPDX-License-Identifier: Apache-2.0 */
/* judge_cluster.c - what the facts about the master and its agents mean.
 *
 * Without a master that answers, only judge_master() says something. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/judge.h"
#include "cli/doctor/judge_space.h"
#include "data/text.h"
#include "net/tls/certificate.h"
#include "wire/protocol.h"

/* ---- space ----------------------------------------------------------------------- */

enum { PERCENT_LITTLE = 5 };

static const int64_t space_little = INT64_C(5) << 30;
static const int64_t space_too_little = INT64_C(256) << 20;

void judge_free_space(struct findings *out, const char *where, int64_t free_bytes,
                      int64_t size_bytes, const char *harm)
{
    bool is_known = size_bytes != DOCTOR_UNKNOWN && size_bytes > 0;
    double percent = is_known ? (double)free_bytes / (double)size_bytes * 100 : 100;
    const char *space = finding_text(out, "%s%s%s free", finding_size(out, free_bytes),
                                     is_known ? " of " : "",
                                     is_known ? finding_size(out, size_bytes) : "");

    /* 5 % of a large disk are plenty. */
    if (free_bytes >= 4 * space_little ||
        (free_bytes >= space_little && percent >= PERCENT_LITTLE))
        finding_ok(out, "%s has %s", where, space);
    else
        finding_bad(out, free_bytes < space_too_little ? FINDING_FAIL : FINDING_WARN,
                    finding_text(out, "%s has only %s", where, space), harm,
                    "delete old experiments and checkpoints ('det experiment delete'), "
                    "unused environments ('det env prune'), or use a larger disk");
}

/* ---- master ---------------------------------------------------------------------- */

static void judge_answer(const struct master_facts *master, struct findings *out)
{
    if (!master->is_up)
        finding_bad(
            out, FINDING_FAIL,
            finding_text(out, "The master at %s has lost its database", master->url),
            "it answers nothing any more",
            "look into its master.log, repair its disk, and start it again");
    else if (master->is_read_only)
        finding_bad(
            out, FINDING_FAIL,
            finding_text(out, "The disk of the master at %s is full", master->url),
            "everything can be read, and nothing changed",
            "make room on its disk; it goes on by itself");
    else
        finding_ok(out, "The master at %s answers, and its database works",
                   master->url);
    if (master->disk_free_bytes != DOCTOR_UNKNOWN)
        judge_free_space(out, "The disk of the master", master->disk_free_bytes,
                         master->disk_size_bytes,
                         "a master whose disk is full stores nothing");
}

void judge_master(const struct doctor_facts *facts, struct findings *out)
{
    const struct master_facts *master = &facts->master;

    switch (master->state) {
    case MASTER_NONE:
        if (facts->is_cluster_wanted)
            finding_bad(
                out, FINDING_FAIL, "No master runs here, and none is named",
                "there is no cluster to look at",
                "start one with 'det serve', or name one with -m or DET_MASTER");
        else
            finding_skip(out, "No master runs here, and none is named with -m or "
                              "DET_MASTER; only this host was checked");
        break;
    case MASTER_UNREACHABLE:
        finding_bad(out, FINDING_FAIL,
                    master->url ? finding_text(out, "The master at %s does not answer",
                                               master->url)
                                : "The master of this host does not answer",
                    master->problem,
                    "check the address, whether the master runs ('det master info' on "
                    "its machine), and firewalls between here and there");
        break;
    case MASTER_DISTRUSTED:
    case MASTER_ANSWERS:
        judge_answer(master, out);
    }
}

/* ---- certificate ----------------------------------------------------------------- */

static bool is_name_for(const char *name, size_t len, const char *host)
{
    const char *dot = strchr(host, '.');

    if (len > 2 && name[0] == '*' && name[1] == '.' && dot) {
        name++;
        len--;
        host = dot;
    }
    return strlen(host) == len && strncasecmp(name, host, len) == 0;
}

bool judge_names_cover(const char *names, const char *host)
{
    while (*names) {
        size_t len = strcspn(names, ",");

        if (is_name_for(names, len, host))
            return true;
        names += len;
        names += strspn(names, ", ");
    }
    return false;
}

static bool is_loopback(const char *host)
{
    return !strcmp(host, "localhost") || !strcmp(host, "::1") ||
           !strncmp(host, "127.", 4);
}

static void judge_plain(const struct master_facts *master, struct findings *out)
{
    if (is_loopback(master->host))
        finding_ok(out, "%s is on this machine and needs no certificate", master->url);
    else
        finding_bad(out, FINDING_WARN,
                    finding_text(out, "%s is not encrypted", master->url),
                    "everybody on the way can read tokens and change what is sent",
                    "start the master with TLS (det serve --tls), and use its https:// "
                    "address");
}

static void judge_validity(const struct master_facts *master, int64_t now_us,
                           struct findings *out)
{
    char warning[CERTIFICATE_WARNING];
    bool is_covered = judge_names_cover(master->certificate_names, master->host);

    if (certificate_warning(master->certificate_end_us, now_us, warning))
        finding_bad(out,
                    master->certificate_end_us <= now_us ? FINDING_FAIL : FINDING_WARN,
                    finding_text(out, "The certificate of %s %s", master->url, warning),
                    "agents and programs refuse a master with an expired one",
                    "put a new one in place; the master reads it without a restart");
    if (!is_covered)
        finding_bad(out, FINDING_WARN,
                    finding_text(out, "The certificate of %s is for %s, not for '%s'",
                                 master->url, master->certificate_names, master->host),
                    "browsers and other clients refuse it under this name",
                    "use one of its names, or have a certificate made for this one");
    if (is_covered && !certificate_warning(master->certificate_end_us, now_us, warning))
        finding_ok(out, "The certificate of %s is %svalid for %s", master->url,
                   master->state == MASTER_ANSWERS ? "trusted and " : "",
                   finding_time(out, master->certificate_end_us - now_us));
}

void judge_certificate(const struct doctor_facts *facts, struct findings *out)
{
    const struct master_facts *master = &facts->master;

    if (master->state == MASTER_DISTRUSTED)
        finding_bad(
            out, FINDING_FAIL,
            finding_text(out, "The certificate of %s is not trusted here", master->url),
            master->problem,
            finding_text(out,
                         "compare its fingerprint with that of 'det master "
                         "certificate' on its machine, then run 'det trust %s'",
                         master->url));
    else if (master->state == MASTER_ANSWERS && !master->is_tls)
        judge_plain(master, out);
    if (master->state >= MASTER_DISTRUSTED && master->is_tls &&
        master->certificate_end_us != DOCTOR_UNKNOWN)
        judge_validity(master, facts->now_us, out);
}

/* ---- clocks ---------------------------------------------------------------------- */

static const int64_t clock_off_us = INT64_C(5) * 1000000;
static const int64_t clock_far_off_us = INT64_C(300) * 1000000;

#define USE_NTP "let both get the time from the network (chrony, systemd-timesyncd)"

/* The master says only the second of its answer, and the call took a while: the least
 * difference that explains it.  Positive: the master is ahead. */
static int64_t master_ahead_us(const struct master_facts *master)
{
    int64_t least = master->date_us - master->answered_us;
    int64_t most = master->date_us + 1000000 - master->asked_us;

    return least > 0 ? least : most < 0 ? most : 0;
}

static void judge_clock(struct findings *out, const char *who, int64_t ahead_us,
                        const char *than, const char *harm)
{
    int64_t off_us = ahead_us < 0 ? -ahead_us : ahead_us;

    if (off_us < clock_off_us)
        return;
    finding_bad(out, off_us >= clock_far_off_us ? FINDING_FAIL : FINDING_WARN,
                finding_text(out, "The clock of %s is %s %s that of %s", who,
                             finding_time(out, off_us),
                             ahead_us > 0 ? "ahead of" : "behind", than),
                harm, USE_NTP);
}

void judge_clocks(const struct doctor_facts *facts, struct findings *out)
{
    const struct master_facts *master = &facts->master;
    const struct agents_facts *agents = &facts->agents;
    size_t before = out->count[FINDING_WARN] + out->count[FINDING_FAIL];
    size_t known = 0;

    if (master->state != MASTER_ANSWERS)
        return;
    if (master->date_us != DOCTOR_UNKNOWN)
        judge_clock(out, "the master", master_ahead_us(master), "this host",
                    "times on the two do not fit together, and certificates and tokens "
                    "may be refused");
    for (size_t i = 0; i < agents->count; i++) {
        if (agents->at[i].clock_ahead_us == DOCTOR_UNKNOWN)
            continue;
        known++;
        judge_clock(out, finding_text(out, "agent '%s'", agents->at[i].name),
                    agents->at[i].clock_ahead_us, "the master",
                    "the lines and metrics of its tasks have wrong times");
    }
    if (out->count[FINDING_WARN] + out->count[FINDING_FAIL] > before)
        return;
    if (master->date_us == DOCTOR_UNKNOWN && !known)
        finding_skip(out, "The time of the master is not known");
    else
        finding_ok(out, "The clocks of this host%s agree",
                   known ? finding_text(out, ", the master and %zu %s", known,
                                        known == 1 ? "agent" : "agents")
                         : " and the master");
}

/* ---- agents ---------------------------------------------------------------------- */

/* Whether the agents are known; judge_agents() says why not. */
static bool are_known(const struct doctor_facts *facts)
{
    return facts->master.state == MASTER_ANSWERS && !facts->agents.problem;
}

void judge_versions(const struct doctor_facts *facts, struct findings *out)
{
    const struct master_facts *master = &facts->master;
    size_t other = 0;

    if (master->state != MASTER_ANSWERS)
        return;
    if (strcmp(master->version, facts->version) != 0)
        finding_bad(out, FINDING_WARN,
                    finding_text(out, "This program is version %s, and the master %s",
                                 facts->version, master->version),
                    "one of them may not know what the other asks for",
                    "install the version of the master here, or upgrade the master "
                    "first and then everything else");
    for (size_t i = 0; are_known(facts) && i < facts->agents.count; i++) {
        const struct agent_fact *agent = &facts->agents.at[i];

        if (!strcmp(agent->version, master->version))
            continue;
        other++;
        finding_bad(out, FINDING_WARN,
                    finding_text(
                        out, "Agent '%s' is version %s, and the master %s", agent->name,
                        *agent->version ? agent->version : "unknown", master->version),
                    "it runs its tasks with the older program and library",
                    "install the master's version on its machine and start it again; "
                    "its tasks go on");
    }
    if (!other && !strcmp(master->version, facts->version))
        finding_ok(out, "This program%s are version %s (agent protocol %d)",
                   are_known(facts) && facts->agents.count
                       ? ", the master and all agents"
                       : " and the master",
                   facts->version, AGENT_PROTOCOL);
}

static void judge_silent(const struct agent_fact *agent, struct findings *out)
{
    finding_bad(out, FINDING_FAIL,
                agent->quiet_us == DOCTOR_UNKNOWN
                    ? finding_text(out, "Agent '%s' is not connected", agent->name)
                    : finding_text(out, "Agent '%s' has not been heard for %s",
                                   agent->name, finding_time(out, agent->quiet_us)),
                "its slots get no tasks, and its tasks are lost if it stays away",
                "look on its machine: does 'det agent run' still run, and does 'det "
                "doctor -m ADDRESS' reach the master from there?");
}

void judge_agents(const struct doctor_facts *facts, struct findings *out)
{
    const struct agents_facts *agents = &facts->agents;
    size_t connected = 0, enabled = 0;

    if (facts->master.state != MASTER_ANSWERS)
        return;
    if (agents->problem) {
        finding_bad(out, FINDING_WARN, "The agents cannot be looked at",
                    agents->problem,
                    agents->is_not_logged_in ? "log in with 'det user login NAME'"
                                             : "ask an administrator");
        return;
    }
    for (size_t i = 0; i < agents->count; i++) {
        connected += agents->at[i].is_connected;
        enabled += agents->at[i].is_connected && agents->at[i].is_enabled;
        if (!agents->at[i].is_connected)
            judge_silent(&agents->at[i], out);
    }
    if (!agents->count)
        finding_bad(out, FINDING_WARN, "No agent has joined the master",
                    "experiments and jobs wait", "start one with 'det agent run'");
    else if (connected && !enabled)
        finding_bad(out, FINDING_WARN, "All agents are disabled",
                    "experiments and jobs wait",
                    "allow them to take tasks with 'det agent enable AGENT'");
    else if (connected == agents->count)
        finding_ok(out, "%zu %s connected%s", connected,
                   connected == 1 ? "agent is" : "agents are",
                   enabled < connected ? finding_text(out, ", %zu of them disabled",
                                                      connected - enabled)
                                       : "");
}

void judge_agent_disks(const struct doctor_facts *facts, struct findings *out)
{
    const struct agents_facts *agents = &facts->agents;

    for (size_t i = 0; are_known(facts) && i < agents->count; i++)
        if (agents->at[i].disk_free_bytes != DOCTOR_UNKNOWN)
            judge_free_space(
                out, finding_text(out, "Agent '%s'", agents->at[i].name),
                agents->at[i].disk_free_bytes, DOCTOR_UNKNOWN,
                "its tasks cannot store output, environments and checkpoints");
}
