/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/task/process_tree.h"
#include "agent/task/task_dir.h"

static const char *const words[] = {
    "", "ping", "term", "kill", "master",
};

static void closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* The address of DIR/control through a descriptor, which the caller closes. */
static int address_of(const char *dir, struct sockaddr_un *ret_address)
{
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
             "/proc/self/fd/%d/" TASK_DIR_CONTROL, fd);
    return fd;
}

det_status control_listen(const char *dir, int *ret_fd, struct err *err)
{
    struct sockaddr_un address;
    CLEANUP(closep) int dir_fd = address_of(dir, &address);
    CLEANUP(closep) int fd = -1;

    if (dir_fd < 0)
        return err_errno(err, errno, "cannot open '%s'", dir);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(err, errno, "cannot make a socket");
    unlinkat(dir_fd, TASK_DIR_CONTROL, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
        return err_errno(err, errno, "cannot listen at '%s/" TASK_DIR_CONTROL "'", dir);
    /* DIR may be opened for others to pass through. */
    if (fchmodat(dir_fd, TASK_DIR_CONTROL, 0600, 0))
        return err_errno(err, errno, "cannot close '%s/" TASK_DIR_CONTROL "' to others",
                         dir);
    *ret_fd = fd;
    fd = -1;
    return DET_OK;
}

static enum control_word word_of(const char *text)
{
    for (size_t i = CONTROL_PING; i < ARRAY_LEN(words); i++)
        if (strcmp(text, words[i]) == 0)
            return (enum control_word)i;
    return CONTROL_NONE;
}

enum control_word control_next(int fd, char ret_argument[CONTROL_TEXT])
{
    for (;;) {
        struct sockaddr_un from;
        socklen_t from_len = sizeof(from);
        char text[CONTROL_TEXT];
        enum control_word word;
        char *rest;
        const char *answer;
        ssize_t len = recvfrom(fd, text, sizeof(text) - 1, 0, (struct sockaddr *)&from,
                               &from_len);

        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return CONTROL_NONE;
        text[len] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
        rest = text + strcspn(text, " ");
        rest += *rest ? 1 : 0;
        snprintf(ret_argument, CONTROL_TEXT, "%s", rest);
        text[strcspn(text, " ")] = '\0';
        word = word_of(text);
        answer = word ? "ok" : "unknown";
        /* A sender that does not wait for the answer does not get it. */
        (void)!sendto(fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT,
                      (struct sockaddr *)&from, from_len);
        if (word)
            return word;
    }
}

static det_status unreachable(const char *dir, int code, struct err *err)
{
    return err_set(err, DET_UNREACHABLE, "no supervisor listens in '%s': %s", dir,
                   strerror(code));
}

det_status control_send(const char *dir, enum control_word word, int timeout_ms,
                        struct err *err)
{
    det_status status = control_tell(dir, word, NULL, timeout_ms, err);
    pid_t pid = 0;

    /* A supervisor whose directory was removed takes a signal. */
    if (status == DET_UNREACHABLE && word == CONTROL_TERM && access(dir, F_OK))
        (void)process_tree_supervisor(dir, &pid, NULL);
    return pid && !kill(pid, SIGTERM) ? DET_OK : status;
}

det_status control_tell(const char *dir, enum control_word word, const char *argument,
                        int timeout_ms, struct err *err)
{
    /* The kernel chooses our address, to which the answer is sent. */
    const struct sockaddr own = {.sa_family = AF_UNIX};
    struct sockaddr_un address;
    CLEANUP(closep) int dir_fd = address_of(dir, &address);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    char text[CONTROL_TEXT] = "";
    int len = snprintf(text, sizeof(text), "%s%s%s", words[word], argument ? " " : "",
                       argument ? argument : "");

    if (len >= (int)sizeof(text))
        return err_set(err, DET_TOO_LARGE, "'%s' is too long for a message", argument);
    if (dir_fd < 0 || fd < 0)
        return unreachable(dir, errno, err);
    if (bind(fd, &own, sizeof(own.sa_family)) ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
        send(fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return unreachable(dir, errno, err);
    len = poll(&answer, 1, timeout_ms) > 0
              ? (int)recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)
              : -1;
    if (len < 0)
        return err_set(err, DET_TIMEOUT, "the supervisor in '%s' does not answer", dir);
    text[len] = '\0';
    if (strcmp(text, "ok") != 0)
        return err_set(err, DET_UNSUPPORTED,
                       "the supervisor in '%s' does not know '%s'", dir, words[word]);
    return DET_OK;
}
