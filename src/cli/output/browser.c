/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value;
}

/* In its own process group: Ctrl-C ends this command, not the browser. */
static void start_first_browser(const char *url,
                                const posix_spawn_file_actions_t *actions,
                                const posix_spawnattr_t *attributes)
{
    const char *names[] = {is_set("BROWSER") ? getenv("BROWSER") : NULL, "xdg-open",
                           "open"};
    pid_t pid;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *argv[] = {names[i], url, NULL};

        if (names[i] && !posix_spawnp(&pid, names[i], actions, attributes,
                                      (char *const *)(uintptr_t)argv, environ))
            return;
    }
}

void browser_open(const char *url, const sigset_t *usual)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    short flags = POSIX_SPAWN_SETPGROUP;

    if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("BROWSER"))
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (usual) {
        flags |= POSIX_SPAWN_SETSIGMASK;
        posix_spawnattr_setsigmask(&attributes, usual);
    }
    posix_spawnattr_setflags(&attributes, flags);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
                                         fd ? O_WRONLY : O_RDONLY, 0);
    start_first_browser(url, &actions, &attributes);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
}
