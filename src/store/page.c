/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h. */
#include "store/page.h"

#include <assert.h>

#include "base/compiler.h"

void page_place(struct page *page, int64_t total)
{
    int64_t limit = page->limit == 0 ? 100 : page->limit;
    int64_t start = page->offset < 0 ? total + page->offset : page->offset;

    assert(total >= 0);
    page->total = total;
    page->start = MAX(0, MIN(start, total));
    if (limit == -2)
        page->end = page->start;
    else if (limit < 0 || limit > total - page->start)
        page->end = total;
    else
        page->end = page->start + limit;
}
