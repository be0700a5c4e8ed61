/* libcudart.so.12 with what a program switches its profiler with, which counts how often. */
static int g_switched;

int cudaProfilerStart(void) {
  ++g_switched;
  return 0;
}
int cudaProfilerStop(void) {
  ++g_switched;
  return 0;
}
int fakeSwitched(void) { return g_switched; }
