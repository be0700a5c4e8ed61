/* A client of AMD's SDK, as PyTorch's profiler is: it exports rocprofiler_configure. */
__attribute__((visibility("default"))) void* rocprofiler_configure(unsigned version,
                                                                   const char* runtime,
                                                                   unsigned priority, void* id) {
  (void)version, (void)runtime, (void)priority, (void)id;
  return 0;
}
