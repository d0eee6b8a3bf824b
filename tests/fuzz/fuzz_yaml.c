/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_yaml.c - whatever is read can be written and read again as the same. */
#include <stddef.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json *value;
    struct json *back;
    struct err err;

    if (yaml_parse((const char *)bytes, len, "in", &mem, &value, &err))
        return 0;
    yaml_write(&out, value);
    if (yaml_parse(out.data, out.len, "out", &mem, &back, &err) ||
        !json_equal(value, back))
        __builtin_trap();
    return 0;
}
