// Packs a stack that was taken as a sample for the agent: native and Python frames in one sequence.
#pragma once

#include "backends/cpu/python.h"
#include "backends/cpu/unwind.h"
#include "sonde/backend.h"

namespace sonde::cpu {

// What a thread was executing at a moment.
struct Moment {
  uint64_t ticks = 0;
  Stack stack;
  PythonStack python;
};

constexpr uint32_t kPackedBytes = wire::kMaxFrames * 2 * 2 * 10;

// Fills `packed`, with its frames in `room` of kPackedBytes. Frames of `own_module` are left out.
// False: a module could not be defined now.
bool pack(const struct sonde_agent* agent, uint32_t own_module, const Moment& moment, char* room,
          sonde_stack& packed);

void copy_moment(Moment& to, const Moment& from);

}  // namespace sonde::cpu
