// The offsets of a call's parameters in the data of HIP's callbacks, checked against HIP's own
// header.
#define __HIP_PLATFORM_AMD__ 1
#include <gtest/gtest.h>

#include <string>
#ifdef SONDE_HIP_HEADERS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#include <hip/hip_runtime_api.h>

#include <hip/amd_detail/hip_prof_str.h>
#pragma GCC diagnostic pop

#include "backends/rocm/hip/functions.h"
#include "backends/rocm/hip/hip_abi.h"

namespace sonde::hip {
namespace {

const char* parameters_of(const char* wanted) {
#define X(id, place, name, category, weight, count, parameters) \
  if (strcmp(#name, wanted) == 0) return parameters;
#include "backends/rocm/hip/functions.inc"
#undef X
  return "";
}

size_t offset_of(const char* function, size_t index) {
  Parameter parameters[kMaxParameters];
  const size_t count = parse_parameters(parameters_of(function), parameters);
  return index < count ? kArguments + parameters[index].offset : 0;
}

#define EXPECT_PLACE(function, index, member) \
  EXPECT_EQ(offset_of(#function, index), offsetof(hip_api_data_t, args.function.member))

TEST(Layout, ParametersLieWhereTheHeaderHasThem) {
  EXPECT_PLACE(hipMalloc, 1, size);
  EXPECT_PLACE(hipMallocPitch, 1, pitch);
  EXPECT_PLACE(hipMallocPitch, 3, height);
  EXPECT_PLACE(hipMemcpyAsync, 3, kind);
  EXPECT_PLACE(hipMemcpyAsync, 4, stream);
  EXPECT_PLACE(hipMemcpy3DAsync, 1, stream);
  EXPECT_PLACE(hipLaunchKernel, 2, dimBlocks);
  EXPECT_PLACE(hipLaunchKernel, 5, stream);
  EXPECT_PLACE(hipExtLaunchKernel, 8, flags);
  EXPECT_PLACE(hipModuleLaunchKernel, 8, stream);
  EXPECT_PLACE(hipModuleLaunchKernel, 10, extra);
  EXPECT_PLACE(hipModuleGetFunction, 2, kname);
  EXPECT_PLACE(hipModuleLoadDataEx, 4, optionsValues);
  EXPECT_PLACE(hipGraphInstantiate, 4, bufferSize);
#if HIP_VERSION_MAJOR >= 6  // its headers rename functions with old structs
  EXPECT_PLACE(hipGetDevicePropertiesR0000, 1, device);
  EXPECT_PLACE(hipGetDevicePropertiesR0600, 1, deviceId);
#else
  EXPECT_PLACE(hipGetDeviceProperties, 1, device);
#endif
  EXPECT_PLACE(hipMalloc3D, 1, extent);
  EXPECT_PLACE(hipMemset3DAsync, 3, stream);
  EXPECT_PLACE(hipIpcOpenMemHandle, 2, flags);
  EXPECT_PLACE(hipMemsetD16Async, 3, stream);
  EXPECT_PLACE(hipDeviceGetByPCIBusId, 1, pciBusId);
  EXPECT_PLACE(hipStreamGetCaptureInfo_v2, 5, numDependencies_out);
  EXPECT_PLACE(hipMemcpyToSymbolAsync, 5, stream);
}

bool is_named(const std::string& in_header, const std::string& name) {
  return in_header == name || in_header == name + "R0000";
}

TEST(Layout, EveryIdIsTheHeaders) {
#define X(id, place, name, category, weight, count, parameters) \
  if (id != 0) {                                                \
    EXPECT_TRUE(is_named(hip_api_name(id), #name)) << id;       \
  }
#include "backends/rocm/hip/functions.inc"
#undef X
}

}  // namespace
}  // namespace sonde::hip
#else
TEST(Layout, OfHipsOwnHeaders) { GTEST_SKIP() << "built without HIP's headers"; }
#endif
