# SPDX-License-Identifier: Apache-2.0
"""0: a program that counts.  Nothing in it knows of a platform."""


def main(increment_by):
    x = 0
    for batch in range(100):
        x += increment_by
        steps_completed = batch + 1
        if steps_completed % 10 == 0:
            print("x is now", x)


if __name__ == "__main__":
    main(increment_by=1)
