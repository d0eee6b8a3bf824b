/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h - a real master inside the test process, and its clients.
 *
 * The master runs on real threads, a real network (a free port of loopback) and real
 * files (a temporary directory, in memory if possible).  A scenario is an array of
 * named steps:
 *
 *   static const struct step steps[] = {
 *       POST("create", "/api/v1/experiments", "{'config': $[single]}", 200,
 *            "experiment.state=STATE_PAUSED"),
 *       POST("pause", "/api/v1/experiments/${create.experiment.id}/pause", NULL, 200,
 * NULL), END_STEPS};
 *
 * The reply of each step is kept under its name.  In paths, bodies and expectations
 * ${name.path} stands for a value as text and $[name.path] for it as JSON; in bodies a
 * single quote stands for a double one.  An expectation is a list, separated by "; ":
 *
 *   path=text   it reads so          path~text   it contains that
 *   path#3      it has 3 members     path?       it is there and not null
 *   path!       it is absent or null
 *
 * A number in a path is an index.  In a stream, `lines` is the list of its records. */
#ifndef TESTS_API_HARNESS_H
#define TESTS_API_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/memory/arena.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "net/net.h"
#include "tests/support/test.h"

struct master;

enum who {
    USER,   /* determined, by login */
    ADMIN,  /* admin, by login */
    NOBODY, /* no token */
    AGENT,  /* the agents' token */
    TASK, /* DET_SESSION_TOKEN of bed->task, or its supervisor for a supervisor's call */
    OWNER, /* DET_USER_TOKEN of bed->task */
    OTHER, /* bed->other: whatever the test put there */
    SUPERVISOR,
};

struct bed {
    char dir[64];
    char data_dir[80];
    const char *host; /* to listen on */
    struct arena mem; /* replies, and what a test makes */
    struct executor *exec;
    struct lane *lane; /* of the test: bed_pass() wakes the timer through it */
    struct work tick;
    struct net *net;
    struct master *master;
    struct log_tail *log; /* of this process */
    bool is_stopped;
    struct net_client *client;
    const struct json *config;
    struct json *vars; /* replies by the names of their steps */
    const char *user;
    const char *admin;
    const char *agent_token;
    const char *task; /* tokens of the share that speaks */
    const char *supervisor;
    const char *owner;
    const char *other;
    struct clock clock; /* the system's clock plus these offsets */
    _Atomic int64_t wall_offset_us;
    _Atomic int64_t mono_offset_us;
};

struct reply {
    int status;
    const char *text;
    struct json *json;   /* NULL: not JSON */
    size_t len;          /* of the text, which may hold any bytes */
    const char *headers; /* "Name: value\n" each */
};

/* A master on fresh data, with both users logged in; `yaml`: its configuration, or
 * NULL. bed_close() also removes the data. */
struct bed *bed_open(const char *yaml);
void bed_close(struct bed *bed);
void bed_closep(struct bed **bed); /* for CLEANUP */
#define BED(name, yaml) CLEANUP(bed_closep) struct bed *name = bed_open(yaml)

/* Stops the master and starts a new one on the same data; the tokens stay. */
void bed_restart(struct bed *bed);
/* Only master_stop(): what waits is answered; then bed_close(). */
void bed_stop_master(struct bed *bed);
/* Halves of it.  bed_start() gives the status of master_new(). */
void bed_stop(struct bed *bed);
det_status bed_start(struct bed *bed, struct err *err);

/* Moves both clocks forward, and wakes what is due then. */
void bed_pass(struct bed *bed, int64_t seconds);

/* Sleeps in real time, less than a second. */
void bed_rest(int ms);

/* One call; a failure of the network fails the test. */
struct reply bed_call(struct bed *bed, enum who who, enum net_method method,
                      const char *path, const char *body);
/* The same with these headers ("Name: value", ends with NULL) and no others. */
struct reply bed_call_with(struct bed *bed, const char *const *headers,
                           enum net_method method, const char *path, const char *body);
/* The value of a reply's header; NULL: it has none of that name. */
const char *bed_header(struct bed *bed, const struct reply *reply, const char *name);
/* The same with a body of any bytes. */
struct reply bed_call_bytes(struct bed *bed, enum who who, enum net_method method,
                            const char *path, const void *body, size_t len);
/* Sends raw bytes to the port and returns the whole answer; as another user of the
 * machine if `uid` is not 0. */
struct reply bed_raw(struct bed *bed, const char *request, unsigned uid);
const char *bed_login(struct bed *bed, const char *username, const char *password,
                      int status);

/* A call on its own thread, for long polls. */
struct pending;
struct pending *bed_begin(struct bed *bed, enum who who, enum net_method method,
                          const char *path, const char *body);
/* Waits for the first bytes of its reply. */
void bed_await_bytes(struct pending *pending);
/* Waits until its reply holds this; a reply that ends before fails the test. */
void bed_await_text(struct pending *pending, const char *text);
/* Status 0: the connection broke. */
struct reply bed_end(struct bed *bed, struct pending *pending);

/* Keeps `text` as a string, or `json`, under `name`. */
void bed_let(struct bed *bed, const char *name, const char *text);
void bed_let_json(struct bed *bed, const char *name, struct json *json);
/* ${...}, $[...]; `quotes`: ' becomes ". */
const char *bed_fill(struct bed *bed, const char *pattern, bool quotes);
/* "create.experiment.id" among what was kept; "" when it is not there. */
const char *bed_get(struct bed *bed, const char *path);
int64_t bed_i64(struct bed *bed, const char *path);
struct json *json_at(const struct json *json, const char *path);

struct step {
    const char *name;
    enum net_method method;
    const char *path;
    const char *body;
    int status;
    const char *expect;
    enum who who;
    bool until;                   /* again until it is as expected */
    void (*run)(struct bed *bed); /* instead of a call */
};

#define GET(name_, path_, status_, expect_, ...)                                       \
    {                                                                                  \
        name_, NET_GET, path_, NULL, status_, expect_, ##__VA_ARGS__                   \
    }
#define POST(name_, path_, body_, status_, expect_, ...)                               \
    {                                                                                  \
        name_, NET_POST, path_, body_, status_, expect_, ##__VA_ARGS__                 \
    }
#define PUT(name_, path_, body_, status_, expect_, ...)                                \
    {                                                                                  \
        name_, NET_PUT, path_, body_, status_, expect_, ##__VA_ARGS__                  \
    }
#define PATCH(name_, path_, body_, status_, expect_, ...)                              \
    {                                                                                  \
        name_, NET_PATCH, path_, body_, status_, expect_, ##__VA_ARGS__                \
    }
#define DELETE(name_, path_, status_, expect_, ...)                                    \
    {                                                                                  \
        name_, NET_DELETE, path_, NULL, status_, expect_, ##__VA_ARGS__                \
    }
#define DO(function_)                                                                  \
    {                                                                                  \
        .name = #function_, .run = function_                                           \
    }
#define END_STEPS                                                                      \
    {                                                                                  \
        0                                                                              \
    }

void bed_play(struct bed *bed, const struct step *steps);
/* The same for one; the reply is kept under its name. */
struct reply bed_step(struct bed *bed, const struct step *step);

/* Configurations that most scenarios use, kept as $[single] etc. by bed_open(). */
extern const char config_single[];
extern const char config_grid[];
extern const char config_random[];

#endif
