/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - which rows of a list a caller wants. */
#ifndef STORE_PAGE_H
#define STORE_PAGE_H

#include <stdint.h>

struct page {
    int64_t offset; /* negative: from the end */
    int64_t limit;  /* 0: 100, -1: all, -2: none, as in the API's experiment lists */
    int64_t total;  /* set by page_place(), as are the next two */
    int64_t start;
    int64_t end;
};

/* Sets `total`, and the rows [start, end) that the page covers. */
void page_place(struct page *page, int64_t total);

#endif
