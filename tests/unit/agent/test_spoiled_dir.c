/* SPDX-License-Identifier: Apache-2.0 */
/* test_spoiled_dir.c - every file of a task's directory, made into everything that a process of
 * the task can make of it.  The agent neither dies nor hangs, reports the end once, removes the
 * directory or sets it aside, and looks after the task beside it. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "agent/master_link.h"
#include "agent/task/output/spool.h"
#include "agent/task/process_tree.h"
#include "agent/task/quarantine.h"
#include "agent/tasks.h"
#include "base/io/map_guard.h"
#include "base/rng.h"
#include "tests/unit/agent/stage.h"

enum { LOOKS = 40 };
#define SPOILED  "3.u.1"
#define SIBLING  "4.u.1"
#define EXITS(a) "/allocations/" a "/exit"

struct fixture {
    struct fake_master *m;
    struct master_link *link;
    struct tasks *tasks;
    char root[80];     /* of the tasks */
    char template[80]; /* a task that ended, with output and reports */
    char dir[96];      /* of the task that is spoiled */
    char sibling[96];
    char aside[80]; /* the quarantine */
};

static void copy(const char *from, const char *to)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execl("/bin/cp", "cp", "-a", from, to, NULL);
        _exit(127);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    CHECK_OK(io_replace(io_system(), path, text, strlen(text), true, &test_err));
}

static void make_spool(const char *dir)
{
    const struct spool_config config = {
        .io = io_system(), .dir = dir, .name = "stdout"};
    struct spool *spool;

    CHECK_OK(spool_open(&config, &spool, &test_err));
    spool_write(spool, 1, "a line\n", 7);
    spool_close(spool);
}

static void make_ring(const char *dir)
{
    const struct report report = {
        .kind = REPORT_STATUS, .run = 1, .time_us = 1, .payload = "{}", .len = 2};
    char path[200];
    struct ring_config config = {.io = io_system(), .dir = path};
    struct ring *ring;

    snprintf(path, sizeof(path), "%s/" TASK_DIR_REPORTS, dir);
    CHECK_OK(ring_open(&config, &ring, &test_err));
    for (int i = 0; i < 3; i++)
        CHECK_OK(ring_put(ring, &report, &test_err));
    ring_close(ring);
}

static void make_template(const char *dir)
{
    static const char *const folders[] = {"", "/work", "/run", "/tmp"};
    const struct task_exit exit = {.exit = "CLEAN", .reason = "ended well"};
    const struct task_dir_pid pid = {.supervisor = 1, .mark = 1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char path[200];

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof(path), "%s%s", dir, folders[i]);
        CHECK(mkdir(path, 0700) == 0);
    }
    CHECK_OK(task_dir_write_exit(io_system(), dir, &exit, &test_err));
    CHECK_OK(task_dir_write_pid(io_system(), dir, &pid, &test_err));
    write_file(dir, TASK_DIR_SPEC, "{}");
    write_file(dir, TASK_DIR_LOCK, "");
    write_file(dir, TASK_DIR_LOG, "a log\n");
    write_file(dir, TASK_DIR_MASTER, "{}");
    write_file(dir, TASK_DIR_CERT, "a certificate\n");
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", dir);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    close(fd);
    make_spool(dir);
    make_ring(dir);
}

static struct fixture fixture(void)
{
    struct fixture f = {.m = fake_new()};
    char url[64];

    map_guard_install();
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", f.m->port);
    snprintf(f.root, sizeof(f.root), "%s/tasks", f.m->dir);
    snprintf(f.aside, sizeof(f.aside), "%s/quarantine", f.m->dir);
    snprintf(f.template, sizeof(f.template), "%s/template", f.m->dir);
    snprintf(f.dir, sizeof(f.dir), "%s/" SPOILED "-0", f.root);
    snprintf(f.sibling, sizeof(f.sibling), "%s/" SIBLING "-0", f.root);
    CHECK(mkdir(f.root, 0700) == 0);
    make_template(f.template);
    CHECK_OK(master_link_new(f.m->net, url, LINK_AGENT, "agents", &f.link, &test_err));
    return f;
}

static void done(struct fixture *f)
{
    master_link_free(f->link);
    fake_free(f->m);
}

/* ---- what a task can do ------------------------------------------------------------ */

static void be_gone(const char *path)
{
    CHECK_OK(io_remove_tree(io_system(), path, &test_err));
}

static void be_empty(const char *path)
{
    if (truncate(path, 0))
        write_file(path, "more", "x"); /* a directory */
}

static void be_half(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0)
        (void)!truncate(path, st.st_size / 2);
}

static void be_huge(const char *path)
{
    (void)!truncate(path, INT64_C(1) << 40);
}

static void be_random(const char *path)
{
    struct rng64 rng = {.state = 7};
    uint64_t word;
    int fd = open(path, O_WRONLY | O_NONBLOCK);

    for (int i = 0; fd >= 0 && i < 1024; i++) {
        word = rng64_next(&rng);
        (void)!write(fd, &word, sizeof(word));
    }
    if (fd >= 0)
        close(fd);
}

static void be_pipe(const char *path)
{
    be_gone(path);
    CHECK(mkfifo(path, 0600) == 0);
}

static void be_zeroes(const char *path)
{
    be_gone(path);
    CHECK(symlink("/dev/zero", path) == 0);
}

static void be_loop(const char *path)
{
    be_gone(path);
    CHECK(symlink(path, path) == 0);
}

static void be_directory(const char *path)
{
    be_gone(path);
    CHECK(mkdir(path, 0700) == 0);
    write_file(path, "more", "x");
}

static void be_file(const char *path)
{
    be_gone(path);
    CHECK_OK(io_replace(io_system(), path, "x", 1, true, &test_err));
}

static void be_device(const char *path)
{
    be_gone(path);
    if (mknod(path, S_IFCHR | 0600, 1 << 8 | 5)) /* only root may; /dev/zero */
        be_pipe(path);
}

static void be_unreadable(const char *path)
{
    CHECK(chmod(path, 0) == 0);
}

/* What a path is: a file, a directory, or the socket. */
enum { FILE_ = 1, FOLDER = 2, SOCKET = 4 };

static const struct {
    const char *what;
    void (*make)(const char *path);
    int of;         /* what it can be done to */
    int is_spoiled; /* which of those no crash does */
} poisons[] = {
    {"gone", be_gone, FILE_ | FOLDER | SOCKET, 0},
    {"empty", be_empty, FILE_ | FOLDER, 0},
    {"cut in half", be_half, FILE_, 0},
    {"a terabyte", be_huge, FILE_, 0},
    {"random", be_random, FILE_, 0},
    {"a pipe", be_pipe, FILE_ | FOLDER, FILE_ | FOLDER},
    {"a link to /dev/zero", be_zeroes, FILE_ | FOLDER | SOCKET,
     FILE_ | FOLDER | SOCKET},
    {"a link to itself", be_loop, FILE_ | FOLDER | SOCKET, FILE_ | FOLDER | SOCKET},
    {"a directory", be_directory, FILE_ | SOCKET, FILE_ | SOCKET},
    {"a file", be_file, FOLDER | SOCKET, FOLDER | SOCKET},
    {"a device", be_device, FILE_ | FOLDER, FILE_ | FOLDER},
    {"unreadable", be_unreadable, FILE_ | FOLDER, FILE_ | FOLDER},
};

static const struct {
    const char *name;
    int kind;
    bool is_loose;  /* what is in it is lost, and said to be */
    bool is_output; /* its name is not always there */
    bool is_unread; /* only its kind matters */
} victims[] = {
    {TASK_DIR_SPEC, FILE_, .is_unread = true},
    {TASK_DIR_LOCK, FILE_},
    {TASK_DIR_PID, FILE_},
    {TASK_DIR_CONTROL, SOCKET},
    {TASK_DIR_EXIT, FILE_},
    {TASK_DIR_LOG, FILE_, .is_unread = true},
    {TASK_DIR_MASTER, FILE_, .is_unread = true},
    {TASK_DIR_CERT, FILE_, .is_unread = true},
    {"stdout.spool.00000000000000000000", FILE_, .is_output = true},
    {TASK_DIR_REPORTS, FOLDER},
    {TASK_DIR_REPORTS "/head", FILE_},
    {TASK_DIR_REPORTS "/segment-000000000001", FILE_, .is_loose = true},
    {TASK_DIR_WORK, FOLDER, .is_unread = true},
    {TASK_DIR_RUN, FOLDER, .is_unread = true},
    {TASK_DIR_TMP, FOLDER, .is_unread = true},
    {"", FOLDER},
};

/* ---- the sweep --------------------------------------------------------------------- */

static void begin(struct fixture *f)
{
    const struct tasks_config config = {.io = io_system(),
                                        .root = f->root,
                                        .master_url = "http://127.0.0.1:1",
                                        .program = "/bin/false",
                                        .agent_id = "a"};

    CHECK_OK(tasks_new(&config, &f->tasks, &test_err));
}

/* Looks until both ends were reported. */
static void look(struct fixture *f, size_t spoiled, size_t siblings)
{
    for (int i = 0; i < LOOKS; i++) {
        CHECK(tasks_look(f->tasks, f->link));
        if (fake_count(f->m, EXITS(SPOILED), "") == spoiled &&
            fake_count(f->m, EXITS(SIBLING), "") == siblings)
            return;
    }
    fail_msg("not all ends were reported");
}

static size_t count_aside(const struct fixture *f, const char *name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;
    size_t count = 0;

    if (io_list(io_system(), f->aside, &mem, &names, NULL))
        return 0;
    for (; *names; names++)
        count += strstr(*names, name) != NULL;
    return count;
}

static void forget_all(struct fixture *f)
{
    tasks_free(f->tasks);
    CHECK_OK(io_remove_closed_tree(io_system(), f->aside, &test_err));
    for (size_t i = 0; i < f->m->calls.count; i++) {
        mem_free(f->m->calls.at[i].path);
        mem_free(f->m->calls.at[i].query);
        mem_free(f->m->calls.at[i].body);
    }
    vec_clear(&f->m->calls);
    f->m->offset[0] = f->m->offset[1] = f->m->reports = 0;
}

static void spoil(struct fixture *f, size_t victim, size_t poison, bool has_ended)
{
    bool is_spoiled = (poisons[poison].is_spoiled & victims[victim].kind) &&
                      !victims[victim].is_loose &&
                      /* Root reads it. */
                      !(victims[victim].is_output && geteuid() == 0 &&
                        poisons[poison].make == be_unreadable);
    char path[200];

    copy(f->template, f->dir);
    copy(f->template, f->sibling);
    if (!has_ended) {
        snprintf(path, sizeof(path), "%s/" TASK_DIR_EXIT, f->dir);
        CHECK(unlink(path) == 0);
    }
    snprintf(path, sizeof(path), "%s%s%s", f->dir, victims[victim].name[0] ? "/" : "",
             victims[victim].name);
    if (access(path, F_OK)) /* the exit.json that is not there */
        CHECK(close(creat(path, 0600)) == 0);
    poisons[poison].make(path);
    begin(f);
    if (access(f->dir, F_OK)) /* nothing is there: the master asks for it */
        CHECK_OK(tasks_kill(f->tasks, SPOILED, 0, &test_err));
    look(f, 1, 1);
    CHECK_EQ(fake_count(f->m, EXITS(SIBLING), "ended well"), 1);
    CHECK_EQ(fake_count(f->m, EXITS(SPOILED), "spoiled its directory"), is_spoiled);
    CHECK_EQ(count_aside(f, SPOILED), is_spoiled);
    CHECK_EQ(count_aside(f, SIBLING), 0);
    CHECK(access(f->dir, F_OK) != 0 && access(f->sibling, F_OK) != 0);
    forget_all(f);
}

TEST(nothing_that_a_task_makes_of_its_directory_harms_the_agent)
{
    struct fixture f = fixture();

    for (size_t victim = 0; victim < ARRAY_LEN(victims); victim++)
        for (size_t poison = 0; poison < ARRAY_LEN(poisons); poison++)
            if ((poisons[poison].of & victims[victim].kind) &&
                !(victims[victim].is_unread && poisons[poison].make != be_pipe &&
                  poisons[poison].make != be_unreadable)) {
                print_message("# DIR/%s is %s\n", victims[victim].name,
                              poisons[poison].what);
                spoil(&f, victim, poison, (victim + poison) % 2);
            }
    done(&f);
}

/* ---- changes while the agent reads ------------------------------------------------- */

static const char *const turned[] = {TASK_DIR_LOCK, TASK_DIR_EXIT, TASK_DIR_PID,
                                     TASK_DIR_REPORTS "/head",
                                     "stdout.spool.00000000000000000000"};

/* Turns the file into a pipe and back, cuts it and fills it, until it is killed. */
static _Noreturn void keep_turning(const char *path)
{
    char pipe_path[220], file_path[220];

    snprintf(pipe_path, sizeof(pipe_path), "%s.pipe", path);
    snprintf(file_path, sizeof(file_path), "%s.file", path);
    for (;;) {
        (void)!truncate(path, 0);
        (void)!mkfifo(pipe_path, 0600);
        (void)!truncate(path, 4096);
        (void)!link(path, file_path);
        (void)!rename(pipe_path, path);
        (void)!rename(file_path, path);
    }
}

TEST(files_that_change_while_the_agent_reads_them_do_it_no_harm)
{
    struct fixture f = fixture();

    for (size_t i = 0; i < 3 * ARRAY_LEN(turned); i++) {
        char path[200];
        pid_t pid;

        copy(f.template, f.dir);
        copy(f.template, f.sibling);
        snprintf(path, sizeof(path), "%s/%s", f.dir, turned[i % ARRAY_LEN(turned)]);
        pid = fork();
        if (pid == 0)
            keep_turning(path);
        begin(&f);
        look(&f, 1, 1);
        CHECK_EQ(fake_count(f.m, EXITS(SIBLING), "ended well"), 1);
        CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
        CHECK_OK(io_remove_tree(io_system(), f.dir, &test_err)); /* made anew */
        forget_all(&f);
    }
    done(&f);
}

/* ---- kills that nobody hears -------------------------------------------------------- */

/* A supervisor that nobody reaches, with a lock. */
static _Noreturn void be_deaf(const char *dir, int ready)
{
    char path[200];
    int fd;

    (void)process_tree_mark(dir);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_LOCK, dir);
    fd = open(path, O_RDWR);
    (void)!write(ready, fd >= 0 && flock(fd, LOCK_EX) == 0 ? "y" : "n", 1);
    for (;;)
        pause();
}

TEST(a_task_whose_supervisor_hears_nothing_is_killed_all_the_same)
{
    struct fixture f = fixture();
    char path[200];
    int ready[2];
    int status;
    char byte;
    pid_t pid;

    copy(f.template, f.dir);
    copy(f.template, f.sibling);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_EXIT, f.dir);
    CHECK(unlink(path) == 0);
    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0)
        be_deaf(f.dir, ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1 && byte == 'y');
    begin(&f);
    CHECK_OK(tasks_kill(f.tasks, SPOILED, 0, &test_err));
    look(&f, 1, 1);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(ready[0]);
    close(ready[1]);
    forget_all(&f);
    done(&f);
}

/* A supervisor by its command line, which hears nothing: it reads from a pipe without end. */
static pid_t start_supervisor(const struct fixture *f, int input)
{
    pid_t found = 0;
    pid_t pid;

    write_file(f->m->dir, "task", "trap '' TERM; read line");
    pid = fork();
    if (pid == 0) {
        (void)process_tree_mark(f->dir);
        dup2(input, STDIN_FILENO);
        if (chdir(f->m->dir) == 0)
            execl("/bin/sh", "sh", "task", "run", f->dir, (char *)NULL);
        _exit(127);
    }
    while (found != pid)
        CHECK_OK(process_tree_supervisor(f->dir, &found, &test_err));
    return pid;
}

TEST(a_kill_reaches_a_task_without_its_lock_or_directory)
{
    static const char *const gone[] = {"/" TASK_DIR_LOCK, ""};
    struct fixture f = fixture();

    for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
        char path[200];
        int input[2];
        int status;
        pid_t pid;

        copy(f.template, f.dir);
        copy(f.template, f.sibling);
        snprintf(path, sizeof(path), "%s/" TASK_DIR_EXIT, f.dir);
        CHECK(unlink(path) == 0);
        CHECK(pipe(input) == 0);
        pid = start_supervisor(&f, input[0]);
        snprintf(path, sizeof(path), "%s%s", f.dir, gone[i]);
        be_gone(path);
        begin(&f);
        CHECK_OK(tasks_kill(f.tasks, SPOILED, 0, &test_err));
        look(&f, 1, 1);
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        close(input[0]);
        close(input[1]);
        forget_all(&f);
    }
    done(&f);
}

/* ---- what a look cannot see ------------------------------------------------------------ */

/* A process of the task that is not its supervisor. */
static pid_t start_marked(const char *dir)
{
    int ready[2];
    char byte;
    pid_t pid;

    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        (void)process_tree_mark(dir);
        (void)!write(ready[1], "y", 1);
        for (;;)
            pause();
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

TEST(a_file_that_claims_another_boot_saves_no_process)
{
    const struct task_dir_pid other = {.supervisor = 1, .mark = 1, .boot_id = "other"};
    struct fixture f = fixture();
    char path[200];
    int status;
    pid_t pid;

    copy(f.template, f.dir);
    copy(f.template, f.sibling);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_EXIT, f.dir);
    CHECK(unlink(path) == 0);
    CHECK_OK(task_dir_write_pid(io_system(), f.dir, &other, &test_err));
    pid = start_marked(f.dir);
    begin(&f);
    look(&f, 1, 1);
    CHECK_EQ(fake_count(f.m, EXITS(SPOILED), "its machine was restarted"), 1);
    CHECK_EQ(waitpid(pid, &status, WNOHANG), pid);
    forget_all(&f);
    done(&f);
}

TEST(a_lack_of_descriptors_ends_no_task)
{
    struct fixture f = fixture();
    struct rlimit before;
    struct rlimit none;
    pid_t pid;

    copy(f.template, f.dir);
    copy(f.template, f.sibling);
    pid = start_marked(f.dir);
    begin(&f);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = (struct rlimit){3, before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    for (int i = 0; i < LOOKS; i++)
        (void)tasks_look(f.tasks, f.link);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_EQ(fake_count(f.m, EXITS(SPOILED), ""), 0);
    CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
    look(&f, 1, 1);
    CHECK_EQ(fake_count(f.m, EXITS(SPOILED), "ended well"), 1);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    forget_all(&f);
    done(&f);
}

/* ---- too much ---------------------------------------------------------------------- */

TEST(a_ring_of_many_empty_segments_is_given_up)
{
    struct fixture f = fixture();
    char path[200];

    copy(f.template, f.dir);
    copy(f.template, f.sibling);
    snprintf(path, sizeof(path), "%s/" TASK_DIR_REPORTS "/head", f.dir);
    be_random(path); /* so that nothing says where the last report is */
    for (int i = 2; i < 1000; i++) {
        snprintf(path, sizeof(path), "%s/" TASK_DIR_REPORTS "/segment-%012d", f.dir, i);
        CHECK(close(creat(path, 0600)) == 0);
        be_huge(path);
    }
    begin(&f);
    look(&f, 1, 1);
    CHECK_EQ(fake_count(f.m, EXITS(SPOILED), "ended well"), 1);
    forget_all(&f);
    done(&f);
}

TEST(what_was_set_aside_is_not_kept_for_ever)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const int64_t day_us = INT64_C(86400) * 1000000;
    int64_t now_us = 100 * day_us;
    struct fixture f = fixture();
    const char **names;

    for (int i = 0; i < QUARANTINE_MOST + 3; i++) {
        copy(f.template, f.dir);
        CHECK_OK(quarantine_put(io_system(), f.aside, f.dir,
                                now_us + i * INT64_C(1000000), &test_err));
    }
    CHECK_EQ(count_aside(&f, SPOILED), QUARANTINE_MOST);
    CHECK_OK(io_list(io_system(), f.aside, &mem, &names, &test_err));
    CHECK_STR(names[0], "0008640003-" SPOILED "-0"); /* the oldest are gone */
    CHECK(!file_is_there(f.aside, "0008640003-" SPOILED "-0/work"));
    CHECK(file_is_there(f.aside, "0008640003-" SPOILED "-0/exit.json"));
    quarantine_prune(io_system(), f.aside,
                     now_us + QUARANTINE_DAYS * day_us + INT64_C(5000000));
    CHECK_EQ(count_aside(&f, SPOILED), QUARANTINE_MOST - 3);
    quarantine_prune(io_system(), f.aside, now_us + (QUARANTINE_DAYS + 1) * day_us);
    CHECK_EQ(count_aside(&f, SPOILED), 0);
    done(&f);
}
