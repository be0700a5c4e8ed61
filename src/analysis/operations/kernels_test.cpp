// What `sonde kernels --by` groups by, one test for all groupings.
#include "analysis/analysis_test_support.h"
#include "analysis/operations/op_groups.h"

namespace sonde::analysis {
namespace {

// Two GPUs and ranks, a module with an operator in it, a marker, communication.
trace::TraceBuilder job() {
  trace::TraceBuilder rows;
  rows.set_rank(1, 0);
  rows.set_rank(2, 1);
  rows.add(ApiRow{"user_annotation", "forward", 0, 200, 1, 1});
  rows.add(ApiRow{"python_function", "nn.Module: Linear_0", 5, 90, 1, 1});
  rows.add(ApiRow{"cpu_op", "aten::mm", 10, 50, 1, 1});
  OpRow wide{"void gemm<float>()", 1000, 1100, 0, 3};
  wide.grid = {64, 2, 1};
  wide.group = {256, 1, 1};
  OpRow narrow{"void gemm<half>()", 1200, 1230, 0, 3};
  narrow.grid = {8, 1, 1};
  narrow.group = {64, 1, 1};
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 20, 25, 1, 1}, wide);
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 100, 105, 1, 1}, narrow);
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 20, 25, 2, 2},
           OpRow{"ncclDevKernel_AllReduce", 1000, 1007, 1, 5});
  rows.add(OpRow{"lost", 2000, 2001, 1, 6});
  return rows;
}

Lines groups(const char* by, std::vector<std::string> keys) {
  keys.insert(keys.end(), {"calls", "total_ns"});
  return lines_of(ask("kernels", job(), {{"by", by}}), "kernels", keys);
}

TEST(Kernels, EveryGrouping) {
  EXPECT_EQ(groups("name", {"name"}), (Lines{"void gemm<float>()|1|100", "void gemm<half>()|1|30",
                                             "ncclDevKernel_AllReduce|1|7", "lost|1|1"}));
  EXPECT_EQ(groups("base", {"name"}),
            (Lines{"gemm|2|130", "ncclDevKernel_AllReduce|1|7", "lost|1|1"}));
  EXPECT_EQ(groups("category", {"category"}), (Lines{"compute|3|131", "communication|1|7"}));
  EXPECT_EQ(groups("stream", {"gpu_id", "queue_id"}), (Lines{"0|3|2|130", "1|5|1|7", "1|6|1|1"}));
  EXPECT_EQ(groups("gpu", {"gpu_id"}), (Lines{"0|2|130", "1|2|8"}));
  // What no call is known of belongs to the only process that uses its GPU.
  EXPECT_EQ(groups("rank", {"rank"}), (Lines{"0|2|130", "1|2|8"}));
  EXPECT_EQ(groups("operator", {"operator"}),
            (Lines{"aten::mm|1|100", "forward|1|30", "hipLaunchKernel|1|7", "(unattributed)|1|1"}));
  EXPECT_EQ(groups("module", {"module"}), (Lines{"nn.Module: Linear_0|1|100", "(no module)|3|38"}));
  EXPECT_EQ(groups("marker", {"marker"}), (Lines{"forward|2|130", "(no marker)|2|8"}));
  EXPECT_EQ(groups("grid", {"name", "grid", "group"}),
            (Lines{"void gemm<float>()|64x2x1|256x1x1|1|100", "void gemm<half>()|8x1x1|64x1x1|1|30",
                   "ncclDevKernel_AllReduce|-|-|1|7", "lost|-|-|1|1"}));
}

// What kernels of copies are grouped by: kind, call, class of size, memory on both sides.
TEST(Kernels, GroupingsOfCopies) {
  trace::TraceBuilder rows = job();
  const OpRow small{"Memcpy HtoD (Pageable -> Device)", 3000, 3010, 0, 3, "CopyHostToDevice", 1023};
  OpRow large = small;
  large.name = "Memcpy HtoD (Pinned -> Device)";
  large.end_ns = 3200;
  large.bytes = 1 << 20;
  rows.add(ApiRow{"cuda_runtime", "hipMemcpyAsync", 300, 310, 1, 1}, small, large);
  rows.add(OpRow{"", 4000, 4002, 0, 3, "FillBuffer"});
  const auto all = [&](const char* by, std::vector<std::string> keys) {
    keys.insert(keys.end(), {"calls", "total_ns"});
    const auto report = ask("kernels", rows, {{"by", by}, {"of", "all"}});
    return lines_of(report, "kernels", keys);
  };
  EXPECT_EQ(all("type", {"type"}),
            (Lines{"CopyHostToDevice|2|210", "KernelExecution|4|138", "FillBuffer|1|2"}));
  EXPECT_EQ(all("call", {"call"}),
            (Lines{"hipMemcpyAsync|2|210", "hipLaunchKernel|3|137", "(no call)|2|3"}));
  EXPECT_EQ(all("size", {"from_bytes", "below_bytes"}),
            (Lines{"1048576|4194304|1|200", "-|-|5|140", "0|1024|1|10"}));
  EXPECT_EQ(all("memory", {"memory"}),
            (Lines{"Pinned -> Device|1|200", "-|5|140", "Pageable -> Device|1|10"}));
}

}  // namespace
}  // namespace sonde::analysis
