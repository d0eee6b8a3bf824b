/* SPDX-License-Identifier: Apache-2.0 */
/* browser.h - opens an address in a browser. */
#ifndef CLI_OUTPUT_BROWSER_H
#define CLI_OUTPUT_BROWSER_H

#include <signal.h>

/* Starts a browser if there is a screen or $BROWSER is set, and does not wait for it.
 * Otherwise, and if no browser starts, nothing happens: the caller prints the address
 * first.  `usual` is the signal mask for the browser; NULL: the caller's. */
void browser_open(const char *url, const sigset_t *usual);

#endif
