#include <gtest/gtest.h>

#include "importers/sink/sink_test_support.h"

namespace sonde::importers {

Importer amd_log_importer();
Importer miopen_log_importer();

namespace {

constexpr const char* kLog =
    ":3:hip_module.cpp           :501 : 0000001000 us: 30799: [tid:0xa0] "
    "\x1b[32mhipLaunchKernel ( 0x1, {16,1,1}, {64,1,1}, 0x2, 0, stream:0x3 )\x1b[0m\n"
    ":3:hip_module.cpp           :356 : 0000001001 us: 30799: [tid:0xa0] "
    "\x1b[32mihipModuleLaunchKernel ( 0x1, 1024, 1, 1 )\x1b[0m\n"
    ":3:rocvirtual.cpp           :676 : 0000001002 us: 30799: [tid:0xa0] Arg0:   = ptr:0x7f "
    "obj:[0x7f-0x8f]\n"
    ":3:rocvirtual.cpp           :2723: 0000001003 us: 30799: [tid:0xa0] ShaderName : _Z4vaddPf\n"
    ":4:rocvirtual.cpp           :827 : 0000001004 us: 30799: [tid:0xa0] HWq=0x7f2, Dispatch "
    "Header = 0xb02 (type=2, barrier=1, acquire=1, release=1), setup=3, grid=[1024, 1, 1], "
    "workgroup=[64, 1, 1], private_seg_size=8, group_seg_size=512, kernel_obj=0x1, "
    "kernarg_address=0x2, completion_signal=0x0\n"
    ":3:hip_platform.cpp         :671 : 0000001005 us: 30799: [tid:0xa0] ihipLaunchKernel: "
    "Returned hipSuccess : \n"
    ":3:hip_module.cpp           :502 : 0000001006 us: 30799: [tid:0xa0] hipLaunchKernel: Returned "
    "hipSuccess : \n"
    "output of the program\n"
    ":3:hip_memory.cpp           :555 : 0000002000 us: 30799: [tid:0xa0] "
    "\x1b[32mhipMemcpy ( 0x7f, 0x8f, 4294967296, hipMemcpyHostToDevice )\x1b[0m\n"
    ":4:rocblit.cpp              :666 : 0000002001 us: 30799: [tid:0xa0] HSA Asycn Copy "
    "wait_event=0x0, completion_signal=0x7f\n"
    ":3:hip_memory.cpp           :556 : 0000002500 us: 30799: [tid:0xa0] hipMemcpy: Returned "
    "hipSuccess : : duration: 500 us\n"
    ":3:rocdevice.cpp            :2093: 0000002600 us: 30799: [tid:0xa0] device=0x1, freeMem_ = "
    "0xff800000\n"
    ":3:hip_device_runtime.cpp   :517 : 0000002700 us: 30799: [tid:0xa0] hipGetDeviceCount: "
    "Returned hipSuccess : \n"
    ":0:rocdevice.cpp            :2651: 0000002800 us: 30799: [tid:0xb0] Device::callbackQueue "
    "aborting with error : HSA_STATUS_ERROR_EXCEPTION: text code: 0x1016\n"
    ":3:hip_memory.cpp           :493 : 0000002900 us: 30799: [tid:0xa0] hipMalloc ( 0x7f, 8 )\n";

TEST(AmdLog, CallsDispatchesAndCopies) {
  const ImportedText seen = import_text(amd_log_importer(), kLog);
  ASSERT_TRUE(seen.status.ok());
  EXPECT_EQ(seen.tally.skipped_count(), 0u);
  const auto& launch = seen.sink.find_api("hipLaunchKernel");
  EXPECT_EQ(launch.row.start_ns, 1'000'000);
  EXPECT_EQ(launch.row.end_ns, 1'006'000);
  EXPECT_EQ(launch.row.tid, 0xa0);
  EXPECT_EQ(launch.pid, 30799);
  EXPECT_EQ(launch.domain, "hip");
  EXPECT_NE(launch.args.find("{16,1,1}"), std::string::npos);
  EXPECT_NE(launch.args.find("result = hipSuccess"), std::string::npos);
  const auto& inner = seen.sink.find_api("ihipModuleLaunchKernel");
  EXPECT_EQ(inner.row.end_ns, 1'005'000);

  const auto& kernel = seen.sink.find_op("_Z4vaddPf");
  EXPECT_EQ(kernel.type, "KernelExecution");
  EXPECT_EQ(kernel.row.start_ns, 1'004'000);
  EXPECT_EQ(kernel.row.end_ns, 1'004'000);
  EXPECT_EQ(kernel.launch.grid[0], 1024);
  EXPECT_EQ(kernel.launch.group[0], 64);
  EXPECT_EQ(kernel.launch.group_segment_bytes, 512);
  EXPECT_EQ(kernel.launch.private_segment_bytes, 8);
  EXPECT_EQ(&seen.sink.apis[static_cast<size_t>(kernel.launch.api) - 1], &launch);

  ASSERT_EQ(seen.sink.ops.size(), 2u);
  EXPECT_EQ(seen.sink.ops[1].type, "CopyHostToDevice");
  EXPECT_EQ(seen.sink.ops[1].launch.bytes, int64_t{1} << 32);
  ASSERT_EQ(seen.sink.counters.size(), 1u);
  EXPECT_EQ(seen.sink.counters[0].value, double{0xff800000});
}

TEST(AmdLog, ReturnsAloneErrorsAndCallsThatNeverEnd) {
  const ImportedText seen = import_text(amd_log_importer(), kLog);
  const auto& alone = seen.sink.find_api("hipGetDeviceCount");
  EXPECT_EQ(alone.row.start_ns, alone.row.end_ns);
  const auto& error = seen.sink.find_api("UserMarker");
  EXPECT_EQ(error.category, "error");
  EXPECT_EQ(seen.sink.find_api("hipMalloc").row.tid, 0xa0);
  EXPECT_EQ(seen.sink.unfinished_apis.size(), 1u);
  ASSERT_EQ(seen.tally.remarks().size(), 2u);
  EXPECT_EQ(seen.tally.remarks()[0].substr(0, 7), "1 lines");
}

TEST(AmdLog, ACallThatNeverLogsItsReturnIsAMoment) {
  const ImportedText seen = import_text(
      amd_log_importer(),
      ":3:hip_error.cpp            :27  : 0000001000 us: 1: [tid:0xa] hipGetLastError (  )\n"
      ":3:hip_memory.cpp           :1225: 0000002000 us: 1: [tid:0xa] hipMemcpyAsync ( 0x7, 0x8, "
      "64, hipMemcpyDeviceToHost, stream:0x5 )\n"
      ":4:rocblit.cpp              :666 : 0000002001 us: 1: [tid:0xa] HSA Asycn Copy "
      "wait_event=0x0, completion_signal=0x7f\n"
      ":3:hip_memory.cpp           :1226: 0000002100 us: 1: [tid:0xa] hipMemcpyAsync: Returned "
      "hipSuccess : \n");
  const auto& moment = seen.sink.find_api("hipGetLastError");
  EXPECT_EQ(moment.row.start_ns, moment.row.end_ns);
  ASSERT_EQ(seen.sink.ops.size(), 1u);
  EXPECT_EQ(seen.sink.ops[0].launch.bytes, 64);
}

TEST(AmdLog, AnyCutIsReadWithoutHarm) {
  const std::string log = kLog;
  for (size_t size = 0; size < log.size(); size += 7) {
    EXPECT_TRUE(import_text(amd_log_importer(), log.substr(0, size)).status.ok());
  }
}

TEST(MiopenLog, CallsAndCommands) {
  const ImportedText seen = import_text(
      miopen_log_importer(),
      "MIOpen(HIP): miopenStatus_t miopenConvolutionForward(miopenHandle_t, const void *){\n"
      "MIOpen(HIP): \thandle = 0x55\nMIOpen(HIP): \tdims = { 128 3 }\nMIOpen(HIP): }\n"
      "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 128 -F 1\n"
      "epoch 1\nMIOpen(HIP): Info [FindSolution] found\n"
      "MIOpen(HIP): ???\nMIOpen: miopenStatus_t miopenCreate_impl(){\n");
  ASSERT_TRUE(seen.status.ok());
  const auto& call = seen.sink.find_api("miopenConvolutionForward");
  EXPECT_EQ(call.args, "handle = 0x55 | dims = { 128 3 }");
  EXPECT_EQ(call.row.end_ns - call.row.start_ns, 3000);
  const auto& command = seen.sink.find_api("UserMarker");
  EXPECT_EQ(command.args, "./bin/MIOpenDriver conv -n 128 -F 1");
  EXPECT_EQ(seen.sink.find_api("miopenCreate").row.process, call.row.process);
  EXPECT_EQ(seen.sink.unfinished_apis.size(), 1u);
  EXPECT_EQ(seen.tally.skipped_count(), 1u);
}

// Times that run backwards: of a return before its entry, and of one that lasted too long.
TEST(AmdLog, NoCallEndsBeforeItStarts) {
  const ImportedText seen = import_text(
      amd_log_importer(),
      ":3:hip.cpp  :501 : 0000002000 us: 7: [tid:0xa0] hipMalloc ( 0x7f, 8 )\n"
      ":3:hip.cpp  :502 : 0000001000 us: 7: [tid:0xa0] hipMalloc: Returned hipSuccess : \n"
      ":3:hip.cpp  :503 : 0000003000 us: 7: [tid:0xa0] hipFree: Returned hipSuccess : : duration: "
      "9223372036854775807 us\n");
  ASSERT_TRUE(seen.status.ok());
  ASSERT_EQ(seen.sink.apis.size(), 2u);
  EXPECT_EQ(seen.sink.apis[0].row.start_ns, 2'000'000);
  EXPECT_EQ(seen.sink.apis[0].row.end_ns, 2'000'000);
  EXPECT_EQ(seen.sink.apis[1].row.start_ns, 3'000'000);
  ASSERT_EQ(seen.tally.repaired().size(), 1u);
}

}  // namespace
}  // namespace sonde::importers
