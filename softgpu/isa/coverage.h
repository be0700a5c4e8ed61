// Coverage: which instructions waves have come by, and with which modifiers, for the report on what
// the tests have executed. Instructions are told when they are decoded, so that waves run as fast
// as without. Thread-safe; processes may share the file.
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
  // Appends a line "gfx90a v_add_f32 sdwa" to this file for each pair that this process has first.
  explicit Coverage(const std::string& path);

  void add(sonde::gpu::Architecture architecture, const Op& op);

  // To the file that SOFTGPU_COVERAGE names, for tests that link the engine; nullptr without it.
  static std::unique_ptr<Coverage> of_environment();

 private:
  AppendFile file_;
  std::mutex mutex_;
  std::unordered_map<const sonde::gpu::Opcode*, uint32_t> seen_;  // a bit for each modifier
};

}  // namespace softgpu::isa
