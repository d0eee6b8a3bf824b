/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - the heap; all code allocates through this seam.
 *
 * libc's allocator is banned elsewhere (the build checks it).  Tests can make every
 * allocation here fail (base/fault.h): all out-of-memory paths are tested. */
#ifndef BASE_MEMORY_MEM_H
#define BASE_MEMORY_MEM_H

#include <stddef.h>

/* NULL when out of memory, or when `count * size` overflows.  Zeroed, except for the
 * bytes that mem_resize() adds. mem_free(NULL) does nothing. */
void *mem_alloc(size_t size);
void *mem_array(size_t count, size_t size);
void *mem_resize(void *old, size_t count, size_t size);
/* Gives freed memory back to the system; takes milliseconds. */
void mem_trim(void);
void mem_free(void *ptr);

/* Returns owned copies; NULL when out of memory, or for a NULL string. */
char *mem_strdup(const char *str);
char *mem_strndup(const char *str, size_t len);

/* For CLEANUP: frees the pointer a variable holds. */
void mem_freep(void *variable);

#define mem_new(type) ((type *)mem_alloc(sizeof(type)))

#endif
