/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples to a case's result: what every kind with ROCE_VERIFY_NUMBERS_LATENCY gives. */
#ifndef VERIFY_AGENT_MEASURE_H
#define VERIFY_AGENT_MEASURE_H

#include "verify/agent/run.h"
#include "verify/agent/samples.h"

/* p50 to p99.99, min, max, mean in us, and the histogram. */
void va_report_latency(struct va_run *run, struct va_samples *samples);

#endif
