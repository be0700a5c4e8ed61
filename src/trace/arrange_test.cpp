// The order and the categories of a Trace, and what a window and a rank leave of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "trace/trace_builder_test_support.h"

namespace sonde::trace {
namespace {

std::vector<std::string> ops_of(const Trace& trace) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const Row api = trace.ops.api[i];
    lines.push_back(
        std::to_string(trace.ops.start_ns[i]) + " " + std::to_string(trace.ops.end_ns[i]) + " " +
        trace.names[trace.ops.name[i]] + " " + category_name(trace.ops.category[i]) + " " +
        std::to_string(trace.queues[trace.ops.queue[i]].queue) + " " +
        (api == kNone ? "-" : std::to_string(trace.apis.start_ns[static_cast<size_t>(api)])));
  }
  return lines;
}

TEST(Arrange, IndependentOfTheOrderOfRows) {
  std::mt19937 random(7);
  TraceBuilder rows;
  for (int i = 0; i < 300; ++i) {
    const auto start = static_cast<int64_t>(random() % 100);
    rows.add(TraceBuilder::Api{"cuda_runtime", "hipLaunchKernel", start, start + i,
                               static_cast<int64_t>(random() % 3)},
             TraceBuilder::Op{"linked" + std::to_string(i), start + 7, start + 9});
    rows.add(TraceBuilder::Op{"k" + std::to_string(random() % 4), start + 5,
                              start + 5 + static_cast<int64_t>(random() % 3),
                              static_cast<int32_t>(random() % 2),
                              static_cast<int64_t>(random() % 3)});
  }
  const auto expected = ops_of(rows.build());
  EXPECT_TRUE(std::is_sorted(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
    return std::stoll(a) < std::stoll(b);
  }));
  for (const uint32_t seed : {1u, 2u, 3u}) EXPECT_EQ(ops_of(rows.build(seed)), expected);
}

TEST(Arrange, CategoriesOfOperations) {
  TraceBuilder rows;
  int64_t t = 0;
  const auto category = [&](const std::string& name, const std::string& type) {
    TraceBuilder one;
    one.add(TraceBuilder::Op{name, t, t + 1, 0, 0, type});
    return one.build().ops.category[0];
  };
  EXPECT_EQ(category("gemm", "KernelExecution"), Category::kCompute);
  EXPECT_EQ(category("gemm", "Task"), Category::kCompute);
  EXPECT_EQ(category("", "CopyHostToDevice"), Category::kCopy);
  EXPECT_EQ(category("Memset (Device)", "FillBuffer"), Category::kMemset);
  EXPECT_EQ(category("__amd_rocclr_copyBuffer", "KernelExecution"), Category::kCopy);
  EXPECT_EQ(category("__amd_rocclr_fillBufferAligned", "KernelExecution"), Category::kMemset);
  EXPECT_EQ(category("", "Barrier"), Category::kOther);
}

// Not "ncclKernel" alone, as some tools look for.
TEST(Arrange, straggler_matches_all_comm_kernels) {
  for (const char* name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_Generic", "mscclKernel_Sum_half_Simple(ncclDevComm*)", "rcclKernel",
        "void vllm::cross_device_reduce_1stage<c10::Half, 8>(vllm::RankData*)",
        "mscclpp::allreduce7", "deep_ep::internode::dispatch", "nvshmemi_transfer"}) {
    EXPECT_TRUE(is_communication(name)) << name;
  }
  for (const char* name : {"Cijk_Alik_Bljk_SB", "reduce_kernel", "cross_entropy"}) {
    EXPECT_FALSE(is_communication(name)) << name;
  }
  EXPECT_TRUE(is_xccl("myRCCLthing"));
  EXPECT_FALSE(is_xccl("mscclpp::allreduce7"));
}

// Names as profilers print them.
TEST(Arrange, FusedAndOtherKernelsThatCommunicate) {
  for (
      const char* name :
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<("
       "flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, true>(...)",
       "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<(int)3, half>()",
       "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8, true>(AllReduceParams)",
       "tensorrt_llm::kernels::lamport_style_one_shot_all_reduce_norm_kernel<half>",
       "void tensorrt_llm::kernels::moe_comm::fusedMoeAlltoallKernel<8>(Params)",
       "void sglang::cross_device_reduce_2stage<__nv_bfloat16, 8>(sglang::RankData*)",
       "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8, 1024>()",
       "void aiter::reduce_scatter_cross_device_store<half, 8>(aiter::RankData*)",
       "void quickreduce::allreduce_prototype_twoshot<quickreduce::CodecFP<half, 8>, half>()",
       "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(float*)",
       "void c10d::symmetric_memory::(anonymous namespace)::two_shot_all_reduce_kernel_inplace<4>()",
       "c10d::symmetric_memory::put_signal_kernel(unsigned int**, int)",
       "void deep_ep::internode_ll::combine<true, 4, 7168, 9>(void*)",
       "void deep_ep::intranode::dispatch<8, 768>(int4*)",
       "nvshmemi_quiet_kernel",
       "_ZN4vllm26cross_device_reduce_1stageIfLi8EEEvPNS_8RankDataE",
       "rcclGenericKernel<1, false>",
       "rocshmem_put_wave",
       "%all-reduce-start.3 = f32[1024]{0} all-reduce-start(%add.1)",
       "one_shot_all_reduce_kernel",
       "void (anonymous namespace)::barrier_all_gather<8>()"}) {
    EXPECT_TRUE(is_communication(name)) << name;
  }
  for (const char* name :
       {"void blockAllReduceSoftmax<float>(float*)", "void warp_all_reduce_kernel<4>(float*)",
        "%fusion.2 = f32[1024]{0} fusion(%all-reduce.1, %add.3)",
        "void at::native::elementwise_kernel<128, 4, AllReduceFunctor>(int)",
        "void gather_kernel<int>(int*)", "broadcast_in_dim", "ampere_sgemm_128x64_nn",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>()"}) {
    EXPECT_FALSE(is_communication(name)) << name;
  }
}

TEST(Arrange, RowsOfCommunicationWords) {
  CommunicationWords words;
  EXPECT_EQ(words.add("# comment\n\nanywhere Ring_\n own exchange\nnot selfexchange\n"
                      "somewhere x\nown\nown two words\n"),
            (std::vector<std::string>{"somewhere x", "own", "own two words"}));
  EXPECT_TRUE(words.match("my::ring_::kernel<int>"));
  EXPECT_TRUE(words.match("void Ex_Change<int>(float*)"));
  EXPECT_FALSE(words.match("void kernel<exchange>(float*)"));
  EXPECT_FALSE(words.match("self_exchange"));
}

TEST(Arrange, hip_api_is_not_communication) {
  EXPECT_EQ(kind_of_api("", "hip", "hipLaunchKernel"), ApiKind::kRuntime);
  EXPECT_EQ(kind_of_api("cuda_runtime", "hip", "hipMemcpyAsync"), ApiKind::kRuntime);
  EXPECT_FALSE(is_communication("hipMemcpyAsync"));
  EXPECT_EQ(kind_of_api("", "roctx", "UserMarker"), ApiKind::kMarker);
}

TEST(Arrange, OperatorsOfTorchWithoutCategories) {
  for (const char* name : {"aten::mm", "autograd::engine::evaluate_function: AddmmBackward0",
                           "AddmmBackward0", "MeanBackward1", "TBackward0", "detach", "detach_"}) {
    EXPECT_EQ(kind_of_api("", "", name), ApiKind::kOperator) << name;
  }
  for (const char* name : {"", "0", "Backward0", "AddmmBackward", "backward", "step 0",
                           "my Backward0", "ProfilerStep#1", "Optimizer.step#SGD.step"}) {
    EXPECT_EQ(kind_of_api("", "", name), ApiKind::kOther) << name;
  }
}

TEST(Arrange, WindowClipsOperationsAndKeepsCallsThatLaunchedThem) {
  TraceBuilder rows;
  rows.add(TraceBuilder::Api{"cuda_runtime", "hipLaunchKernel", 0, 10},
           TraceBuilder::Op{"cut", 90, 110}, TraceBuilder::Op{"outside", 20, 30});
  Window window;
  window.select = {100, 200};
  window.extent = window.select;
  Request request = TraceBuilder::everything();
  request.all_apis = true;
  EXPECT_EQ(ops_of(rows.build(0, request, window)),
            (std::vector<std::string>{"100 110 cut compute 0 0"}));
  request.whole = true;
  EXPECT_EQ(ops_of(rows.build(0, request, window)),
            (std::vector<std::string>{"90 110 cut compute 0 0"}));
  request = TraceBuilder::everything();
  EXPECT_EQ(ops_of(rows.build(0, request, window)),
            (std::vector<std::string>{"100 110 cut compute 0 -"}));
}

// Of one rank: its operations, its calls, and what its device says without a rank; of a merged file
// only those of the same range of processes.
TEST(Arrange, ARankHasItsOwnCallsOnly) {
  TraceBuilder rows;
  rows.set_rank(7, 0);
  rows.set_rank(10'000'007, 1);
  for (const int64_t pid : {7, 10'000'007}) {
    rows.add({"cuda_runtime", "cudaLaunchKernel", 0, 10, 1, pid},
             {pid == 7 ? "mine" : "other", 20, 30});
    rows.add({"cuda_sync", "Context Sync", 5, 9, -1, pid - 7});
  }
  Request request = TraceBuilder::everything();
  request.rank = 1;
  const Trace trace = rows.build(0, request);
  ASSERT_EQ(trace.apis.size(), 2u);
  for (const uint32_t thread : trace.apis.thread) {
    EXPECT_GE(trace.processes[static_cast<size_t>(trace.threads[thread].process)].pid, 10'000'000);
  }
  ASSERT_EQ(trace.ops.size(), 1u);
  EXPECT_EQ(trace.names[trace.ops.name[0]], "other");
  EXPECT_EQ(trace.ops.api[0], 0);
}

TEST(Arrange, RanksFollowFromTheLaunchingProcess) {
  TraceBuilder rows;
  rows.add(TraceBuilder::Api{"", "hipLaunchKernel", 0, 1, 1, 10},
           TraceBuilder::Op{"of rank 0", 1, 2, 0});
  rows.add(TraceBuilder::Api{"", "hipLaunchKernel", 0, 1, 1, 20},
           TraceBuilder::Op{"of rank 1", 5, 6, 1});
  rows.set_rank(10, 0);
  rows.set_rank(20, 1);
  rows.add(TraceBuilder::Op{"before the recording", 3, 4, 0});
  rows.add(TraceBuilder::Op{"of nobody", 7, 8, 2});
  const Trace all = rows.build(2);
  EXPECT_EQ(all.rank_of_op(0), 0);
  EXPECT_EQ(all.rank_of_op(1), 0);
  EXPECT_EQ(all.rank_of_op(2), 1);
  EXPECT_EQ(all.rank_of_op(3), std::nullopt);
  Request request = TraceBuilder::everything();
  request.rank = 1;
  EXPECT_EQ(rows.build(2, request).ops.size(), 1u);
}

}  // namespace
}  // namespace sonde::trace
