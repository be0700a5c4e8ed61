// Runs kernels of a code object on the engine alone and prints its counts. Kernels are read from
// standard input, one per line: NAME ITEMS GROUP. Their argument is a pointer to memory.
//   run_engine CODE_OBJECT [TRACE_FILE]
#include <cstdio>
#include <iostream>
#include <string>

#include "../kernels/machine.h"
#include "isa/watch.h"

namespace {

using namespace softgpu;

void print(const CounterBank& bank) {
  const CounterGeometry& geometry = bank.geometry();
  for (const Counter& each : all_counters()) {
    for (uint32_t engine = 0; engine < geometry.engines_of(each.block); ++engine) {
      for (uint32_t i = 0; i < geometry.instances_of(each.block); ++i) {
        const uint64_t value = bank.value(id_of(each), engine, i);
        if (value == 0) continue;
        std::printf("%s %u %u %llu\n", each.name.data(), engine, i,
                    static_cast<unsigned long long>(value));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MachineCodeFile file;
  if (argc < 2 || !file.load(argv[1])) {
    std::fprintf(stderr, "run_engine: no code object that can be run\n");
    return 1;
  }
  isa::AppendFile trace;
  if (argc > 2 && !trace.open(argv[2], isa::kTraceHeader)) {
    std::fprintf(stderr, "run_engine: cannot write %s\n", argv[2]);
    return 1;
  }
  Executor executor(2);
  alignas(4096) static uint32_t memory[1 << 20];
  uint64_t kernarg[2] = {reinterpret_cast<uint64_t>(memory), 0};
  CounterBank bank({8, 110, 32});
  isa::CacheModel caches(bank, {});
  isa::Watch watch;
  watch.counters = &bank;
  watch.caches = &caches;
  if (argc > 2) watch.trace = &trace;
  file.watch = &watch;
  std::string name;
  uint32_t items = 0, group = 0;
  while (std::cin >> name >> items >> group) {
    bank.clear();
    caches.begin_dispatch();
    watch.kernel = name;
    Dispatch dispatch;
    dispatch.grid[0] = items;
    dispatch.group[0] = group;
    dispatch.kernarg = kernarg;
    const Outcome outcome = file.run(executor, name, dispatch);
    caches.end_dispatch();
    ++watch.dispatch;
    std::printf("kernel %s\n", name.c_str());
    if (outcome.kind != Outcome::kDone) {
      std::printf("failed %s\n", outcome.detail.c_str());
    } else {
      print(bank);
    }
  }
  return 0;
}
