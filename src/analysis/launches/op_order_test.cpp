#include "analysis/launches/op_order.h"

#include "analysis/analysis_test_support.h"

namespace sonde::analysis {
namespace {

// The streams of one thread's launches, as order_of_ops() tells them.
std::vector<Stream> streams_of(std::initializer_list<int64_t> handles,
                               const std::string& by = "hipLaunchKernel") {
  trace::TraceBuilder rows;
  int64_t time_ns = 0;
  for (const int64_t handle : handles) {
    ApiRow row{"", by, time_ns, time_ns + 5, 1, 1, "hip"};
    row.stream = handle;
    rows.add(row, OpRow{"k", time_ns + 10, time_ns + 20, 0, 1});
    time_ns += 100;
  }
  const trace::Trace trace = rows.build(0, find_analysis("critical-path")->needs({}));
  return order_of_ops(trace).streams;
}

TEST(OpOrder, SpecialHandlesAreTheNullStreamAndTheThreadsOwn) {
  const auto streams = streams_of({0, 0x7f0012340000, 1, 2});
  ASSERT_EQ(streams.size(), 3u);  // 1 is the null stream by another name
  EXPECT_EQ(streams[0].handle, 0);
  EXPECT_TRUE(streams[0].joins_null);
  EXPECT_EQ(streams[1].handle, 0x7f0012340000);
  EXPECT_LT(streams[2].handle, 0);
}

TEST(OpOrder, SomeVariantsOfCallsMeanTheThreadsOwnByNoStream) {
  for (const char* by : {"hipLaunchKernel_spt", "cudaLaunchKernel_ptsz", "cudaMemcpyAsync_ptds"}) {
    const auto streams = streams_of({0, 0x7f0012340000, 1, 2}, by);
    ASSERT_EQ(streams.size(), 3u) << by;
    EXPECT_LT(streams[0].handle, 0);
    EXPECT_TRUE(streams[0].joins_null);
    EXPECT_EQ(streams[2].handle, 0);
  }
}

TEST(OpOrder, FilesThatCountTheirStreamsHaveNoSpecialOnes) {
  for (const auto& handles : {std::initializer_list<int64_t>{1, 2}, {1, 3}, {2, 17, 1}}) {
    const auto streams = streams_of(handles);
    ASSERT_EQ(streams.size(), handles.size());
    for (size_t i = 0; i < streams.size(); ++i) {
      EXPECT_EQ(streams[i].handle, handles.begin()[i]);
      EXPECT_FALSE(streams[i].joins_null);
    }
  }
}

}  // namespace
}  // namespace sonde::analysis
