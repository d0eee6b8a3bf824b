/* SPDX-License-Identifier: Apache-2.0 */
/* shard_meet.c - the meetings of the ranks that save a checkpoint together. */
#include <string.h>

#include "base/memory/buf.h"
#include "data/json/json.h"
#include "libdet/checkpoint/shard_impl.h"

static const char no_memory[] = "{\"status\":9,\"text\":\"out of memory\"}";
_Static_assert(DET_NOMEM == 9, "the text above names it");
static const char all_well[] = "{\"status\":0}";

/* {"status":0,"text":"","body":...} */
static void speak(struct buf *text, det_status status, const struct err *said,
                  const struct buf *body)
{
    struct json_writer w = JSON_WRITER(text);

    jw_object(&w, NULL);
    jw_i64(&w, "status", status);
    jw_str(&w, "text",
           !status                 ? ""
           : said && said->text[0] ? said->text
                                   : det_status_text(status));
    if (!status && body && body->len)
        jw_raw(&w, "body", body->data);
    jw_end_object(&w);
}

/* The message to send if there is no memory for the full one; success needs no text. */
static det_part words_of(const struct buf *text, det_status status,
                         const struct buf *body)
{
    if (!text->status)
        return (det_part){text->data ? text->data : "", text->len};
    if (!status && !body)
        return (det_part){all_well, sizeof(all_well) - 1};
    return (det_part){no_memory, sizeof(no_memory) - 1};
}

static det_status broken(struct shard *shard, det_status status, struct err *err)
{
    return err_set(err, status, "%s", det_distributed_error(shard->group));
}

static det_status parse_message(const det_part *part, struct arena *mem,
                                struct json **ret_tree, struct err *err)
{
    det_status st = json_parse(part->data, part->len, mem, ret_tree, err);

    return st == DET_INVALID ? err_set(err, DET_STATE,
                                       "the ranks call different functions: all of "
                                       "them must save, or wait, in step")
                             : st;
}

/* Returns the failure of the first rank that failed. */
static det_status first_failure(struct json **trees, int size, struct err *err)
{
    for (int i = 0; i < size; i++) {
        int64_t status = json_i64(json_get(trees[i], "status"), DET_FAILED);

        if (status)
            return err_set(err, (det_status)status, "rank %d: %s", i,
                           json_str(json_get(trees[i], "text"), ""));
    }
    return DET_OK;
}

/* A message missed for lack of memory is admitted in the next meeting. */
static det_status miss(struct shard *shard, det_status status)
{
    shard->owes = status == DET_NOMEM;
    return status;
}

det_status shard_meet(struct shard *shard, det_status status, const struct err *said,
                      struct buf *body, struct arena *mem, struct json ***ret_bodies,
                      struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    int size = shard->ranks.size;
    struct json **trees;
    const det_part *parts;
    det_part words;
    det_status st;

    shard->owes = false;
    if (!status && body && body->status)
        status = DET_NOMEM;
    speak(&text, status, said, body);
    words = words_of(&text, status, body);
    st = det_distributed_allgather(shard->group, words.data, words.len, &parts);
    if (st)
        return miss(shard, broken(shard, st, err));
    trees = arena_array(mem, struct json *, (size_t)size);
    st = trees ? DET_OK : err_default(err, DET_NOMEM);
    for (int i = 0; i < size && !st; i++)
        st = parse_message(&parts[i], mem, &trees[i], err);
    if (st)
        return miss(shard, st);
    st = first_failure(trees, size, err);
    for (int i = 0; i < size; i++)
        trees[i] = json_get(trees[i], "body");
    if (!st && ret_bodies)
        *ret_bodies = trees;
    return st;
}

det_status shard_hear(struct shard *shard, det_status status, const struct err *said,
                      struct buf *body, struct arena *mem, struct json **ret_body,
                      struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *tree;
    det_part words, part;
    det_status st;

    shard->owes = false;
    if (!status && body && body->status)
        status = DET_NOMEM;
    if (!shard->ranks.rank)
        speak(&text, status, said, body);
    words = words_of(&text, status, body);
    st = det_distributed_broadcast(shard->group, words.data, words.len, &part);
    if (st)
        return miss(shard, broken(shard, st, err));
    st = parse_message(&part, mem, &tree, err);
    if (st)
        return miss(shard, st);
    st = (det_status)json_i64(json_get(tree, "status"), DET_FAILED);
    if (st)
        return err_set(err, st, "%s", json_str(json_get(tree, "text"), ""));
    if (ret_body)
        *ret_body = json_get(tree, "body");
    return DET_OK;
}
