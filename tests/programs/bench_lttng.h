// The two tracepoints of bench_lttng.cpp, in the form that LTTng-UST includes again and again.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sonde_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench_lttng.h"

#if !defined(SONDE_BENCH_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SONDE_BENCH_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, push, LTTNG_UST_TP_ARGS(const char*, text),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)))
LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, pop, LTTNG_UST_TP_ARGS(int, unused),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, unused, unused)))

#endif

#include <lttng/tracepoint-event.h>
