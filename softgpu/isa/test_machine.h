// For tests: floats as bits, and a wave that runs some words.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "isa/coverage.h"
#include "isa/group.h"
#include "isa/program.h"

namespace softgpu::isa {

using Words = std::vector<uint32_t>;

inline uint32_t bits(float value) {
  uint32_t made = 0;
  std::memcpy(&made, &value, sizeof(made));
  return made;
}
inline float number(uint32_t value) {
  float made = 0;
  std::memcpy(&made, &value, sizeof(made));
  return made;
}
inline uint64_t bits64(double value) {
  uint64_t made = 0;
  std::memcpy(&made, &value, sizeof(made));
  return made;
}

// Runs a whole group; an access outside its memory raises a trap.
inline Outcome run_group(GroupRunner& runner, const Launch& launch, const uint32_t (&id)[3],
                         const uint32_t (&size)[3]) {
  if (!runner.begin(launch, id, size, 0)) return {Outcome::kTrap, 0, "no memory"};
  Outcome outcome = runner.resume();
  while (runner.is_waiting()) outcome = runner.resume();
  return outcome;
}

constexpr uint32_t kClampsAndIeee = 3U << 8;  // the MODE bits that compilers set

// A wave with all lanes, LDS and private memory.
struct Machine {
  std::unique_ptr<Wave> wave = std::make_unique<Wave>();
  GroupState group;
  std::vector<uint8_t> lds = std::vector<uint8_t>(256);
  std::vector<uint8_t> own = std::vector<uint8_t>(64 * 64);

  Machine() {
    clear(*wave);
    wave->mode = kUsualFloatMode | kClampsAndIeee;
    wave->set64(sonde::gpu::kExec, ~uint64_t{0});
    group.lds = lds.data();
    group.lds_bytes = static_cast<uint32_t>(lds.size());
    group.private_bytes = 64;
    wave->group = &group;
    wave->private_memory = own.data();
  }
  void fill(unsigned row, uint32_t value) {
    for (uint32_t& lane : wave->v[row]) lane = value;
  }
  // Runs the words and then s_endpgm; what stopped it.
  Stop run(Words words, uint64_t budget = 1000,
           sonde::gpu::Architecture architecture = sonde::gpu::Architecture::kGfx90a) {
    words.push_back(0xbf810000);
    const auto begin = reinterpret_cast<uint64_t>(words.data());
    static const auto kCoverage = Coverage::of_environment();
    Program program(architecture, begin, words.size() * 4, kCoverage.get());
    wave->pc = begin;
    isa::run(*wave, program, budget);
    wave->pc -= begin;
    return wave->stop;
  }
};

}  // namespace softgpu::isa
