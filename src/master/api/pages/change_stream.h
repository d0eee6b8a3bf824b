/* SPDX-License-Identifier: Apache-2.0 */
/* change_stream.h - the position of the stream of changes. */
#ifndef MASTER_API_PAGES_CHANGE_STREAM_H
#define MASTER_API_PAGES_CHANGE_STREAM_H

struct request;

/* Writes "changesAt", the current position of GET /api/v1/det/changes.  A page that reads its
 * data after this call, and follows the stream from this position, misses no change. */
void change_stream_render_position(struct request *req);

#endif
