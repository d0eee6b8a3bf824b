/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c - see auth.h. */
#include "libdet/client/auth.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/json/json.h"

enum { FILE_LIMIT = 1 << 20, TREE_LIMIT = 16 << 20, FORMAT = 2 };

/* Every client and every master of this API uses this salt: it is part of the wire
 * format, not a secret. */
static const char salt[] = "GubPEmmotfiK9TMD6Zdw";

void auth_hash(const char *password, char text[AUTH_HASH_TEXT])
{
    unsigned char hash[crypto_hash_sha512_BYTES];
    crypto_hash_sha512_state state;

    text[0] = '\0';
    if (!*password)
        return;
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, (const unsigned char *)salt, strlen(salt));
    crypto_hash_sha512_update(&state, (const unsigned char *)password,
                              strlen(password));
    crypto_hash_sha512_final(&state, hash);
    hex_encode(text, hash, sizeof(hash));
}

det_status auth_file_default(struct arena *mem, const char **ret_path, struct err *err)
{
    const char *home = getenv("HOME");

    if (!home || *home != '/')
        return err_set(err, DET_NOT_FOUND, "HOME is not set");
    *ret_path = arena_printf(mem, "%s/.config/determined/auth.json", home);
    return *ret_path ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- the file -------------------------------------------------------------------- */

static struct json *empty_tree(struct arena *mem)
{
    struct json *tree = json_new(mem, JSON_OBJECT);

    json_set(mem, tree, "version", json_new_i64(mem, FORMAT));
    json_set(mem, tree, "masters", json_new(mem, JSON_OBJECT));
    return tree;
}

/* Returns NULL only without memory: a file that cannot be read for that reason is not
 * empty. */
static struct json *read_tree(struct io *io, const char *path, struct arena *mem)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(FILE_LIMIT);
    struct json *tree = NULL;
    const struct json *masters;
    det_status st = io_read_file(io, path, &text, NULL);

    if (!st)
        st = json_parse(text.data, text.len, mem, &tree, NULL);
    if (st)
        return st == DET_NOMEM ? NULL : empty_tree(mem);
    masters = json_get(tree, "masters");
    if (json_i64(json_get(tree, "version"), 0) != FORMAT || !masters ||
        masters->kind != JSON_OBJECT)
        return empty_tree(mem);
    return tree;
}

static const struct json *entry_of(const struct json *tree, const char *url)
{
    return json_get(json_get(tree, "masters"), url);
}

det_status auth_load(const struct auth_place *place, const char *user,
                     struct arena *mem, struct auth_session *ret_session,
                     struct err *err)
{
    const struct json *tree = read_tree(place->io, place->path, mem);
    const struct json *entry = entry_of(tree, place->url);

    if (!tree)
        return err_default(err, DET_NOMEM);
    if (!user)
        user = json_str(json_get(entry, "active_user"), NULL);
    ret_session->user = user;
    ret_session->token =
        user ? json_str(json_get(json_get(entry, "tokens"), user), NULL) : NULL;
    return DET_OK;
}

/* Returns the object `key` of `object`; makes it if it is missing or not an object. */
static struct json *object_in(struct arena *mem, struct json *object, const char *key)
{
    struct json *found = json_get(object, key);

    if (found && found->kind == JSON_OBJECT)
        return found;
    return json_set(mem, object, key, json_new(mem, JSON_OBJECT));
}

static void apply_change(struct arena *mem, struct json *tree, const char *url,
                         const struct auth_change *change)
{
    struct json *entry = object_in(mem, json_get(tree, "masters"), url);
    struct json *tokens = entry ? object_in(mem, entry, "tokens") : NULL;

    if (!tokens)
        return;
    if (change->token)
        json_set(mem, tokens, change->user, json_new_str(mem, change->token));
    else
        json_remove(tokens, change->user);
    if (change->activates)
        json_set(mem, entry, "active_user", json_new_str(mem, change->user));
    else if (!change->token &&
             !strcmp(json_str(json_get(entry, "active_user"), ""), change->user))
        json_remove(entry, "active_user");
}

det_status auth_store(const struct auth_place *place, const struct auth_change *change,
                      struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE_LIMIT);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    struct json *tree = read_tree(place->io, place->path, &mem);
    const char *slash = strrchr(place->path, '/');
    char *folder;
    det_status st = DET_OK;

    if (tree)
        apply_change(&mem, tree, place->url, change);
    w.is_pretty = true;
    jw_json(&w, NULL, tree);
    buf_putc(&text, '\n');
    folder =
        arena_strndup(&mem, place->path, slash ? (size_t)(slash - place->path) : 0);
    if (!tree || mem.has_failed || text.status)
        return err_default(err, DET_NOMEM);
    if (*folder)
        st = io_mkdir(place->io, folder, true, err);
    return st ? st : io_replace(place->io, place->path, text.data, text.len, true, err);
}
