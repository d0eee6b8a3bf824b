/* SPDX-License-Identifier: Apache-2.0 */
#include "_average_tf.h"

#include <dlfcn.h>
#include <string.h>

#define TF_LIBRARY "libtensorflow_framework.so.2"

struct tf_symbol {
    const char *name;
    size_t offset;
};

static const struct tf_symbol symbols[] = {
#define TF_SYMBOL(type, name, parameters) {"TF_" #name, offsetof(struct tf, name)},
    TF_FUNCTIONS(TF_SYMBOL)
#undef TF_SYMBOL
};

det_status tf_find(struct tf *tf, struct err *err)
{
    void *library = dlopen(TF_LIBRARY, RTLD_NOW | RTLD_NOLOAD);

    if (!library)
        return err_set(err, DET_UNSUPPORTED,
                       "gradients are averaged inside of TensorFlow, and this process "
                       "has not loaded " TF_LIBRARY);
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *found = dlsym(library, symbols[i].name);

        if (!found)
            return err_set(err, DET_UNSUPPORTED,
                           "this TensorFlow has no %s: version 2.10 or later is needed",
                           symbols[i].name);
        memcpy((char *)tf + symbols[i].offset, &found, sizeof(found));
    }
    return DET_OK;
}
