/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>

#include "tests/support/test.h"

TEST(a_failure_is_a_status_and_a_sentence)
{
    struct err err = {0};

    CHECK_EQ(err_set(&err, DET_NOT_FOUND, "no trial %d", 8), DET_NOT_FOUND);
    CHECK_EQ(err.status, DET_NOT_FOUND);
    CHECK_STR(err.text, "no trial 8");
}

TEST(nobody_needs_to_want_the_sentence)
{
    CHECK_EQ(err_set(NULL, DET_BUSY, "x"), DET_BUSY);
    CHECK_EQ(err_default(NULL, DET_NOMEM), DET_NOMEM);
    CHECK_EQ(err_errno(NULL, ENOSPC, "x"), DET_FULL);
    CHECK_EQ(err_prefix(NULL, "x"), DET_FAILED);
}

TEST(a_default_sentence_does_not_replace_a_better_one)
{
    struct err err = {0};

    (void)err_default(&err, DET_NOMEM);
    CHECK_STR(err.text, "out of memory");
    (void)err_set(&err, DET_NOMEM, "out of memory for trial 7");
    (void)err_default(&err, DET_NOMEM);
    CHECK_STR(err.text, "out of memory for trial 7");
    (void)err_default(&err, DET_BUSY);
    CHECK_STR(err.text, "try again later");
}

TEST(context_goes_in_front)
{
    struct err err = {0};

    (void)err_set(&err, DET_INVALID, "no name");
    CHECK_EQ(err_prefix(&err, "line %d", 3), DET_INVALID);
    CHECK_STR(err.text, "line 3: no name");
}

TEST(a_long_sentence_is_cut_and_ends)
{
    struct err err = {0};

    (void)err_set(&err, DET_INVALID, "%5000s", "x");
    CHECK_EQ(strlen(err.text), ERR_TEXT_SIZE - 1);
    (void)err_prefix(&err, "%5000s", "y");
    CHECK_EQ(strlen(err.text), ERR_TEXT_SIZE - 1);
}

TEST(the_kernels_errors_get_a_status_that_fits)
{
    struct err err = {0};

    CHECK_EQ(err_errno(&err, ENOENT, "cannot open '%s'", "a"), DET_NOT_FOUND);
    CHECK_STR(err.text, "cannot open 'a': No such file or directory");
    CHECK_EQ(err_errno(&err, EACCES, "x"), DET_FORBIDDEN);
    CHECK_EQ(err_errno(&err, EEXIST, "x"), DET_EXISTS);
    CHECK_EQ(err_errno(&err, ENOMEM, "x"), DET_NOMEM);
    CHECK_EQ(err_errno(&err, EIO, "x"), DET_IO);
}

TEST(every_status_has_its_numbers)
{
    CHECK_STR(det_status_name(DET_NOT_FOUND), "NOT_FOUND");
    CHECK_EQ(det_status_http(DET_NOT_FOUND), 404);
    CHECK_EQ(det_status_grpc(DET_NOT_FOUND), 5);
    CHECK_EQ(det_status_exit(DET_NOT_FOUND), 4);
    CHECK_EQ(det_status_exit(DET_OK), 0);
    CHECK_STR(det_status_name((det_status)999), "FAILED");
}
