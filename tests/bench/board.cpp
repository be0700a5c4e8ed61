// link: sonde_base
// What a launch costs on the board of the process (wire/board.h), from which failures of a GPU are
// told: an entry when it is launched, and a mark when it is over. And what a barrier costs, and an
// allocation without its stack and that of its free.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../programs/cpu_clock.h"

// The code itself, which is part of a library that exports nothing of it.
#include "backends/rocm/hsa/board.cpp"
#include "backends/rocm/hsa/board_memory.cpp"

namespace sonde::hsa {
void open_log(const char*) {}
int64_t tick_ns() {  // what the collector keeps: a load
  static const volatile int64_t kept_ns = 1;
  return kept_ns;
}
void take_stack(wire::BoardStack*) {}
void see_thread() {}
uint32_t kernel_argument_bytes(uint64_t) { return 0; }
int gpu_count() { return 1; }
const char* architecture_of(int) { return ""; }
}  // namespace sonde::hsa

using namespace sonde;

namespace {

constexpr int kLaunches = 2'000'000;

}  // namespace

int main() {
  const char* folder = std::getenv("SONDE_BENCH_DIR");
  const std::string session = folder != nullptr ? folder : ".";
  mkdir((session + "/boards").c_str(), 0700);
  setenv("SONDE_SESSION", session.c_str(), 1);
  hsa::open_board();
  if (hsa::board() == nullptr) return 1;
  static hsa::Queue queue;
  static hsa::Device device;
  static hsa::QueueMemory memory;
  queue.device = &device;
  hsa::note_queue(&queue, &memory);
  const hsa::DispatchPacket packet = {};
  uint64_t last = 0;
  // The first round touches the pages.
  for (int round = 0; round < 2; ++round) {
    const double begin = cpu_ns();
    for (int i = 0; i < kLaunches; ++i) {
      hsa::note_end(last, hsa::tick_ns());
      last = hsa::note_dispatch(queue, packet);
    }
    if (round == 0) continue;
    std::printf(
        "{\"name\": \"board of a launch\", \"value\": %.1f, \"unit\": \"ns CPU\", \"goal\": 200, "
        "\"note\": \"launched and over\"}\n",
        (cpu_ns() - begin) / kLaunches);
  }
  const hsa::BarrierPacket barrier = {};
  const double begin = cpu_ns();
  for (int i = 0; i < kLaunches; ++i) hsa::note_barrier(queue, barrier);
  std::printf(
      "{\"name\": \"board of a barrier\", \"value\": %.1f, \"unit\": \"ns CPU\", \"goal\": 200}\n",
      (cpu_ns() - begin) / kLaunches);
  constexpr int kLive = 1000, kRounds = 1000;
  const double allocating = cpu_ns();
  for (int i = 0; i < kRounds * kLive; ++i) {
    const auto* address = reinterpret_cast<const void*>(0x7f0000000000 + i % kLive * 0x1000L);
    hsa::note_free(address);  // of the round before
    hsa::note_allocation(address, address, 4096, 0, wire::kBoardPool);
  }
  std::printf(
      "{\"name\": \"board of an allocation and its free\", \"value\": %.1f, \"unit\": \"ns CPU\", "
      "\"note\": \"without their stacks, 1000 live\"}\n",
      (cpu_ns() - allocating) / (kRounds * kLive));
  return last == 2 * uint64_t{kLaunches} ? 0 : 1;
}
