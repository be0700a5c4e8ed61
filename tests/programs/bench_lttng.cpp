// needs: lttng
// LTTng-UST's pair of tracepoints on the same loop, for tests/bench/markers.py.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_lttng.h"

#include "marker_loop.h"

int main(int argc, char** argv) {
  return marker_loop(
      argc, argv, [](const char* text) { lttng_ust_tracepoint(sonde_bench, push, text); },
      [] { lttng_ust_tracepoint(sonde_bench, pop, 0); });
}
