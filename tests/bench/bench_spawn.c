/* SPDX-License-Identifier: Apache-2.0 */
/* bench_spawn.c - what it takes to start things; without an interpreter's own cost in
 * it.
 *
 *   bench_spawn run ROUNDS COMMAND [ARG ...] [-- COMMAND ...]
 *       starts each command in turn and waits for its end
 *   bench_spawn serve ROUNDS PORT COMMAND [ARG ...]
 *       starts /bin/true, then the server until it answers GET /health (and then ends
 * it) bench_spawn stamped ROUNDS FILE COMMAND [ARG ...] [-- COMMAND ...] each command
 * makes, itself or somewhere far off, `bench_spawn stamp FILE` run: the time until that
 * one's first instruction bench_spawn stamp FILE
 *
 * Rounds are interleaved.  Prints the median of each command in microseconds, on one
 * line. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

enum { COMMANDS_MAX = 8, ROUNDS_MAX = 1000, PATIENCE_US = 120 * 1000 * 1000 };

struct race {
    char **command[COMMANDS_MAX];
    int commands;
    int rounds;
    const char *stamp; /* NULL: until the command's end */
    uint16_t port;     /* 0: no server */
    int64_t time_us[COMMANDS_MAX][ROUNDS_MAX];
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_spawn: %s: %s\n", what, text);
    exit(1);
}

/* What it prints goes nowhere; a server's log neither. */
static pid_t start(char **command, bool is_server)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int code;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (is_server)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    code = posix_spawnp(&pid, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code)
        fail(command[0], strerror(code));
    return pid;
}

static void end(pid_t pid, const char *name)
{
    int status;

    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
        fail(name, "did not end well");
}

/* ---- until a server answers ------------------------------------------------------ */

/* False: nobody listens yet. */
static bool is_answered(uint16_t port)
{
    static const char ask[] = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char reply[64];
    ssize_t got = -1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
        send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) > 0)
        got = recv(fd, reply, sizeof(reply), 0);
    close(fd);
    return got >= 12 && !strncmp(reply, "HTTP/1.1 200", 12);
}

static int64_t time_server(const struct race *race, char **command)
{
    int64_t from_us = now_us();
    pid_t pid = start(command, true);
    int64_t took_us;

    while (!is_answered(race->port)) {
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000}, NULL);
        if (now_us() - from_us > PATIENCE_US || waitpid(pid, NULL, WNOHANG) == pid)
            fail(command[0], "never answered");
    }
    took_us = now_us() - from_us;
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    return took_us;
}

/* ---- until somebody's first instruction ------------------------------------------ */

static int stamp(const char *path, int64_t at_us)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRId64 "\n", at_us);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, (size_t)len) != len)
        return 1;
    return close(fd) ? 1 : 0;
}

/* 0: not there yet, or not whole. */
static int64_t read_stamp(const char *path)
{
    char text[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (len <= 0 || text[len - 1] != '\n')
        return 0;
    text[len] = '\0';
    return strtoll(text, NULL, 10);
}

static int64_t time_stamp(const struct race *race, char **command)
{
    int64_t from_us;
    int64_t at_us;
    pid_t pid;

    unlink(race->stamp);
    from_us = now_us();
    pid = start(command, false);
    while (!(at_us = read_stamp(race->stamp))) {
        nanosleep(&(struct timespec){.tv_nsec = 500 * 1000}, NULL);
        if (now_us() - from_us > PATIENCE_US)
            fail(command[0], "the stamp never came");
    }
    end(pid, command[0]);
    return at_us - from_us;
}

/* ---- the race -------------------------------------------------------------------- */

static int64_t time_end(char **command)
{
    int64_t from_us = now_us();

    end(start(command, false), command[0]);
    return now_us() - from_us;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void run(struct race *race)
{
    for (int round = 0; round < race->rounds; round++) {
        for (int i = 0; i < race->commands; i++) {
            char **command = race->command[i];

            race->time_us[i][round] = race->stamp       ? time_stamp(race, command)
                                      : race->port && i ? time_server(race, command)
                                                        : time_end(command);
        }
    }
    for (int i = 0; i < race->commands; i++) {
        qsort(race->time_us[i], (size_t)race->rounds, sizeof(int64_t), by_size);
        printf("%" PRId64 "%c", race->time_us[i][race->rounds / 2],
               i + 1 < race->commands ? ' ' : '\n');
    }
}

/* Cuts the words into commands at each "--". */
static void add_commands(struct race *race, char **words)
{
    while (*words && race->commands < COMMANDS_MAX) {
        race->command[race->commands++] = words;
        while (*words && strcmp(*words, "--"))
            words++;
        if (*words)
            *words++ = NULL;
    }
}

int main(int argc, char **argv)
{
    char true_path[] = "/bin/true";
    char *nothing[] = {true_path, NULL};
    int64_t born_us = now_us();
    static struct race race;
    char **rest = argv + 3;

    if (argc == 3 && !strcmp(argv[1], "stamp"))
        return stamp(argv[2], born_us);
    if (argc < 5)
        fail("usage", "bench_spawn run|serve|stamped ROUNDS ...");
    race.rounds = (int)MIN(MAX(strtol(argv[2], NULL, 10), 1), ROUNDS_MAX);
    if (!strcmp(argv[1], "serve")) {
        race.port = (uint16_t)strtoul(*rest++, NULL, 10);
        race.command[race.commands++] = nothing;
    } else if (!strcmp(argv[1], "stamped")) {
        race.stamp = *rest++;
    } else if (strcmp(argv[1], "run")) {
        fail("unknown", argv[1]);
    }
    add_commands(&race, rest);
    run(&race);
    return 0;
}
