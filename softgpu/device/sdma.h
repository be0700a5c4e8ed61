// SdmaQueue: the packet processor of an SDMA queue (gfx9 packets). Doorbell and read pointer count
// bytes.
#pragma once

#include <optional>

#include "device/queue.h"
#include "device/transfer.h"

namespace softgpu {

class SdmaQueue : public Queue {
 public:
  using Queue::Queue;
  void run_long() override;

 protected:
  Step advance() override;

 private:
  // The parts of a packet that all have in common, decoded.
  struct Packet {
    std::string_view kind;
    uint32_t dwords = 1;
    std::optional<Transfer> transfer;
  };

  bool decode(uint32_t header);
  bool decode_copy(uint32_t header);
  Transfer decode_rect(uint32_t header) const;
  Transfer decode_fill(uint32_t header) const;
  Step execute();
  bool poll_ready() const;
  // Where the packet's first address points to; nullptr after a page fault.
  template <class T>
  T* target();
  bool execute_small(uint32_t header);
  bool write_data();
  bool atomic(uint32_t header);
  void finish();
  void end_op(uint64_t address);
  void add_to_op();
  void flush_op(uint64_t signal);
  void unknown(uint32_t header);

  uint64_t doorbell() const;
  uint32_t dword(uint32_t i) const;
  uint64_t qword(uint32_t i) const { return dword(i) | uint64_t{dword(i + 1)} << 32; }

  uint64_t next_ = 0;  // byte position of the next or current packet
  bool running_ = false, is_long_ = false, looked_at_ = false;
  Packet packet_;
  std::optional<OpRecord> op_;  // copies since the last completion
};

}  // namespace softgpu
