/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - the trial of the crash campaigns (campaign.py): reports, prints and saves
 * as fast as it can, and keeps a diary of what was acknowledged to it.
 *
 * Every value is a function of trial and step, and every line is numbered: the check
 * can find a row or a line that is lost, doubled or of another trial.  The program
 * speaks HTTP over a bare socket: like a foreign harness it shares no code with the
 * platform.
 *
 * The diary, CAMPAIGN_DIR/diary/TRIAL.RUN, has one line for each thing; each is one
 * write(2), which a SIGKILL leaves whole:
 *
 *   b STEPS UUID    this run begins after STEPS, from that checkpoint ("-": none)
 *   t GROUP STEPS   a report is about to be sent
 *   m GROUP STEPS   ... was taken
 *   T UUID STEPS    a checkpoint is about to be reported
 *   C UUID STEPS    ... was taken
 *   w OUT ERR       so many lines were written to stdout and stderr
 *   k OUT ERR       so many of them has the supervisor kept (look_at_pipe())
 *   x STATUS        the master refused something; this run ends
 *   p               it was asked to stop, has said that it will, and ends
 *   e               all steps are done
 *
 * Environment: CAMPAIGN_DIR, STORAGE, STEPS, EVERY (steps between checkpoints), LINES
 * (a step), PAUSE_MS (after each step; none unless given). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 4096, STREAMS = 2, AGAIN_MS = 50, UUID = 37, REFUSED = 3, BROKEN = 4 };

struct pipe_end {
    int fd;
    long written;
    long drained; /* the pipe was seen empty after so many lines */
    long kept;    /* ... and once more later: these were dealt with in between */
};

struct trial {
    long id;
    long run;
    long steps; /* to do in all */
    long every;
    long lines;
    long pause_ms;
    double lr;
    const char *dir;
    const char *storage;
    int diary;
    int fd; /* the connection; -1: none */
    struct pipe_end stream[STREAMS];
};

/* ---- small things ---------------------------------------------------------------- */

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(BROKEN);
}

static const char *text_of(const char *name, const char *otherwise)
{
    const char *text = getenv(name);

    return text && *text ? text : otherwise;
}

static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static void rest(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void __attribute__((format(printf, 2, 3)))
note(struct trial *t, const char *fmt, ...)
{
    char text[256];
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (write(t->diary, text, (size_t)len) != len)
        die("the diary");
}

/* ---- calling the master ---------------------------------------------------------- */

static int dial(void)
{
    const struct timeval patience = {.tv_sec = 30};
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;

    to.sin_port = htons((uint16_t)number_of("DET_MASTER_PORT", 8080));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

/* The status of one whole reply; 0: it was cut off. */
static int receive(int fd, char *text, size_t size)
{
    size_t len = 0;

    for (;;) {
        ssize_t got = recv(fd, text + len, size - 1 - len, 0);
        const char *end, *length;

        if (got <= 0)
            return 0;
        len += (size_t)got;
        text[len] = '\0';
        end = strstr(text, "\r\n\r\n");
        if (!end)
            continue;
        length = strcasestr(text, "content-length:");
        if (!length || length > end)
            return 0;
        if (len >= (size_t)(end - text) + 4 + strtoul(length + 15, NULL, 10))
            return strncmp(text, "HTTP/1.1 ", 9) ? 0 : (int)strtol(text + 9, NULL, 10);
    }
}

/* A GET where `body` is NULL. */
static int call_once(struct trial *t, const char *path, const char *body, char *reply)
{
    char head[TEXT];
    int len = snprintf(head, sizeof(head),
                       "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Grpc-Metadata-x-allocation-token: Bearer %s\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       body ? "POST" : "GET", path, text_of("DET_SESSION_TOKEN", ""),
                       body ? strlen(body) : 0, body ? body : "");
    int status = 0;

    if (t->fd < 0)
        t->fd = dial();
    if (t->fd >= 0 && send_all(t->fd, head, (size_t)len))
        status = receive(t->fd, reply, TEXT);
    if (status != 200 && t->fd >= 0) {
        close(t->fd);
        t->fd = -1;
    }
    return status;
}

/* Repeats the call until the master answers.  A refusal ends this run. */
static void call(struct trial *t, const char *path, const char *body, char *reply)
{
    int status;

    while ((status = call_once(t, path, body, reply)) == 0 || status == 503)
        rest(AGAIN_MS);
    if (status == 200)
        return;
    note(t, "x %d\n", status);
    fprintf(stderr, "refused: %s %s: %s\n", path, body ? body : "", reply);
    exit(REFUSED);
}

/* ---- what a trial does ----------------------------------------------------------- */

static void report(struct trial *t, const char *group, long steps, double loss)
{
    char path[64];
    char body[512];
    char reply[TEXT];

    snprintf(path, sizeof(path), "/api/v1/trials/%ld/metrics", t->id);
    snprintf(body, sizeof(body),
             "{\"group\":\"%s\",\"metrics\":{\"trialId\":%ld,\"trialRunId\":%ld,"
             "\"stepsCompleted\":%ld,\"metrics\":{\"avgMetrics\":{\"loss\":%.17g,"
             "\"step\":%ld}}}}",
             group, t->id, t->run, steps, loss, steps);
    note(t, "t %s %ld\n", group, steps);
    call(t, path, body, reply);
    note(t, "m %s %ld\n", group, steps);
}

/* An empty pipe was read to its end.  When the reader has drained something later, it
 * has stored everything that it drained before. */
static void look_at_pipe(struct pipe_end *p)
{
    int waiting = 1;

    if (p->written == p->drained || ioctl(p->fd, FIONREAD, &waiting) || waiting)
        return;
    p->kept = p->drained;
    p->drained = p->written;
}

static void print(struct trial *t, int i)
{
    struct pipe_end *p = &t->stream[i];
    char line[128];
    int len = snprintf(line, sizeof(line), "line %ld %ld %d %ld\n", t->id, t->run, i,
                       p->written + 1);

    if (write(p->fd, line, (size_t)len) != len)
        die("write");
    p->written++;
    look_at_pipe(p);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fsync(fd))
        die(path);
    close(fd);
}

static void new_uuid(char uuid[UUID])
{
    unsigned char b[16];

    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        die("getrandom");
    snprintf(uuid, UUID,
             "%02x%02x%02x%02x-%02x%02x-4%x%02x-8%x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6] & 15, b[7], b[8] & 15, b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}

static void save(struct trial *t, long steps)
{
    char uuid[UUID];
    char new[TEXT], path[TEXT], body[TEXT], reply[TEXT], text[128];

    new_uuid(uuid);
    snprintf(new, sizeof(new), "%s/%s.new", t->storage, uuid);
    if (mkdir(new, 0755))
        die(new);
    snprintf(path, sizeof(path), "%s/%s.new/state", t->storage, uuid);
    snprintf(text, sizeof(text), "trial %ld steps %ld\n", t->id, steps);
    write_file(path, text);
    snprintf(path, sizeof(path), "%s/%s", t->storage, uuid);
    if (rename(new, path))
        die(path);
    snprintf(body, sizeof(body),
             "{\"uuid\":\"%s\",\"taskId\":\"%s\",\"allocationId\":\"%s\",\"state\":"
             "\"STATE_COMPLETED\",\"metadata\":{\"steps_completed\":%ld},\"resources\":"
             "{\"state\":\"%zu\"},\"training\":{}}",
             uuid, text_of("DET_TASK_ID", ""), text_of("DET_ALLOCATION_ID", ""), steps,
             strlen(text));
    note(t, "T %s %ld\n", uuid, steps);
    call(t, "/api/v1/checkpoints", body, reply);
    note(t, "C %s %ld\n", uuid, steps);
}

/* Whether to stop, which is then said to have been heard. */
static bool is_preempted(struct trial *t)
{
    const char *allocation = text_of("DET_ALLOCATION_ID", "");
    char path[256], reply[TEXT];

    snprintf(path, sizeof(path),
             "/api/v1/allocations/%s/signals/preemption?timeout_seconds=0", allocation);
    call(t, path, NULL, reply);
    if (!strstr(reply, "true"))
        return false;
    snprintf(path, sizeof(path), "/api/v1/allocations/%s/signals/ack_preemption",
             allocation);
    call(t, path, "", reply);
    note(t, "p\n");
    return true;
}

/* Where to go on; the checkpoint must be the one that the master says it is. */
static long restore(struct trial *t)
{
    const char *uuid = text_of("DET_LATEST_CHECKPOINT", "-");
    long steps = number_of("DET_STEPS_COMPLETED", 0);
    char path[TEXT], wanted[128], got[128] = "";
    int fd;

    note(t, "b %ld %s\n", steps, uuid);
    if (!strcmp(uuid, "-"))
        return 0;
    snprintf(path, sizeof(path), "%s/%s/state", t->storage, uuid);
    snprintf(wanted, sizeof(wanted), "trial %ld steps %ld\n", t->id, steps);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, got, sizeof(got) - 1) < 0)
        die(path);
    close(fd);
    if (!strcmp(wanted, got))
        return steps;
    note(t, "x checkpoint\n");
    exit(BROKEN);
}

static void begin(struct trial *t)
{
    const char *lr = strstr(text_of("DET_HPARAMS", ""), "\"lr\":");
    char path[TEXT];

    t->id = number_of("DET_TRIAL_ID", 0);
    t->run = number_of("DET_TRIAL_RUN_ID", 0);
    t->steps = number_of("STEPS", 10);
    t->every = number_of("EVERY", 5);
    t->lines = number_of("LINES", 1);
    t->pause_ms = number_of("PAUSE_MS", 0);
    t->lr = lr ? strtod(lr + 5, NULL) : 0;
    t->dir = text_of("CAMPAIGN_DIR", ".");
    t->storage = text_of("STORAGE", ".");
    t->fd = -1;
    t->stream[0].fd = STDOUT_FILENO;
    t->stream[1].fd = STDERR_FILENO;
    snprintf(path, sizeof(path), "%s/diary/%ld.%ld", t->dir, t->id, t->run);
    t->diary = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (t->diary < 0)
        die(path);
}

int main(void)
{
    struct trial t = {0};

    begin(&t);
    for (long n = restore(&t) + 1; n <= t.steps; n++) {
        for (long i = 0; i < t.lines; i++)
            print(&t, i % 8 == 7);
        note(&t, "w %ld %ld\nk %ld %ld\n", t.stream[0].written, t.stream[1].written,
             t.stream[0].kept, t.stream[1].kept);
        report(&t, "training", n, (double)t.id * 1000000 + (double)n);
        if (t.pause_ms)
            rest(t.pause_ms);
        if (n % t.every && n < t.steps)
            continue;
        report(&t, "validation", n, t.lr + (double)(t.steps - n));
        save(&t, n);
        if (n < t.steps && is_preempted(&t))
            return 0;
    }
    note(&t, "e\n");
    return 0;
}
