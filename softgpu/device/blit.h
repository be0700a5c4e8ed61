// The runtimes' own blit kernels: recognised by their names (ROCclr) or by the shape of their
// kernarg segment (ROCr, whose kernels have no symbols), and executed natively.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/amd_abi.h"
#include "device/memory.h"
#include "device/transfer.h"

namespace softgpu {

// A wait or write of memory in stream order (hipStreamWaitValue, hipStreamWriteValue).
struct StreamOp {
  uint64_t address = 0;
  uint32_t bytes = 4;
  uint64_t value = 0, mask = ~0ull;
  enum Test { kWrite, kGreaterEqual, kEqual, kAnd, kNor } test = kWrite;
};

struct Blit {
  std::optional<Transfer> transfer;
  std::optional<StreamOp> stream_op;
};

// Nothing if the dispatch is not a blit kernel or its arguments are not mapped.
std::optional<Blit> recognise_blit(std::string_view name, const AqlDispatch& dispatch,
                                   const GpuMemory& memory);

// Whether a stream operation can proceed; a write always can.
bool stream_op_ready(const StreamOp& op);
void run_stream_op(const StreamOp& op);

}  // namespace softgpu
