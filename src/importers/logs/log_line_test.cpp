#include "importers/logs/log_line.h"

#include <gtest/gtest.h>

#include "importers/input/decimal.h"

namespace sonde::importers {
namespace {

TEST(LogLine, OfRocm5) {
  const auto line = parse_log_line(
      ":3:hip_memory.cpp           :493 : 3063612191 us: 30799: [tid:0x7f7e2e1aa880] "
      "\x1b[32mhipMalloc ( 0x7ffec9e09da8, 4194304 )\x1b[0m");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->level, 3);
  EXPECT_EQ(line->file, "hip_memory.cpp");
  EXPECT_EQ(line->time_us, 3063612191);
  EXPECT_EQ(line->pid, 30799);
  EXPECT_EQ(line->tid, 0x7f7e2e1aa880);
  EXPECT_EQ(line->message, "hipMalloc ( 0x7ffec9e09da8, 4194304 )");
}

TEST(LogLine, OfRocm6WithAndWithoutThread) {
  auto line = parse_log_line(
      ":4:command.cpp              :349 : 0123456789 us: [pid:712   tid: 0x  2c8] command is "
      "enqueued: 0x1");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->time_us, 123456789);
  EXPECT_EQ(line->pid, 712);
  EXPECT_EQ(line->tid, 0x2c8);
  EXPECT_EQ(line->message, "command is enqueued: 0x1");
  line =
      parse_log_line(":3:rocdevice.cpp            :468 : 0123456789 us:  Initializing HSA stack.");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->pid, 0);
  EXPECT_EQ(line->message, "Initializing HSA stack.");
}

TEST(LogLine, WithoutLocation) {
  const auto line =
      parse_log_line(":3:                         :0   : 3063612191 us: 30799: [tid:0x7f] x");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->file, "");
  EXPECT_EQ(line->message, "x");
}

TEST(LogLine, RefusesEverythingElse) {
  for (const char* text : {"", ":", ":3", ":3:", ":3:a", ":3:a:b", ":3:a:1: us:", ":3:a:1: 5 ms:",
                           "END OK", ":3:a.cpp :1 : 99999999999999999999 us: 1: [tid:0x1] x",
                           ":3:a.cpp :1 : 5 us: 1: [tid:0x", ":3:a.cpp :1 : 5 us: 1: [tid:zz] x"}) {
    EXPECT_FALSE(parse_log_line(text)) << text;
  }
}

TEST(LogLine, CallsAndReturns) {
  const auto call =
      parse_call("hipLaunchKernel ( 0x1, {4096,1,1}, {256,1,1}, 0x2, 0, stream:0x3 )");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->name, "hipLaunchKernel");
  EXPECT_EQ(call->arguments, "0x1, {4096,1,1}, {256,1,1}, 0x2, 0, stream:0x3");
  EXPECT_FALSE(parse_call("Dispatch Header = 0xb02 (type=2)"));
  auto returned = parse_return("hipMalloc: Returned hipSuccess : 0x7f6d14000000: duration: 150 us");
  ASSERT_TRUE(returned);
  EXPECT_EQ(returned->code, "hipSuccess");
  EXPECT_EQ(returned->value, "0x7f6d14000000");
  EXPECT_EQ(returned->duration_us, 150);
  returned = parse_return("hipMemcpy: Returned hipErrorInvalidValue : : duration: 264578 us");
  ASSERT_TRUE(returned);
  EXPECT_EQ(returned->code, "hipErrorInvalidValue");
  EXPECT_EQ(returned->value, "");
  EXPECT_EQ(returned->duration_us, 264578);
}

TEST(LogLine, Values) {
  const std::string_view text = "HWq=0x7f, grid=[1048576, 2, 3], lds=12, end=x)";
  int64_t axes[3];
  EXPECT_TRUE(parse_axes(text, "grid=", axes));
  EXPECT_EQ(axes[2], 3);
  EXPECT_FALSE(parse_axes(text, "lds=", axes));
  EXPECT_EQ(parse_number(value_after(text, "HWq=")), 0x7f);
  EXPECT_EQ(parse_number(value_after(text, "lds=")), 12);
  EXPECT_EQ(parse_number(value_after(text, "end=")), std::nullopt);
  EXPECT_EQ(value_after(text, "nothing="), "");
}

}  // namespace
}  // namespace sonde::importers
