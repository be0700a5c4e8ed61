// The injection interface of NVTX version 3 (the header-only library; CUDA 10 and later): what a
// program passes to the tool library that it loads. Numbers and layouts only, checked against the
// headers of CUDA 13.0; unchanged since version 3.0. Used by this folder only.
//
// A client calls InitializeInjectionNvtx2 with a function that returns export tables by id. The
// callback table gives, per module, an array of pointers to the client's function pointers, in the
// order in which nvtx.cpp and objects.cpp list ours; entry 0 is unused. A pointer that the tool
// does not set becomes a no-op. Each shared object that contains NVTX is a separate client.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::nvtx {

using AnyFunction = void (*)();
using GetExportTable = const void* (*)(uint32_t id);

enum ExportTable : uint32_t { kTableCallbacks = 1, kTableVersion = 3 };

struct CallbackTable {
  size_t struct_size;
  int (*get_module_functions)(int module, AnyFunction*** functions, unsigned int* count);
};

enum Module : int {
  kModuleCore = 1,
  kModuleCuda = 2,
  kModuleOpenCl = 3,
  kModuleCudaRuntime = 4,
  kModuleCore2 = 5,
  kModuleSync = 6
};

// Places in the table of kModuleCore.
enum CoreFunction : unsigned { kMarkA = 2, kRangePushA = 9, kRangePop = 11 };

enum MessageType : int32_t {
  kMessageNone = 0,
  kMessageAscii = 1,
  kMessageWide = 2,
  kMessageRegistered = 3
};

union MessageValue {
  const char* ascii;
  const wchar_t* wide;
  const void* registered;
};

struct EventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;
  int32_t message_type;
  MessageValue message;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);

struct ResourceAttributes {
  uint16_t version;
  uint16_t size;
  int32_t identifier_type;
  uint64_t identifier;
  int32_t message_type;
  MessageValue message;
};
static_assert(sizeof(ResourceAttributes) == 32);
constexpr int32_t kResourceNativeThread = 0x10003;

struct SyncAttributes {
  uint16_t version;
  uint16_t size;
  int32_t message_type;
  MessageValue message;
};
static_assert(sizeof(SyncAttributes) == 16);

constexpr int kNoPushPopTracking = -2;

}  // namespace sonde::nvtx
