#include "trace/named_window.h"

#include <gtest/gtest.h>

#include "trace/trace_builder_test_support.h"

namespace sonde::trace {
namespace {

using ApiRow = TraceBuilder::Api;
using OpRow = TraceBuilder::Op;

// The window that `text` names in these rows, "start..end", or the error.
std::string found(const std::string& text, const TraceBuilder& rows) {
  const auto named = NamedWindow::parse(text);
  if (!named.ok()) return named.error().to_line();
  const auto window = named->find(rows.build(1, completed(named->request())));
  if (!window.ok()) return window.error().to_line();
  return std::to_string(window->start_ns) + ".." + std::to_string(window->end_ns);
}

TraceBuilder marked() {
  TraceBuilder rows;
  rows.add(ApiRow{"user_annotation", "load", 0, 90});
  for (int step = 5; step < 9; ++step) {
    rows.add(ApiRow{"user_annotation", "ProfilerStep#" + std::to_string(step), step * 100,
                    step * 100 + 80});
  }
  rows.add(ApiRow{"cuda_runtime", "load", 2000, 2001});  // a call is not a marker
  rows.add(OpRow{"gemm_a", 510, 520});
  rows.add(OpRow{"gemm_b", 610, 690});
  rows.add(OpRow{"gemm_c", 700, 701, 0, 0, "CopyHostToDevice"});
  rows.add(OpRow{"add", 800, 860});
  return rows;
}

TEST(NamedWindow, MarkersKernelsAndSteps) {
  const TraceBuilder rows = marked();
  EXPECT_EQ(found("marker:load", rows), "0..90");
  EXPECT_EQ(found("marker:Step#[67]$", rows), "600..780");
  EXPECT_EQ(found("kernel:^gemm", rows), "510..690");
  EXPECT_EQ(found("kernel:add", rows), "800..860");
  EXPECT_EQ(found("step:6", rows), "600..680");
  EXPECT_EQ(found("step:6..8", rows), "600..880");
  EXPECT_EQ(found("step:0..99", rows), "500..880");
}

TEST(NamedWindow, OneOfSeveralRanges) {
  TraceBuilder rows = marked();
  for (int64_t i = 0; i < 3; ++i) {
    rows.add(ApiRow{"user_annotation", "## backward ##", 5000 + i * 100, 5080 + i * 100, 1 + i});
  }
  EXPECT_EQ(found("marker:backward", rows), "5000..5280");
  EXPECT_EQ(found("marker:backward#1", rows), "5000..5080");
  EXPECT_EQ(found("marker:^## back.*##3", rows), "5200..5280");
  EXPECT_NE(found("marker:backward#4", rows).find("there are 3 without"), std::string::npos);
  EXPECT_EQ(found("marker:ProfilerStep#6", rows), "600..680");  // the name itself
  EXPECT_NE(found("marker:ProfilerStep#1", rows).find("nothing in"), std::string::npos);
}

// What a step launched runs in it or after it.
TEST(NamedWindow, WhatAStepLaunched) {
  TraceBuilder rows;
  for (int64_t step = 0; step < 3; ++step) {
    const int64_t at = step * 100;
    rows.add(ApiRow{"user_annotation", "ProfilerStep#" + std::to_string(step), at, at + 80});
    for (int64_t i = 0; i < 2; ++i) {
      rows.add(ApiRow{"cuda_runtime", "cudaLaunchKernel", at + i, at + i + 5},
               OpRow{"k", 1000 + step * 500 + i * 20, 1010 + step * 500 + i * 20});
    }
  }
  rows.add(OpRow{"unknown", 1100, 1200});
  EXPECT_EQ(found("step:1", rows), "100..180");
  EXPECT_EQ(found("launched:1", rows), "1500..1530");
  EXPECT_EQ(found("launched:0..1", rows), "1000..1530");
  EXPECT_NE(found("launched:3", rows).find("there are steps 0 to 2"), std::string::npos);
}

// Several ranks: from the first that begins the step to the last that ends it.
TEST(NamedWindow, AStepOfSeveralProcesses) {
  TraceBuilder rows;
  for (const int64_t pid : {1, 2}) {
    rows.add(ApiRow{"user_annotation", "ProfilerStep#1", 100 * pid, 150 * pid, 1, pid});
    rows.add(ApiRow{"user_annotation", "ProfilerStep#2", 400 * pid, 450 * pid, 1, pid});
  }
  EXPECT_EQ(found("step:1", rows), "100..300");
}

TEST(NamedWindow, StepsWithoutNumbersAreCounted) {
  TraceBuilder rows;
  for (int64_t i = 0; i < 4; ++i) {
    rows.add(ApiRow{"user_annotation", "execute_model", i * 100, i * 100 + 50});
  }
  EXPECT_EQ(found("step:1", rows), "0..50");
  EXPECT_EQ(found("step:3..4", rows), "200..350");
}

TEST(NamedWindow, WhatIsNotThereIsSaid) {
  const TraceBuilder rows = marked();
  EXPECT_EQ(
      found("step:9", rows),
      "--window: nothing in the trace matches 'step:9' (there are steps 5 to 8, by markers that "
      "match '^ProfilerStep#[0-9]+$')");
  EXPECT_NE(found("marker:nothing", rows).find("nothing in the trace"), std::string::npos);
  EXPECT_NE(found("kernel:gemm_c", rows).find("sonde ktop"), std::string::npos);  // a copy
  EXPECT_NE(found("step:1", TraceBuilder()).find("there are no steps"), std::string::npos);
  for (const char* text : {"", "marker", "marker:", "stream:1", "step:", "step:x", "step:3..",
                           "step:3..2", "step:-1", "step:1..2..3", "kernel:("}) {
    EXPECT_FALSE(NamedWindow::parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sonde::trace
