// The HSA interface for a tool of the runtime: types, queue packets, and the layout of the API
// tables of ROCm 4.0 to 7.0. Declared here from the facts of the public headers (HSA 1.2,
// hsa_ext_amd.h and hsa_api_trace.h), so that the build needs no ROCm header and one build serves
// every version. Used by this folder only.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::hsa {

using Status = int32_t;
constexpr Status kSuccess = 0;
constexpr Status kError = 0x1000;

struct AgentHandle {
  uint64_t handle;
};
struct Signal {
  uint64_t handle;  // the address of a SignalMemory
};
struct Executable {
  uint64_t handle;
};
struct Symbol {
  uint64_t handle;
};
struct CodeObject {
  uint64_t handle;
};
struct Pool {
  uint64_t handle;
};

// A signal in memory, as the device sees it; unchanged since HSA 1.0.
struct SignalMemory {
  int64_t kind;
  int64_t value;
  uint64_t event_mailbox;
  uint32_t event_id;
  uint32_t reserved;
  uint64_t start_ts;  // device ticks of the last op that completed on it
  uint64_t end_ts;
  uint64_t queue;
  uint64_t reserved2;
};
static_assert(sizeof(SignalMemory) == 64);

struct QueueMemory {
  uint32_t type;
  uint32_t features;
  void* base_address;
  Signal doorbell;
  uint32_t size;  // in packets
  uint32_t reserved;
  uint64_t id;
};

// A packet has 64 bytes. The first byte of the header is its type.
enum PacketType : uint8_t {
  kVendorPacket = 0,
  kInvalidPacket = 1,
  kDispatchPacket = 2,
  kBarrierAndPacket = 3,
  kAgentDispatchPacket = 4,
  kBarrierOrPacket = 5,
};

struct DispatchPacket {
  uint16_t header;
  uint16_t setup;
  uint16_t group[3];
  uint16_t reserved0;
  uint32_t grid[3];
  uint32_t private_segment_bytes;
  uint32_t group_segment_bytes;
  uint64_t kernel_object;
  uint64_t kernarg;
  uint64_t reserved2;
  Signal completion;  // at the same offset in every type of packet
};
static_assert(sizeof(DispatchPacket) == 64);

struct BarrierPacket {
  uint16_t header;
  uint16_t reserved0;
  uint32_t reserved1;
  Signal depends_on[5];
  uint64_t reserved2;
  Signal completion;
};
static_assert(sizeof(BarrierPacket) == 64);

struct Dim3 {
  uint32_t x, y, z;
};
struct PitchedPointer {
  void* base;
  size_t pitch, slice;
};

struct PointerDescription {
  uint32_t size;
  uint32_t type;
  void* agent_base;
  void* host_base;
  size_t bytes;
  void* user_data;
  AgentHandle owner;
  uint32_t global_flags;
};

struct Times {
  uint64_t start, end;
};

// The kernel descriptor of code object version 3 and later.
struct KernelDescriptor {
  uint32_t group_segment_bytes;
  uint32_t private_segment_bytes;
  uint32_t kernarg_bytes;
  uint8_t reserved0[4];
  int64_t entry_offset;
  uint8_t reserved1[20];
  uint32_t resources3;
  uint32_t resources1;
  uint32_t resources2;
  uint16_t properties;
  uint8_t reserved2[6];
};
static_assert(sizeof(KernelDescriptor) == 64);

struct SystemEvent {
  uint32_t type;  // 0 = memory fault
  AgentHandle agent;
  uint64_t address;
  uint32_t reasons;
};

using QueueCallback = void (*)(Status, QueueMemory*, void*);
using PacketWriter = void (*)(const void* packets, uint64_t count);
using PacketHandler = void (*)(const void* packets, uint64_t count, uint64_t index, void* data,
                               PacketWriter write);
using EventHandler = Status (*)(const SystemEvent* event, void* data);

enum SystemInfo : uint32_t { kSystemTimestamp = 2, kSystemTimestampFrequency = 3 };
enum AgentInfo : uint32_t {
  kAgentName = 0,
  kAgentVendor = 1,
  kAgentDevice = 17,  // 0 CPU, 1 GPU
  kAgentComputeUnits = 0xA002,
  kAgentMaxClockMhz = 0xA003,
  kAgentBdf = 0xA006,
  kAgentProduct = 0xA009,
  kAgentDomain = 0xA00F,
};
enum PoolInfo : uint32_t { kPoolSegment = 0, kPoolSize = 2 };  // segment 0 = global
enum SymbolInfo : uint32_t {
  kSymbolType = 0,  // 1 = kernel
  kSymbolNameLength = 1,
  kSymbolName = 2,
  kSymbolKernelObject = 22,
};
constexpr uint32_t kSymbolIsKernel = 1;
constexpr uint64_t kSignalGpuOnly = 1;  // attribute of signal_create: no thread waits by interrupts

constexpr uint16_t kExtensionLoader = 0x201;
enum CodeObjectInfo : uint32_t {
  kLoadAgent = 3,
  kLoadDelta = 8,
  kLoadBase = 9,
  kLoadSize = 10,
  kUriLength = 11,
  kUri = 12,
};
struct Loader {  // version 1.03 of the extension's table, or as much as the runtime has
  Status (*query_host_address)(const void* device, const void** host);
  void* query_segment_descriptors;
  Status (*query_executable)(const void* device, Executable* executable);
  Status (*iterate_code_objects)(Executable executable,
                                 Status (*visit)(Executable, CodeObject, void*), void* data);
  Status (*code_object_info)(CodeObject object, uint32_t attribute, void* value);
  void* make_reader;
  Status (*iterate_executables)(Status (*visit)(Executable, void*), void* data);
};

struct TableVersion {
  uint32_t major_id, minor_id, step_id, reserved;
};
struct ApiTable {
  TableVersion version;
  char* core;
  char* amd;
  // more members follow, unused
};

}  // namespace sonde::hsa
