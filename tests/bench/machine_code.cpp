// needs: hsa
// link: softgpu_isa
// How many instructions of waves the software GPU's engine of machine code executes in a second, by
// kind, on one core and on two.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "compute/executor.h"
#include "cpu_time.h"
#include "isa/kernel.h"

namespace {

using Words = std::vector<uint32_t>;
using namespace softgpu;
using isa::kLanes;

constexpr int kGroups = 64;

// v_fma, v_mul, v_add and v_fmac of f32
const Words kArithmetic = {0xd1cb0001, 0x040e0501, 0x0a080501, 0x020a0704, 0x760c0b01};
// v_add_u32, v_lshlrev, v_xor, v_cmp, v_cndmask; s_and, s_lshl, s_add
const Words kIntegers = {0x680e1107, 0x24120e83, 0x2a140f09, 0x7d921507,
                         0x00161507, 0x868a7e6a, 0x8e0c8202, 0x800d020c};
// v_lshlrev, global_load_dword, s_waitcnt, v_add_f32, global_store_dword
const Words kMemory = {0x24180082, 0xdc508000, 0x0d04000c, 0xbf8c0f70,
                       0x021a070d, 0xdc708000, 0x00040d0c};

// The instructions, `repeats` times, in a loop of so many rounds. s[4:5] is the address of memory.
Words loop_of(const Words& body, uint32_t rounds, const void* memory) {
  const auto address = reinterpret_cast<uint64_t>(memory);
  constexpr int kRepeats = 8;
  Words words = {0xbe820080,                                        // s_mov_b32 s2, 0
                 0xbe8400ff, static_cast<uint32_t>(address),        // s_mov_b32 s4
                 0xbe8500ff, static_cast<uint32_t>(address >> 32),  // s_mov_b32 s5
                 0x8e068800,                                        // s_lshl_b32 s6, s0, 8
                 0x80040604, 0x82058005,                            // s[4:5] += s6
                 0x260000bf};                                       // v_and_b32 v0, 63, v0
  for (int i = 0; i < kRepeats; ++i) words.insert(words.end(), body.begin(), body.end());
  const auto back = static_cast<uint16_t>(-static_cast<int>(body.size()) * kRepeats - 4);
  words.insert(words.end(), {0x80028102, 0xbf0aff02, rounds, 0xbf850000u | back, 0xbf810000});
  return words;
}

// Instructions of waves, in millions, for a second of all threads' CPU and of the clock.
struct Speed {
  double cpu, clock;
};
Speed speed(const Words& body, int threads) {
  std::vector<uint32_t> memory(kLanes * kGroups);
  const Words words = loop_of(body, 2000, memory.data());
  isa::Engine engine;
  isa::Launch launch;
  launch.entry = reinterpret_cast<uint64_t>(words.data());
  launch.descriptor.rsrc1 = isa::kUsualFloatMode << 12;
  launch.descriptor.rsrc2 = 1 << 7;  // the group's number in s0
  isa::MachineKernel kernel(
      engine, engine.program(sonde::gpu::Architecture::kGfx90a, launch.entry, words.size() * 4),
      launch);
  Executor executor(threads);
  Dispatch dispatch;
  dispatch.grid[0] = kLanes * kGroups;
  dispatch.group[0] = kLanes;
  executor.run(kernel, dispatch);  // threads start, code is decoded
  const uint64_t before = kernel.executed();
  const auto start = std::chrono::steady_clock::now();
  const double cpu_before = cpu_seconds();
  const Outcome outcome = executor.run(kernel, dispatch);
  const double cpu_s = cpu_seconds() - cpu_before;
  const std::chrono::duration<double> clock_s = std::chrono::steady_clock::now() - start;
  if (outcome.kind != Outcome::kDone) {
    std::fprintf(stderr, "machine_code: %s\n", outcome.detail.c_str());
    std::exit(1);
  }
  const double millions = static_cast<double>(kernel.executed() - before) / 1e6;
  return {millions / cpu_s, millions / clock_s.count()};
}

}  // namespace

int main() {
  constexpr const char* kUnit = "\"M wave instructions/s CPU\", \"better\": \"higher\"";
  const struct {
    const char* name;
    const Words& body;
  } kinds[] = {{"f32 arithmetic", kArithmetic}, {"integers", kIntegers}, {"memory", kMemory}};
  for (const auto& kind : kinds) {
    const Speed one = speed(kind.body, 1), two = speed(kind.body, 2);
    std::printf("{\"name\": \"machine code, %s\", \"value\": %.1f, \"unit\": %s, \"goal\": 40}\n",
                kind.name, one.cpu, kUnit);
    std::printf(
        "{\"name\": \"machine code, %s, 2 cores to 1\", \"value\": %.2f, \"unit\": \"times\", "
        "\"better\": \"higher\", \"goal\": 1.8}\n",
        kind.name, two.clock / one.clock);
  }
}
