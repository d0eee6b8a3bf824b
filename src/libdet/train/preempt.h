/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.h - the thread behind det_preempted(). */
#ifndef LIBDET_TRAIN_PREEMPT_H
#define LIBDET_TRAIN_PREEMPT_H

#include "base/err.h"
#include "det/trial.h"

/* Fills context->preempt, also when it fails: preempt_stop() frees it. */
det_status preempt_start(det_context *context, struct err *err);
/* Ends the thread.  Does nothing if it was not started. */
void preempt_stop(det_context *context);

#endif
