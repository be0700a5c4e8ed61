// Oracle: the log of what the device did, for tests of profilers. LOG.md has its format.
//
// Each line is appended with a single write, so that a killed process loses at most one line and
// several processes can share a file. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/pinned.h"
#include "config/config.h"
#include "device/notices.h"

namespace softgpu {

struct PacketRecord {
  uint32_t gpu = 0, queue = 0;
  bool sdma = false;
  uint64_t index = 0;                // of an AQL packet; byte position of an SDMA packet
  std::string_view kind;             // "kernel", "barrier_and", "copy", ...
  int64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  uint64_t signal = 0;

  std::string_view name;  // of a kernel
  std::array<uint32_t, 3> grid{}, group{};
  bool computed = false;

  std::string_view transfer;  // "copy", "fill": what a blit kernel or SDMA packet does
  uint64_t bytes = 0, src = 0, dst = 0;
  std::string_view fault;  // how the packet failed; "" = it completed
};

// An operation from a runtime's point of view: packets that belong together.
struct OpRecord {
  PacketRecord packet;  // the first packet, with the sums and the last end
  uint32_t packets = 1;
};

class Oracle : sonde::Pinned {
 public:
  Oracle(const Config& config, Notices& notices);
  ~Oracle();

  bool enabled() const { return fd_ >= 0; }
  void packet(const PacketRecord& record);
  void op(const OpRecord& record);

 private:
  void append(const std::string& line);

  const Config& config_;
  Notices& notices_;
  int fd_ = -1;
};

}  // namespace softgpu
