/* SPDX-License-Identifier: Apache-2.0 */
/* 0_start.c - a program that counts.  Nothing in it knows of a platform. */
#include <stdio.h>

int main(void)
{
    int increment_by = 1, x = 0, batch;

    for (batch = 0; batch < 100; batch++) {
        int steps_completed = batch + 1;

        x += increment_by;
        if (steps_completed % 10 == 0)
            printf("x is now %d\n", x);
    }
    return 0;
}
