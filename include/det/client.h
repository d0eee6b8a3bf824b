/* SPDX-License-Identifier: Apache-2.0 */
/* det/client.h - a client of the master's REST API: finds the master, logs in,
 * remembers the session, and has one message for every failure.
 *
 *     char error[256];
 *     det_client_options options = {0};
 *     det_client *client;
 *     det_reply *reply;
 *
 *     options.size = sizeof(options);
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
 * One thread at a time may use a client; two clients are independent. */
#ifndef DET_CLIENT_H
#define DET_CLIENT_H

#include <stddef.h>

#include "det/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_client det_client;
typedef struct det_reply det_reply;

/* As whom a client calls. */
enum det_identity {
    /* A user: `token`, else `user` and `password`, else DET_USER and DET_PASS, else
     * DET_USER_TOKEN (inside a task), else DET_USER alone, else the user who logged in
     * last, else `determined` with a blank password. */
    DET_AS_USER = 0,
    /* The task this process belongs to: DET_SESSION_TOKEN. */
    DET_AS_TASK = 1,
    /* Anonymous: only calls that need no login. */
    DET_AS_NOBODY = 2
};

typedef struct det_client_options {
    size_t size;           /* sizeof(det_client_options) */
    const char *master;    /* its address; NULL: DET_MASTER, else the local master */
    const char *user;      /* NULL: see det_identity */
    const char *password;  /* NULL: DET_PASS if DET_USER is `user`, else "" */
    const char *token;     /* the token of a session; NULL: none */
    const char *data_dir;  /* where to look for a local master; NULL: the default */
    const char *auth_file; /* where sessions are stored; NULL:
                              ~/.config/determined/auth.json; "": nowhere */
    int identity;          /* enum det_identity */
    long timeout_ms;       /* to connect, and between two bytes; 0: 30 s */
    char *error;           /* receives the message of a failure; may be NULL */
    size_t error_size;
    /* For an https:// address: a PEM file with the master's certificate or one that signed
     * it, or "noverify"; NULL: DET_MASTER_CERT_FILE, else the local master's, else what the
     * user trusts ('det trust'), else the machine's authorities. */
    const char *cert_file;
    const char *cert_name; /* a name that the certificate must have; NULL:
                              DET_MASTER_CERT_NAME, else the host's where it matters */
} det_client_options;

/* Opens a client.  Copies the options; NULL means all defaults.  Does not call the
 * master yet, except to verify that a local master is the one that its run file names.
 * DET_NOT_FOUND: no master is named and none runs here.  DET_UNSUPPORTED: https, and
 * GnuTLS is not installed.  DET_INVALID: the address or another option is wrong. */
DET_API det_status det_client_open(const det_client_options *options,
                                   det_client **ret_client);
/* Closes a client.  NULL does nothing. */
DET_API void det_client_close(det_client *client);

/* The address of the master: "http://127.0.0.1:8080".  Valid as long as the client. */
DET_API const char *det_client_master(const det_client *client);

/* Makes one call and returns its reply.  `method` is GET, POST, PUT, PATCH or DELETE;
 * `path` starts with a slash and includes the query; `body` is JSON, or NULL.  Logs in
 * first if needed, and renews an expired session once.  Any 2xx is success; everything
 * else is a status of det/status.h, with the master's message in det_error_text(). */
DET_API det_status det_call(det_client *client, const char *method, const char *path,
                            const char *body, det_reply **ret_reply);

/* Receives one line of a stream, without its line break; `line` ends with a NUL.
 * Return 0 to go on; any other value ends the stream, and det_call_stream() returns
 * DET_OK. */
typedef int det_line_fn(void *arg, const char *line, size_t len);

/* Makes a GET call whose reply comes line by line.  Waits between lines without a time
 * limit.  An error in the middle of the stream ends it with its status. */
DET_API det_status det_call_stream(det_client *client, const char *path,
                                   det_line_fn *on_line, void *arg);

/* The HTTP status of a reply. */
DET_API int det_reply_status(const det_reply *reply);
/* The body of a reply, which ends with a NUL; `ret_len` may be NULL. */
DET_API const char *det_reply_body(const det_reply *reply, size_t *ret_len);
/* Frees a reply.  NULL does nothing. */
DET_API void det_reply_free(det_reply *reply);

/* Logs in and stores the session; `user` becomes the active user.  DET_UNAUTHENTICATED:
 * wrong user or password. */
DET_API det_status det_login(det_client *client, const char *user,
                             const char *password);
/* Ends the active session, here and at the master. */
DET_API det_status det_logout(det_client *client);
/* The user the client calls as; NULL if that is not known yet. */
DET_API const char *det_client_user(const det_client *client);

/* The error message of the last failed call of `client`.  Never NULL; valid until the
 * client's next call. */
DET_API const char *det_error_text(const det_client *client);

#ifdef __cplusplus
}
#endif

#endif
