/* SPDX-License-Identifier: Apache-2.0 */
/* browser.h - shows an address to the person at the screen. */
#ifndef CLI_BROWSER_H
#define CLI_BROWSER_H

#include <signal.h>

/* Starts a browser where there is a screen, or where $BROWSER names one, and does not
 * wait for it; elsewhere, and where none starts, nothing happens: the address has been
 * printed.  `usual` is the signal mask that it gets; NULL: the caller's. */
void browser_open(const char *url, const sigset_t *usual);

#endif
