// Layouts that ROCr and the packet processor share in memory: signals, queues, AQL packets. Only
// what the device reads or writes; a test compares them with the HSA headers, if those are
// installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/executor.h"
#include "gpu/code_object.h"

namespace softgpu {

struct alignas(64) AmdSignal {
  int64_t kind = 0, value = 0;
  uint64_t event_mailbox = 0;
  uint32_t event_id = 0, reserved1 = 0;
  uint64_t start_ts = 0, end_ts = 0;
  uint64_t reserved2[2] = {};
};
static_assert(sizeof(AmdSignal) == 64);

struct alignas(64) AmdQueue {
  uint8_t hsa_queue[40];
  uint32_t reserved1[4];
  uint64_t write_dispatch_id;
  uint32_t apertures_and_limits[4];
  uint64_t legacy_doorbell[2];
  uint32_t reserved2[8];
  uint64_t read_dispatch_id;
  uint32_t read_dispatch_id_offset;
  uint32_t compute_tmpring_size;
  uint32_t scratch_resource_descriptor[4];
  uint64_t scratch_backing_location, scratch_backing_bytes;
  uint32_t scratch_wave64_lane_bytes;
  uint32_t properties;
  uint32_t reserved3[2];
  uint64_t inactive_signal;
  uint32_t reserved4[14];
};
static_assert(sizeof(AmdQueue) == 256);

constexpr uint32_t kQueueProfiling = 1u << 3;    // AmdQueue::properties
constexpr uint32_t kQueueScratchOnce = 1u << 4;  // release large scratch memory after one use

enum AqlType : uint8_t {
  kAqlVendor = 0,
  kAqlInvalid = 1,
  kAqlDispatch = 2,
  kAqlBarrierAnd = 3,
  kAqlAgentDispatch = 4,
  kAqlBarrierOr = 5,
};

struct AqlBarrier {
  uint16_t header, reserved0;
  uint32_t reserved1;
  uint64_t dep[5];
  uint64_t reserved2, completion;
};

using sonde::gpu::KernelDescriptor;     // a kernel object's target
constexpr uint16_t kWave32 = 1u << 10;  // KernelDescriptor::properties

enum AmdVendorFormat : uint8_t { kFormatPm4Ib = 1, kFormatBarrierValue = 2 };
enum BarrierCondition : uint32_t { kEqual = 0, kNotEqual = 1, kLess = 2, kGreaterEqual = 3 };

struct AqlBarrierValue {
  uint16_t header;
  uint8_t format, reserved0;
  uint32_t reserved1;
  uint64_t signal;
  int64_t value, mask;
  uint32_t condition, reserved2;
  uint64_t reserved3[2];
  uint64_t completion;
};

struct AqlPm4Ib {
  uint16_t header;
  uint8_t format, reserved0;
  uint32_t jump[4];  // a PM4 packet that jumps to the command buffer
  uint32_t reserved1[9];
  uint64_t completion;
};

union AqlPacket {
  uint16_t header;
  AqlDispatch dispatch;
  AqlBarrier barrier;
  AqlBarrierValue barrier_value;
  AqlPm4Ib pm4;
};
static_assert(sizeof(AqlPacket) == 64 && offsetof(AqlDispatch, completion) == 56);
static_assert(offsetof(AqlPm4Ib, completion) == 56);
static_assert(offsetof(AqlBarrier, completion) == 56 &&
              offsetof(AqlBarrierValue, completion) == 56);

// What the device stores in a queue's inactive_signal; ROCr maps it to a status.
enum QueueError : int64_t {
  kScratchRequest = 1,
  kBadDimensions = 2,
  kBadGroupMemory = 4,
  kBadCodeObject = 8,
  kBadPacket = 0x20,
  kGroupTooLarge = 0x40,
  kBadVendorPacket = 0x100,
  kScratchReclaim = 0x200,
  kApertureError = 0x20000000,
  kIllegalInstructionError = 0x40000000,
  kExceptionError = 0x80000000,
};

}  // namespace softgpu
