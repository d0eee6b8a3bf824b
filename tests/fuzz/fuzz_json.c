/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c - whatever is read can be written and read again as the same. */
#include <stddef.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer pretty = {.out = &out, .is_pretty = true};
    struct json *value;
    struct json *back;
    struct err err;

    if (json_parse((const char *)bytes, len, &mem, &value, &err))
        return 0;
    json_write(&out, value);
    if (json_parse(out.data, out.len, &mem, &back, &err) || !json_equal(value, back))
        __builtin_trap();
    buf_clear(&out);
    jw_json(&pretty, NULL, value);
    if (json_parse(out.data, out.len, &mem, &back, &err) || !json_equal(value, back))
        __builtin_trap();
    return 0;
}
