// The ROCTX interface as programs call it: libroctx64.so.4 (ROCm 4.1 to 7.x, interface version 4.1,
// symbol version ROCTX_4.1) and librocprofiler-sdk-roctx.so.0/.so.1 (ROCm 6.2 and later, symbols
// without version). Declared from the public headers' facts: roctracer's roctx.h and
// roctracer_roctx.h, rocprofiler-sdk's roctx.h. Used by roctx.cpp only.
#pragma once

#include <stdint.h>

#define SONDE_ROCTX __attribute__((visibility("default")))

extern "C" {

// roctracer's activity callback: (domain, operation, data), with the domain number of ROCTX.
typedef int (*roctx_tracer_callback)(uint32_t domain, uint32_t operation, void* data);

SONDE_ROCTX uint32_t roctx_version_major(void);
SONDE_ROCTX uint32_t roctx_version_minor(void);
SONDE_ROCTX void roctxMarkA(const char* message);
SONDE_ROCTX int roctxRangePushA(const char* message);
SONDE_ROCTX int roctxRangePop(void);
SONDE_ROCTX uint64_t roctxRangeStartA(const char* message);
SONDE_ROCTX void roctxRangeStop(uint64_t id);
SONDE_ROCTX void roctxRegisterTracerCallback(roctx_tracer_callback callback);

SONDE_ROCTX int roctxProfilerPause(uint64_t thread);
SONDE_ROCTX int roctxProfilerResume(uint64_t thread);
SONDE_ROCTX int roctxNameOsThread(const char* name);
SONDE_ROCTX int roctxNameHsaAgent(const char* name, const void* agent);
SONDE_ROCTX int roctxNameHipDevice(const char* name, int device);
SONDE_ROCTX int roctxNameHipStream(const char* name, const void* stream);
SONDE_ROCTX int roctxGetThreadId(uint64_t* thread);

// From roctracer (roctracer_ext.h): its switch for the whole process.
SONDE_ROCTX void roctracer_start(void);
SONDE_ROCTX void roctracer_stop(void);
}

namespace sonde::roctx {

constexpr uint32_t kVersionMajor = 4;
constexpr uint32_t kVersionMinor = 1;
constexpr uint32_t kActivityDomain = 6;

enum Operation : uint32_t { kMark = 0, kPush = 1, kPop = 2, kStart = 3, kStop = 4 };

// The data of roctracer's callback: every operation uses a prefix of this.
struct CallbackData {
  const char* message;
  uint64_t id;
};

}  // namespace sonde::roctx
