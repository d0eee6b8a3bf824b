/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - parses an HTTP/1.x reply from bytes in portions of any size; uses no sockets.
 */
#ifndef NET_REPLY_H
#define NET_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"
#include "net/net.h"

/* The limit on all header lines of a reply together, and on any other line. */
enum { REPLY_HEADER_BYTES = 65536 };

/*   STATUS -> HEADERS -+-> BYTES (a length is known) ---------------------> DONE
 *     ^                +-> UNTIL_CLOSE --(the other side closes)----------> DONE
 *     +--- 1xx --------+-> SIZE -> CHUNK -> CRLF -> SIZE ... -> TRAILERS -> DONE */
enum reply_state {
    REPLY_STATUS,
    REPLY_HEADERS,
    REPLY_BYTES,
    REPLY_UNTIL_CLOSE,
    REPLY_SIZE,
    REPLY_CHUNK,
    REPLY_CRLF,
    REPLY_TRAILERS,
    REPLY_DONE,
};

struct reply {
    enum reply_state state;
    int status;       /* set from HEADERS on; final after HEADERS */
    bool keeps_alive; /* the connection may serve another request */
    bool is_head;     /* the request was HEAD: no body follows */
    bool is_chunked;
    bool has_length;
    bool may_switch;          /* we asked for a 101; its head is the whole reply */
    uint64_t length;          /* of the body, if `has_length` */
    uint64_t left;            /* of the body, or of the chunk */
    size_t header_bytes;      /* so far */
    struct buf line;          /* the incomplete line */
    char mark[NET_MARK_TEXT]; /* set with `status` */
    struct buf *headers;      /* borrowed; gets the header lines; NULL: not wanted */
};

struct reply_bytes {
    const char *at; /* borrowed from what was fed */
    size_t len;
};

void reply_init(struct reply *reply, bool is_head);
void reply_done(struct reply *reply);

/* Parses until the bytes are used up, a part of the body was found (`ret_body`, else
 * empty) or the reply is complete (DONE).  DET_IO: not HTTP.  DET_NOMEM. */
det_status reply_feed(struct reply *reply, const char *bytes, size_t len,
                      size_t *ret_used, struct reply_bytes *ret_body, struct err *err);

/* True if `word`, of `len` bytes, is one of the comma-separated words of `list`.  Ignores
 * case. */
bool reply_has_word(const char *list, const char *word, size_t len);

/* The other side closed the connection.  Returns true if that completes the reply. */
bool reply_close(struct reply *reply);

#endif
