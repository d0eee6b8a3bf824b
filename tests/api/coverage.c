/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/api/coverage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "wire/route.h"

static const char program_prefix[] = "test_api_";

static _Atomic bool is_called[ROUTE_COUNT];
static pid_t main_pid; /* a forked child does not write the file again */

void coverage_note(enum net_method method, const char *path)
{
    static const enum route_method of[] = {[NET_GET] = ROUTE_GET,
                                           [NET_POST] = ROUTE_POST,
                                           [NET_PUT] = ROUTE_PUT,
                                           [NET_PATCH] = ROUTE_PATCH,
                                           [NET_DELETE] = ROUTE_DELETE};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char *plain = arena_strndup(&mem, path, strcspn(path, "?"));
    struct route_match match;

    if (method <= NET_DELETE && !route_find(of[method], plain, &mem, &match, NULL))
        is_called[match.route->id] = true;
}

/* The path of this program, and where its name begins after "test_api_". */
static const char *own_name(char path[static 1024])
{
    ssize_t len = readlink("/proc/self/exe", path, 1023);
    const char *name;

    path[len > 0 ? len : 0] = '\0';
    name = strrchr(path, '/');
    if (!name || strncmp(name + 1, program_prefix, strlen(program_prefix)) != 0)
        return NULL;
    return name + 1 + strlen(program_prefix);
}

static void route_line(int id, char line[static 256])
{
    snprintf(line, 256, "%s %s\n", route_method_names[routes[id].method],
             routes[id].path);
}

__attribute__((constructor)) static void remember_pid(void)
{
    main_pid = getpid();
}

__attribute__((destructor)) static void write_routes(void)
{
    const char *dir = getenv("API_ROUTES_DIR");
    char exe[1024], path[1100], line[256];
    const char *name = own_name(exe);
    FILE *file;

    if (!dir || !name || getpid() != main_pid)
        return;
    (void)mkdir(dir, 0777);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "we");
    if (!file)
        return; /* test_routes.c misses it */
    for (int i = 0; i < ROUTE_COUNT; i++)
        if (is_called[i]) {
            route_line(i, line);
            fputs(line, file);
        }
    (void)fclose(file);
}

/* Whether `path` was written after the program test_api_NAME beside this one. */
static bool is_newer_than_program(const char *path, const char *name)
{
    char exe[1024], program[1400];
    const char *own = own_name(exe);
    struct stat file, built;

    if (!own)
        return false;
    snprintf(program, sizeof(program), "%.*s%s", (int)(own - exe), exe, name);
    if (stat(path, &file) || stat(program, &built))
        return false;
    return file.st_mtim.tv_sec != built.st_mtim.tv_sec
               ? file.st_mtim.tv_sec > built.st_mtim.tv_sec
               : file.st_mtim.tv_nsec > built.st_mtim.tv_nsec;
}

bool coverage_read(const char *name, bool *called)
{
    const char *dir = getenv("API_ROUTES_DIR");
    char path[1100], line[256], wanted[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir ? dir : "", name);
    if (!dir || !is_newer_than_program(path, name))
        return false;
    file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file))
        for (int i = 0; i < ROUTE_COUNT; i++) {
            route_line(i, wanted);
            called[i] |= strcmp(line, wanted) == 0;
        }
    (void)fclose(file);
    return true;
}
