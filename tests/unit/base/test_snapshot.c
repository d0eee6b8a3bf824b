/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/snapshot.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "tests/support/test.h"

TEST(what_was_taken_lies_one_after_the_other_across_blocks)
{
    struct snapshot snapshot = {0};
    uint64_t first, second;
    size_t len;

    CHECK(snapshot_take(&snapshot, SNAPSHOT_BLOCK - 10, 0, &first));
    CHECK(snapshot_take(&snapshot, 30, 0, &second));
    CHECK_EQ(first, 0);
    CHECK_EQ(second, SNAPSHOT_BLOCK - 10);
    CHECK_EQ(snapshot.blocks.count, 2);
    memset(snapshot_at(&snapshot, second, &len), 'a', 10);
    CHECK_EQ(len, 10);
    CHECK(snapshot_at(&snapshot, second + 10, &len) == snapshot.blocks.at[1]);
    CHECK_EQ(len, SNAPSHOT_BLOCK);

    snapshot_forget(&snapshot);
    CHECK(snapshot_take(&snapshot, 5, 0, &second));
    CHECK_EQ(second, 0);
    CHECK_EQ(snapshot.blocks.count, 2); /* the pages stay */
    snapshot_done(&snapshot, false);
    CHECK_EQ(snapshot.blocks.count, 0);
}

TEST(it_grows_no_further_than_it_may)
{
    struct snapshot snapshot = {0};
    uint64_t offset;

    CHECK(!snapshot_take(&snapshot, 101, 100, &offset));
    CHECK_EQ(snapshot.blocks.count, 0);
    CHECK(snapshot_take(&snapshot, 100, 100, &offset));
    CHECK(!snapshot_take(&snapshot, SNAPSHOT_BLOCK, 100, &offset));
    CHECK(!snapshot_take(&snapshot, UINT64_MAX, 0, &offset));
    CHECK(!snapshot_take(&snapshot, memory_free_bytes(), 0, &offset));
    CHECK_EQ(snapshot.used, 100);
    fault_arm(FAULT_MEMORY, 1);
    CHECK(!snapshot_take(&snapshot, SNAPSHOT_BLOCK, 0, &offset));
    CHECK(fault_disarm(FAULT_MEMORY));
    CHECK(memory_free_bytes() > 0);
    snapshot_done(&snapshot, false);
}

TEST(pages_made_ready_are_there_and_a_child_has_none)
{
    struct snapshot snapshot = {0};
    uint64_t offset;
    size_t len;
    int status;
    pid_t child;

    snapshot_warm(&snapshot, SNAPSHOT_BLOCK + 1, 0);
    CHECK_EQ(snapshot.blocks.count, 2);
    snapshot_warm(&snapshot, 1, 0);
    CHECK_EQ(snapshot.blocks.count, 2);
    CHECK(snapshot_take(&snapshot, 1, 0, &offset));
    *snapshot_at(&snapshot, offset, &len) = 7;
    child = fork();
    if (child == 0) {
        snapshot_done(&snapshot, true);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(*snapshot_at(&snapshot, offset, &len), 7);
    snapshot_done(&snapshot, false);
}
