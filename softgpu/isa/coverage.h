// Coverage: which instructions, with which modifiers, waves have reached, for the report on what
// the tests execute. Recorded when instructions are decoded, so that waves run at full speed.
// Thread-safe; processes may share the file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/pinned.h"
#include "isa/append_file.h"
#include "isa/op.h"

namespace softgpu::isa {

class Coverage : sonde::Pinned {
 public:
  // Appends a line "gfx90a v_add_f32 sdwa" to this file for each pair, the first time it occurs.
  explicit Coverage(const std::string& path);

  void add(sonde::gpu::Architecture architecture, const Op& op);

  // Writes to the file named by SOFTGPU_COVERAGE, for tests that link the engine; nullptr without
  // it.
  static std::unique_ptr<Coverage> of_environment();

 private:
  AppendFile file_;
  std::mutex mutex_;
  std::unordered_map<const sonde::gpu::Opcode*, uint32_t> seen_;  // one bit per modifier
};

}  // namespace softgpu::isa
