/* SPDX-License-Identifier: Apache-2.0 */
/* complete_ids.c - `det internal complete KIND`: the ids that completion offers.
 *
 * A shell calls it when somebody presses Tab.  So it asks nothing, starts no master, says
 * nothing when something fails, and ends after a short time whatever happens.
 *
 * To add a kind: add a row here, and let completion_kind() find it. */
#include "cli/help/complete_ids.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/command_row.h"
#include "cli/frame/connect.h"
#include "data/json/json.h"

enum { PATIENCE_S = 3, EXPERIMENTS_MOST = 5 };

#define NEWEST "sortBy=SORT_BY_ID&orderBy=ORDER_BY_DESC"

struct kind {
    const char *name;
    const char *path; /* of the list; a kind of an experiment: behind its path */
    const char *list; /* its name in the reply */
    const char *id;
    bool is_of_experiment; /* of the newest experiments */
};

static const struct kind kinds[] = {
    {"experiment",
     "/api/v1/experiments?limit=100&archived=false&excludeConfig=true&" NEWEST,
     "experiments", "id", false},
    {"trial", "trials?limit=50&" NEWEST, "trials", "id", true},
    {"checkpoint", "checkpoints?limit=20&sortByAttr=SORT_BY_END_TIME", "checkpoints",
     "uuid", true},
    {"agent", "/api/v1/agents", "agents", "id", false},
    {"task", "/api/v1/tasks", "allocationIdToSummary", "taskId", false},
    {"tensorboard", "/api/v1/tensorboards", "tensorboards", "id", false},
    {"workspace", "/api/v1/workspaces", "workspaces", "name", false},
    {"user", "/api/v1/users", "users", "username", false},
};

/* ---- which kind ------------------------------------------------------------------ */

static bool begins(const char *text, const char *word)
{
    return !strncmp(text, word, strlen(word));
}

const char *completion_kind(const struct cli_command *command)
{
    static const char *const own[] = {"experiment", "trial", "tensorboard"};
    const char *word = command->synopsis + (*command->synopsis == '[');

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (begins(word, "ID") && !strcmp(command->noun, own[i]))
            return own[i];
    if (begins(word, "UUID"))
        return "checkpoint";
    if (begins(word, "JOB") || begins(word, "EXPERIMENT"))
        return "experiment";
    if (begins(word, "AGENT"))
        return "agent";
    if (begins(word, "TASK"))
        return "task";
    if (begins(word, "WORKSPACE"))
        return "workspace";
    if (begins(word, "NAME") &&
        (!strcmp(command->noun, "workspace") || !strcmp(command->noun, "user")))
        return command->noun;
    return NULL;
}

const char *completion_value_kind(const struct cli_opt *opt)
{
    if (!opt->value)
        return NULL;
    if (!strcmp(opt->value, "UUID"))
        return "checkpoint";
    if (!strcmp(opt->name, "experiment") || !strcmp(opt->name, "fork"))
        return "experiment";
    if (!strcmp(opt->name, "trial") || !strcmp(opt->name, "trial-ids"))
        return "trial";
    if (!strcmp(opt->value, "WORKSPACE"))
        return "workspace";
    return NULL;
}

/* ---- asking ---------------------------------------------------------------------- */

/* Ids with a space or with a sign of the shell cannot be offered. */
static bool is_word(const char *text)
{
    return *text && !strpbrk(text, " \t\r\n\"'`$\\*?[]{}()<>|&;!#~");
}

static void put_ids(struct cli *cli, const struct kind *kind, const struct json *reply)
{
    json_each(item, json_get(reply, kind->list)) {
        const struct json *id = json_get(item, kind->id);

        if (id && id->kind == JSON_INT)
            cli_put(cli, "%" PRId64 "\n", json_i64(id, 0));
        else if (is_word(json_str(id, "")))
            cli_put(cli, "%s\n", json_str(id, ""));
    }
}

static void put_of_experiments(struct cli *cli, det_client *client,
                               const struct kind *kind)
{
    const struct json *reply = cli_try_get(client, kinds[0].path, &cli->mem);
    int count = 0;

    json_each(e, json_get(reply, "experiments")) {
        if (count++ == EXPERIMENTS_MOST)
            return;
        put_ids(
            cli, kind,
            cli_try_get(client,
                        arena_printf(&cli->mem, "/api/v1/experiments/%" PRId64 "/%s",
                                     json_i64(json_get(e, "id"), 0), kind->path),
                        &cli->mem));
    }
}

/* Quietly: a shell would print the name of a signal. */
static void give_up(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

det_status run_internal_complete(struct cli *cli, const struct cli_invocation *in)
{
    det_client *client;

    signal(SIGALRM, give_up);
    alarm(PATIENCE_S);
    if (cli_open_second(cli, &client))
        return DET_OK;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].name, in->args[0]))
            continue;
        if (kinds[i].is_of_experiment)
            put_of_experiments(cli, client, &kinds[i]);
        else
            put_ids(cli, &kinds[i], cli_try_get(client, kinds[i].path, &cli->mem));
    }
    det_client_close(client);
    return DET_OK;
}
