/* SPDX-License-Identifier: Apache-2.0 */
/* missing.c - commands and options of Determined that det does not have, and what to use.
 *
 * Without a row here, a word gets the nearest word of ours as a suggestion, which would
 * mislead somebody who knows exactly what he wants. */
#include "cli/frame/commands.h"

#include <stddef.h>

#define OTHER_ORDERS                                                                   \
    "the searcher's metric decides; 'det checkpoint list' shows all, and 'det "        \
    "checkpoint download UUID' copies one"
#define JOBS "'det job run CONFIG' runs a program without metrics"
#define TEMPLATES                                                                      \
    "keep the common keys in a configuration file of your own; 'det experiment "       \
    "create --config KEY=VALUE' overrides keys of it"
#define POOLS  "'det agent list' shows the agents of each pool"
#define MODELS "'det checkpoint list' and 'det checkpoint download' give the files"
#define TENSORBOARD_FILES                                                              \
    "TensorBoard starts without files or a configuration; --name, --workspace-name "   \
    "and --timeout set what can be set"

const struct cli_missing cli_missing[] = {
    {"auth", NULL, "'det user login' and 'det user logout' do this"},
    {"command", NULL, JOBS},
    {"cmd", NULL, JOBS},
    {"config-policies", NULL, "the master's configuration sets defaults for everybody"},
    {"deploy", NULL,
     "'det serve' runs a master and an agent, 'det agent run' another agent"},
    {"dev", NULL,
     "the REST API is at /api/v1, and 'det COMMAND --json' prints its replies"},
    {"m", NULL, MODELS},
    {"model", NULL, MODELS},
    {"notebook", NULL, "'det job run CONFIG' can start Jupyter"},
    {"oauth", NULL, "'det user login --sso' signs in with a browser"},
    {"resource-pool", NULL, POOLS},
    {"rp", NULL, POOLS},
    {"shell", NULL, "'det job run CONFIG' runs a command where the agents are"},
    {"sso", NULL, "'det user login --sso' signs in with a browser"},
    {"template", NULL, TEMPLATES},
    {"tpl", NULL, TEMPLATES},

    {"checkpoint rm", NULL, "'det checkpoint delete UUID' deletes a whole checkpoint"},
    {"experiment delete-tb-files", NULL,
     "'det experiment delete ID' deletes an experiment with its checkpoints"},
    {"job update-batch", NULL, "'det job update JOB' changes one job"},
    {"master cluster-message", NULL, "there is no message to all users yet"},
    {"task cleanup-logs", NULL,
     "the master removes old lines itself; 'det experiment set log-retention' says "
     "when"},
    {"tensorboard describe", NULL, "'det task describe ID' shows it"},
    {"trial support-bundle", NULL,
     "'det trial logs', 'det trial describe --json' and 'det trial environment' print "
     "what it would contain"},
    {"workspace bindings", NULL,
     "'det workspace list-pools NAME' lists the pools that a workspace may use"},

    {"experiment create", "template", TEMPLATES},
    {"experiment create", "publish", "ports of a trial cannot be forwarded"},
    {"experiment describe", "outdir",
     "'det experiment describe ID --csv > FILE' writes the table"},
    {"experiment download", "sort-by", OTHER_ORDERS},
    {"experiment download", "smaller-is-better", OTHER_ORDERS},
    {"trial download", "sort-by", OTHER_ORDERS},
    {"trial download", "smaller-is-better", OTHER_ORDERS},
    {"tensorboard start", "config", TENSORBOARD_FILES},
    {"tensorboard start", "config-file", TENSORBOARD_FILES},
    {"tensorboard start", "context", TENSORBOARD_FILES},
    {"tensorboard start", "include", TENSORBOARD_FILES},
    {"user logout", "all", "'det -u NAME user logout' ends the session of one user"},
    {NULL, NULL, NULL},
};
