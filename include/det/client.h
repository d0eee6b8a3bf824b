/* SPDX-License-Identifier: Apache-2.0 */
/* det/client.h - the administrative half of the library: a client of the master's REST
 * API, with what every program needs around it: finding the master, logging in,
 * remembering the session, and one sentence for whatever goes wrong.
 *
 *     char error[256];
 *     det_client_options options = {sizeof(options)};
 *     det_client *client;
 *     det_reply *reply;
 *
 *     options.error = error;
 *     options.error_size = sizeof(error);
 *     if (det_client_open(&options, &client) != DET_OK)
 *         return fail(error);
 *     if (det_call(client, "GET", "/api/v1/experiments/7", NULL, &reply) == DET_OK) {
 *         use(det_reply_body(reply, NULL));
 *         det_reply_free(reply);
 *     }
 *     det_client_close(client);
 *
 * A client belongs to one thread at a time; two clients are independent. */
#ifndef DET_CLIENT_H
#define DET_CLIENT_H

#include <stddef.h>

#include "det/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_client det_client;
typedef struct det_reply det_reply;

/* Who calls. */
enum det_identity {
    /* A user: `token`, else `user` and `password`, else DET_USER and DET_PASS, else
     * DET_USER_TOKEN (inside a task), else DET_USER alone, else the user who logged in
     * last, else `determined` with a blank password. */
    DET_AS_USER = 0,
    /* The task this process belongs to: DET_SESSION_TOKEN. */
    DET_AS_TASK = 1,
    /* Nobody: only calls that are open to all. */
    DET_AS_NOBODY = 2
};

typedef struct det_client_options {
    size_t size;        /* sizeof(det_client_options) */
    const char *master; /* its address; NULL: DET_MASTER, else the local master */
    const char *user;   /* NULL: see det_identity */
    const char
        *password;     /* of `user`; NULL: DET_PASS where DET_USER is `user`, else "" */
    const char *token; /* a session's token, used as it is; NULL: none */
    const char *data_dir;  /* where a local master is looked for; NULL: the default */
    const char *auth_file; /* where sessions are remembered; NULL:
                              ~/.config/determined/auth.json; "": nowhere */
    int identity;          /* enum det_identity */
    long timeout_ms;       /* to connect, and between two bytes; 0: 30 s */
    char *error;           /* gets the sentence when opening fails; may be NULL */
    size_t error_size;
} det_client_options;

/* Opens a client.  Copies the options; NULL counts as all defaults.  Does not call the master yet, but
 * for making sure that the one in a run file is still that one.
 * DET_NOT_FOUND: no master is named and none runs here.  DET_UNSUPPORTED: https.
 * DET_INVALID: an address or an option that makes no sense. */
DET_API det_status det_client_open(const det_client_options *options,
                                   det_client **ret_client);
/* Ends a client.  NULL does nothing. */
DET_API void det_client_close(det_client *client);

/* The address of the master: "http://127.0.0.1:8080".  Lives as long as the client. */
DET_API const char *det_client_master(const det_client *client);

/* One call and its reply.  `method` is GET, POST, PUT, PATCH or DELETE; `path` begins
 * with a slash and brings its query; `body` is JSON, or NULL.  Logs in first where the
 * call needs it; a session that is over is renewed once.  Success is any 2xx;
 * everything else is a status of det/status.h, with the master's sentence in
 * det_error_text(). */
DET_API det_status det_call(det_client *client, const char *method, const char *path,
                            const char *body, det_reply **ret_reply);

/* One line of a stream, without its line break; `line` ends with a NUL.  0: go on;
 * anything else ends the stream, and det_call_stream() returns DET_OK. */
typedef int det_line_fn(void *arg, const char *line, size_t len);

/* GET of a reply that comes line by line.  Waits between lines for as long as it takes.
 * An error in the middle of the stream ends it with its status. */
DET_API det_status det_call_stream(det_client *client, const char *path,
                                   det_line_fn *on_line, void *arg);

/* The HTTP status of a reply. */
DET_API int det_reply_status(const det_reply *reply);
/* The body of a reply, which ends with a NUL; `ret_len` may be NULL. */
DET_API const char *det_reply_body(const det_reply *reply, size_t *ret_len);
/* Frees a reply.  NULL does nothing. */
DET_API void det_reply_free(det_reply *reply);

/* Logs in and remembers the session; `user` becomes the active one.
 * DET_UNAUTHENTICATED: wrong user or password. */
DET_API det_status det_login(det_client *client, const char *user,
                             const char *password);
/* Ends the active session, here and at the master. */
DET_API det_status det_logout(det_client *client);
/* The name of the user the client calls as, once it is known; else NULL. */
DET_API const char *det_client_user(const det_client *client);

/* One plain sentence about the last failure of `client`.  Never NULL; lives until the
 * client's next call. */
DET_API const char *det_error_text(const det_client *client);

#ifdef __cplusplus
}
#endif

#endif
