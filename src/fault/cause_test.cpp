// Causes that the end-to-end tests cannot provoke, on reports made by hand.
#include "fault/compose.h"
#include "fault/text.h"

#include <gtest/gtest.h>

namespace sonde::fault {
namespace {

constexpr uint64_t kBuffer = 0x7f0000100000;
constexpr uint64_t kBytes = 10'000;

// A kernel with two pointer arguments; the first one points to the buffer on GPU 0.
FaultReport memory_fault(uint64_t address, uint32_t reasons = 1) {
  FaultReport report;
  report.kind = "memory fault";
  report.gpu = 0;
  report.address = address;
  report.has_address = true;
  report.reasons = reasons;
  report.reason = reasons_text(reasons);
  report.time_ns = 5'000'000;
  report.allocations.push_back({kBuffer, kBytes, 0, false, 1'000'000, 0, "hipMalloc"});
  report.allocations[0].made = {{"make", "a.cpp", "/a", 12}};
  Dispatch dispatch;
  dispatch.name = "scale(float*, float*)";
  dispatch.arguments = {
      {"x", "float*", "global_buffer", 0, 8, "0x7f0000100000", kBuffer, true, Place{0, 0}},
      {"y", "float*", "global_buffer", 8, 8, "0x0", 0, true, std::nullopt}};
  report.in_flight.push_back(dispatch);
  report.culprit = 0;
  return report;
}

std::string cause_of(FaultReport report) {
  find_cause(report);
  return report.cause;
}

TEST(Cause, TellsTheDistanceToTheNearestBuffer) {
  FaultReport report = memory_fault(kBuffer + kBytes + 4);
  report.nearest = Place{0, kBytes + 4};
  EXPECT_EQ(
      cause_of(report),
      "out of bounds: kernel scale(float*, float*) touches memory 4 bytes past the end of the "
      "buffer of 10,000 bytes at 0x7f0000100000 that is argument 0 (x), allocated in make at "
      "a.cpp:12");
  report = memory_fault(kBuffer - 16);
  report.nearest = Place{0, -16};
  EXPECT_EQ(cause_of(report).substr(0, 75),
            "out of bounds: kernel scale(float*, float*) touches memory 16 bytes before ");
}

TEST(Cause, BlamesNoFarBufferThatTheKernelDidNotGet) {
  constexpr int64_t kFar = 2 << 20;
  FaultReport report = memory_fault(kBuffer + kBytes + kFar);
  report.nearest = Place{0, kBytes + kFar};
  EXPECT_NE(cause_of(report).find("of the buffer of 10,000 bytes"), std::string::npos);  // it did
  report.in_flight[0].arguments.erase(report.in_flight[0].arguments.begin());
  EXPECT_EQ(cause_of(report),
            "kernel scale(float*, float*) uses an address outside all allocations: 0x7f0000302710");
  report.nearest = Place{0, kBytes + 4};
  EXPECT_NE(cause_of(report).find("4 bytes past the end of the buffer"), std::string::npos);
}

TEST(Cause, KnowsThatVariablesAreAtTheEndOfTheirModule) {
  FaultReport report = memory_fault(0x7f0000900010);
  report.in_flight[0].arguments.clear();
  CodeObject module;
  module.uri = "file:///a";
  module.base = 0x7f0000800000;
  module.loaded_bytes = 0x100000;
  report.code_objects = {module};
  EXPECT_EQ(cause_of(report),
            "out of bounds: kernel scale(float*, float*) touches memory 16 bytes past the end of "
            "the variables (__device__, __constant__) of its module");
  report.address = module.base - 16;
  EXPECT_NE(cause_of(report).find("outside all allocations"), std::string::npos);
}

TEST(Cause, AWaveThatFaultedIsNotOneThatRuns) {
  FaultReport report = memory_fault(0);
  report.kind = "hang";
  report.waves = {{0x1000, 0x1000, "demand", "k", "s_sleep 1", {{}}, "", {}},
                  {0x2000, 0x1000, "memory_fault", "k", "global_load_dword", {{}}, "", {}}};
  EXPECT_NE(cause_of(report).find("1 of its waves at 0x2000 (global_load_dword)"),
            std::string::npos);
}

TEST(Cause, ABlockOfACachingAllocatorIsNoTensor) {
  FaultReport report = memory_fault(kBuffer + kBytes + 4);
  report.nearest = Place{0, kBytes + 4};
  find_cause(report);
  EXPECT_EQ(report.advice, "");
  report.allocations[0].made.push_back(
      {"c10::hip::HIPCachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, ...)"});
  find_cause(report);
  EXPECT_NE(report.advice.find("sonde debug --no-cache"), std::string::npos) << report.advice;
}

TEST(Cause, TellsAPageAsAPage) {
  FaultReport report = memory_fault(kBuffer + 0x3000);
  report.nearest = Place{0, 0x3000};
  EXPECT_NE(cause_of(report).find("touches the page that begins 2,288 bytes past the end"),
            std::string::npos);
  report.address_is_exact = true;
  EXPECT_NE(cause_of(report).find("touches memory 2,288 bytes past the end"), std::string::npos);
}

// The rest of its last page belongs to a freed buffer, because whole pages are unmapped.
TEST(Cause, KnowsWhatWasFreed) {
  FaultReport report = memory_fault(kBuffer + kBytes + 100);
  report.allocations[0].freed_ns = 3'000'000;
  report.allocations[0].freed = {{"drop", "a.cpp", "/a", 20}};
  report.nearest = Place{0, kBytes + 100};
  find_cause(report);
  EXPECT_EQ(report.cause.substr(0, 14), "use after free");
  EXPECT_NE(report.evidence.find("freed 2.00 ms before the fault in drop at a.cpp:20"),
            std::string::npos)
      << report.evidence;
}

TEST(Cause, NamesTheNullArgument) {
  EXPECT_EQ(
      cause_of(memory_fault(0x40)),
      "null pointer: kernel scale(float*, float*) touches address 0x40, and its argument 1 (y) "
      "is null");
}

TEST(Cause, KnowsMemoryOfTheHost) {
  FaultReport report = memory_fault(0x5555'0000'1000);
  report.host_mapped = true;
  report.in_flight[0].arguments[1].word = 0x5555'0000'1000;
  report.in_flight[0].arguments[1].value = "0x555500001000";
  EXPECT_EQ(cause_of(report).substr(0, 35), "host pointer without registration: ");
  // No argument points there: a wild pointer, not the host's.
  report.in_flight[0].arguments[1].word = 0;
  EXPECT_EQ(cause_of(report),
            "kernel scale(float*, float*) uses an address outside all allocations: 0x555500001000");
}

TEST(Cause, ChecksKnowMemoryOfTheHostToo) {
  FaultReport report = memory_fault(0x5555'0000'1010);
  report.host_mapped = true;
  report.nearest = Place{0, -(int64_t{20} << 20)};
  report.finding = CheckFinding{"out_of_bounds", "load"};
  report.finding->begin = report.finding->address = 0x5555'0000'1010;
  report.finding->bytes = 4;
  report.waves = {WaveGroup{}};
  report.in_flight[0].arguments[1].word = 0x5555'0000'1010;
  report.in_flight[0].arguments[1].place = report.nearest;
  EXPECT_EQ(cause_of(report).substr(0, 35), "host pointer without registration: ");
  // A page that follows a buffer counts as that buffer's.
  report.nearest = report.in_flight[0].arguments[1].place = Place{0, kBytes + 4096};
  EXPECT_EQ(cause_of(report).substr(0, 17), "out of bounds by ");
}

TEST(Cause, ReadsTheMemoryOfACallThatWasRefused) {
  FaultReport report = memory_fault(0);
  report.kind = "HIP error";
  report.call = "hipMemcpy";
  report.call_code = 1;
  report.call_bytes = kBytes + 100;
  report.call_sides = {{"writes", kBuffer, Place{0, 0}}};
  EXPECT_EQ(cause_of(report).substr(0, 65),
            "out of bounds by 100 bytes: hipMemcpy writes 10,100 bytes at 0x7f");
  report.call_bytes = kBytes;
  EXPECT_EQ(cause_of(report).substr(0, 26), "hipMemcpy returned error 1");
  EXPECT_FALSE(report.call_misuses_memory);
  report.allocations[0].freed_ns = 1;
  EXPECT_EQ(cause_of(report).substr(0, 16), "use after free: ");
  report.call = "hipFree";
  report.call_bytes = 0;
  report.call_sides[0].verb = "frees";
  EXPECT_EQ(cause_of(report).substr(0, 43), "double free: hipFree frees 0x7f0000100000, ");
}

// Which may be long after it, so that the program did not end soon after the call itself.
TEST(Cause, SaysThatTheErrorOfACallWasReturnedAgain) {
  FaultReport report = memory_fault(0);
  report.kind = "HIP error";
  report.call = "hipMemcpy";
  report.call_code = 1;
  report.ended = "exit 1";
  find_cause(report);
  EXPECT_EQ(report.evidence, "it is the last call that failed, and the program ended soon after");
  report.call_was_repeated = true;
  find_cause(report);
  EXPECT_EQ(
      report.evidence,
      "it is the last call that failed, a later one returned its error again, and the program "
      "ended soon after");
}

TEST(Cause, SaysWhoseFaultItIsNot) {
  EXPECT_EQ(cause_of(memory_fault(kBuffer, 0x10)),
            "the GPU's memory has an error that it could not correct");
  FaultReport report = memory_fault(kBuffer + 8, 2);
  report.nearest = Place{0, 8};
  EXPECT_NE(cause_of(report).find(", which is read-only"), std::string::npos);
  report = memory_fault(kBuffer + 8);
  report.nearest = Place{0, 8};
  report.gpu = 1;
  EXPECT_NE(cause_of(report).find("which is on GPU 0 without peer access"), std::string::npos);
}

TEST(Text, WritesWhatIsNotKnownAsSuch) {
  FaultReport report = memory_fault(kBuffer + kBytes + 4);
  report.nearest = Place{0, kBytes + 4};
  report.no_waves = "none";
  find_cause(report);
  const std::string text = text_of(report, {});
  EXPECT_NE(text.find("    0  float* x = 0x7f0000100000: 10,000 bytes\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("    1  float* y = 0x0: null\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  4 past the end of 10,000 bytes\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  allocated 4.00 ms before, by hipMalloc\n      make  a.cpp:12\n"),
            std::string::npos)
      << text;
}

TEST(Page, IsAsTheDriverTellsOfTheGpu) {
  EXPECT_EQ(gpu_page_text(0x1, 0), "not mapped for GPU 0");
  EXPECT_EQ(gpu_page_text(0x2, 1), "mapped for GPU 1, read-only");
  EXPECT_EQ(gpu_page_text(0x4, 0), "mapped for GPU 0, not executable");
  EXPECT_EQ(gpu_page_text(0x10, 0), "");  // for broken memory, nothing about the page
}

}  // namespace
}  // namespace sonde::fault
