/* SPDX-License-Identifier: Apache-2.0 */
#include "main/log_config.h"

#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "cli/output/term.h"
#include "data/json/json.h"

void log_config_apply(const struct json *config, const char *process)
{
    enum log_level level =
        log_level_named(json_str(json_path(config, "log.level"), "info"));
    bool is_json = !strcmp(json_str(json_path(config, "log.format"), "text"), "json");
    bool has_colors = json_bool(json_path(config, "log.color"), true) &&
                      term_of(STDERR_FILENO).has_color;

    if (level < LOG_DEBUG && json_bool(json_get(config, "debug"), false))
        level = LOG_DEBUG; /* an agent's key */
    log_set_format(is_json ? LOG_JSON : LOG_TEXT, process, has_colors);
    log_setup(level, STDERR_FILENO);
}
