/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pickle.c - whatever is read equals itself, read again. */
#include <stddef.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "data/pickle/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    static const struct pickle_rules none = {0};
    struct pickle *value;
    struct pickle *again;
    char path[64];
    struct err err;

    if (pickle_parse(bytes, len, &mem, &value, &err) ||
        pickle_parse(bytes, len, &mem, &again, &err))
        return 0;
    if (pickle_compare(value, again, &none, path, sizeof(path)) == PICKLE_DIFFERENT)
        __builtin_trap();
    return 0;
}
