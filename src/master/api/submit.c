/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/submit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/archive/archive.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "data/text.h"
#include "master/api/api.h"

/* ---- names ----------------------------------------------------------------------- */

static const char *const words_a[] = {
    "plain", "quick", "calm",   "brave", "bright", "quiet", "keen",  "happy",
    "light", "noble", "gentle", "sharp", "warm",   "clear", "proud", "steady"};
static const char *const words_b[] = {
    "amber",  "azure", "coral",  "green",  "ivory",  "silver", "scarlet", "golden",
    "cobalt", "olive", "violet", "copper", "indigo", "maroon", "pearl",   "teal"};
static const char *const words_c[] = {
    "otter",  "heron", "lynx",   "finch", "ibex", "marten", "raven", "trout",
    "badger", "crane", "falcon", "hare",  "mole", "newt",   "stoat", "wren"};

void submit_make_name(const char *what, const unsigned char random[16],
                      char text[SUBMIT_NAME_SIZE])
{
    snprintf(text, SUBMIT_NAME_SIZE, "%s (%s-%s-%s)", what,
             words_a[random[0] % ARRAY_LEN(words_a)],
             words_b[random[1] % ARRAY_LEN(words_b)],
             words_c[random[2] % ARRAY_LEN(words_c)]);
}

/* ---- configurations -------------------------------------------------------------- */

enum { VARIABLE_MOST = 131072 }; /* Linux: one environment string with its final 0 */

/* Without this check the kernel would refuse to start the program, without a reason. */
det_status submit_check_size(const char *variable, const char *config, struct err *err)
{
    size_t len = strlen(variable) + 1 + strlen(config) + 1;

    if (len <= VARIABLE_MOST)
        return DET_OK;
    return err_set(
        err, DET_TOO_LARGE,
        "the complete configuration has %zu bytes; a program can be given at most %d: "
        "put large data into a file of the folder",
        strlen(config), VARIABLE_MOST);
}

/* ---- files ----------------------------------------------------------------------- */

bool submit_has_files(const struct json *files)
{
    return !json_is_null(files) && (files->kind != JSON_ARRAY || files->list.count);
}

static det_status add_file(struct archive_writer *writer, const struct json *file,
                           uint64_t *total, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    const struct json *content = json_find(file, "content");
    struct archive_entry_in entry = {
        .path = json_str(json_find(file, "path"), ""),
        .is_directory = json_i64(json_find(file, "type"), '0') == '5',
        .mode = (uint32_t)json_i64(json_find(file, "mode"), 0644),
        .modified_s = json_i64(json_find(file, "mtime"), 0),
    };
    det_status st;

    if (!*entry.path)
        return err_set(err, DET_INVALID, "a file of the folder has no path");
    if (!path_is_inside(entry.path))
        return err_set(err, DET_INVALID, "the path '%s' leads out of the folder",
                       entry.path);
    if (content && content->kind == JSON_STRING && !entry.is_directory) {
        st = base64_decode(&bytes, content->string.text, content->string.len, err);
        if (st)
            return err_prefix(err, "the content of '%s'", entry.path);
    }
    entry.bytes = bytes.data;
    entry.size_bytes = bytes.len;
    *total += bytes.len;
    if (*total > SUBMIT_FILES_LIMIT)
        return err_set(
            err, DET_TOO_LARGE,
            "the folder is larger than %d MB; leave out what is not needed with "
            "a .detignore file",
            SUBMIT_FILES_LIMIT >> 20);
    return archive_add(writer, &entry, err);
}

det_status submit_pack_files(const char *what, const struct json *files,
                             struct buf *ret_tgz, struct err *err)
{
    struct archive_writer *writer;
    uint64_t total = 0;
    det_status st;

    if (json_is_null(files))
        return DET_OK;
    if (files->kind != JSON_ARRAY)
        return err_set(err, DET_INVALID, "%s is %s; expected a list of files", what,
                       json_kind_name(files->kind));
    if (!files->list.count)
        return DET_OK;
    st = archive_writer_new(ARCHIVE_TGZ, &writer, err);
    if (st)
        return st;
    json_each(file, files) {
        st = add_file(writer, file, &total, err);
        if (st)
            break;
    }
    if (!st)
        st = archive_finish(writer, ret_tgz, err);
    archive_writer_free(writer);
    return st;
}
