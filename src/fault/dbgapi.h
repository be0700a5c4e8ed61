// The parts of AMD's debugger library (librocm-dbgapi.so.0) that Sonde uses; it is opened if
// installed. Numbers and layouts are those of its API 0.70; each function is looked up with the
// version of the API in which it got the signature declared here, so a library with another
// signature does not have it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sonde::fault::dbgapi {

constexpr const char* kLibrary = "librocm-dbgapi.so.0";

struct Handle {
  uint64_t handle = 0;
};
using Status = int;
constexpr Status kSuccess = 0;

struct Callbacks {
  void* (*allocate_memory)(size_t bytes);
  void (*deallocate_memory)(void* memory);
  Status (*get_os_pid)(void* client, pid_t* pid);
  Status (*insert_breakpoint)(void* client, uint64_t address, Handle breakpoint);
  Status (*remove_breakpoint)(void* client, Handle breakpoint);
  void (*log_message)(int level, const char* message);
};

enum Progress : int { kProgressNormal = 0, kNoForwardProgress = 1 };
enum EventKind : int { kNoEvent = 0, kRuntimeEvent = 5 };
enum EventInfo : int { kRuntimeState = 6 };
// Value of kRuntimeState: the library does not support the runtime.
constexpr int kRuntimeIsRefused = 3;
enum WaveInfo : int {
  kState = 1,
  kStopReason = 2,
  kDispatch = 5,
  kAgent = 7,
  kArchitecture = 9,
  kPc = 10,
  kExec = 11,
  kGroupIds = 12,
  kNumberInGroup = 13,
};
constexpr int kWaveIsStopped = 3;  // value of kState
enum DispatchInfo : int {
  kGroupSizes = 10,
  kGridSizes = 11,
  kGroupBytes = 13,
  kKernelDescriptor = 15
};
enum RegisterInfo : int { kName = 2, kSize = 3 };
constexpr uint64_t kLocalMemory = 3;  // DWARF's number for LDS
// Bits of kStopReason.
constexpr uint32_t kDebugTrap = 1U << 10, kAssertTrap = 1U << 11, kTrap = 1U << 12,
                   kMemoryViolation = 1U << 13, kApertureViolation = 1U << 14,
                   kIllegalInstruction = 1U << 15;

// X(member, function name after "amd_dbgapi_", version, result and parameters)
#define SONDE_DBGAPI_FUNCTIONS(X)                                                    \
  X(set_log_level, "0.54", void(int))                                                \
  X(initialize, "0.54", Status(Callbacks*))                                          \
  X(process_attach, "0.56", Status(void*, Handle*))                                  \
  X(process_detach, "0.54", Status(Handle))                                          \
  X(process_set_progress, "0.54", Status(Handle, int))                               \
  X(process_next_pending_event, "0.54", Status(Handle, Handle*, int*))               \
  X(event_get_info, "0.54", Status(Handle, int, size_t, void*))                      \
  X(event_processed, "0.54", Status(Handle))                                         \
  X(process_agent_list, "0.54", Status(Handle, size_t*, Handle**, int*))             \
  X(process_wave_list, "0.54", Status(Handle, size_t*, Handle**, int*))              \
  X(wave_get_info, "0.64", Status(Handle, int, size_t, void*))                       \
  X(wave_stop, "0.54", Status(Handle))                                               \
  X(wave_resume, "0.58", Status(Handle, int, uint32_t))                              \
  X(wave_register_list, "0.54", Status(Handle, size_t*, Handle**))                   \
  X(register_get_info, "0.70", Status(Handle, int, size_t, void*))                   \
  X(read_register, "0.62", Status(Handle, Handle, uint64_t, uint64_t, void*))        \
  X(dispatch_get_info, "0.54", Status(Handle, int, size_t, void*))                   \
  X(dwarf_address_space_to_address_space, "0.54", Status(Handle, uint64_t, Handle*)) \
  X(read_memory, "0.54", Status(Handle, Handle, uint32_t, Handle, uint64_t, uint64_t*, void*))

}  // namespace sonde::fault::dbgapi
