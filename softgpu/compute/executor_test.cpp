// The executor with hand-written kernels. tests/kernels has kernels from the compiler.
#include "compute/executor.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "compute/fault.h"
#include "compute/kernel_abi.h"

namespace softgpu {
namespace {

struct Arguments {
  uint32_t* out;
  uint64_t number;
};
const Arguments& arguments_of(const SoftgpuGroup* group) {
  return *static_cast<const Arguments*>(group->kernarg);
}

void count_groups(SoftgpuGroup* group) {
  uint32_t items = group->size[0] * group->size[1] * group->size[2];
  std::atomic_ref(arguments_of(group).out[group->id[0]]).fetch_add(items);
}
void touch(SoftgpuGroup* group) {
  if (group->id[0] == 3) *reinterpret_cast<volatile int*>(arguments_of(group).number) = 1;
}
void trap(SoftgpuGroup*) { __builtin_trap(); }

// Each item writes its number to LDS, and reads that of the opposite item.
void turn_round(SoftgpuItem* item) {
  SoftgpuGroup* group = item->group;
  auto* slots = reinterpret_cast<uint32_t*>(group->lds + group->static_bytes);
  uint32_t at = item->id[0];
  slots[at] = at;
  group->api->barrier(item);
  arguments_of(group).out[group->id[0] * group->size[0] + at] = slots[group->size[0] - 1 - at];
}

// Odd lanes meet alone first, then all; lane 5 exits in between.
void meet_twice(SoftgpuItem* item) {
  uint32_t* out = arguments_of(item->group).out + item->id[0] * 2;
  const SoftgpuApi* api = item->group->api;
  if (item->lane % 2) {
    const SoftgpuMeeting* meeting = api->meet(item, 1, item->id[0], 0);
    out[0] = static_cast<uint32_t>(__builtin_popcountll(meeting->active));
    if (item->lane == 5) return;
  }
  const SoftgpuMeeting* meeting = api->meet(item, 2, item->lane >= 32, 0);
  out[1] = static_cast<uint32_t>(__builtin_popcountll(meeting->active)) * 100 +
           static_cast<uint32_t>(__builtin_popcountll(meeting->ones));
}

// Recurses deeper than any stack.
int overflow(int depth) {
  volatile char frame[8192];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}
void overflow(SoftgpuItem* item) {
  arguments_of(item->group).out[0] = static_cast<uint32_t>(overflow(1));
}

// The last wave's item sets the flag that the first one's waits for.
void spin(SoftgpuItem* item) {
  auto* flag = reinterpret_cast<volatile uint32_t*>(arguments_of(item->group).out);
  if (item->id[0] == 255) *flag = 1;
  while (!*flag) item->group->api->yield(item);
}

// A group waits until another one runs, which requires another thread.
void wait_for_another(SoftgpuGroup* group) {
  const std::atomic_ref<uint32_t> running(arguments_of(group).out[0]);
  running.fetch_add(1);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (running.load() < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  if (running.load() < 2) std::atomic_ref(arguments_of(group).out[1]).fetch_add(1);
}

// Enough for the lazy binding of libgcc functions that these kernels call.
constexpr uint32_t kStack = 32 * 1024;
const SoftgpuKernel kKernels[] = {
    {"count_groups", count_groups, nullptr, 0, 16, 0, 64},
    {"wait_for_another", wait_for_another, nullptr, 0, 16, 0, 64},
    {"touch", touch, nullptr, 0, 16, 0, 64},
    {"trap", trap, nullptr, 0, 16, 0, 64},
    {"turn_round", nullptr, turn_round, 20, 16, kStack, 64},
    {"meet_twice", nullptr, meet_twice, 0, 16, kStack, 64},
    {"overflow", nullptr, [](SoftgpuItem* item) { overflow(item); }, 0, 16, 0, 64},
    {"spin", nullptr, spin, 0, 16, kStack, 64},
};

class ExecutorTest : public testing::Test {
 protected:
  void SetUp() override { softgpu_register_module(&module_); }
  void TearDown() override { softgpu_unregister_module(&module_); }

  Outcome run(const char* kernel, uint32_t items, uint32_t group, uint64_t number = 0) {
    Arguments arguments{out_.data(), number};
    Dispatch dispatch;
    dispatch.grid[0] = items;
    dispatch.group[0] = group;
    dispatch.dynamic_group_bytes = group * 4;
    dispatch.kernarg = &arguments;
    return executor_.run(kernel, dispatch);
  }

  std::vector<uint32_t> out_ = std::vector<uint32_t>(4096);
  Executor executor_{3};
  SoftgpuModule module_{SOFTGPU_ABI, std::size(kKernels), kKernels, 0, 0, nullptr, nullptr};
};

TEST_F(ExecutorTest, KnowsWhatIsRegistered) {
  EXPECT_TRUE(executor_.knows("count_groups"));
  EXPECT_FALSE(executor_.knows("count"));
  EXPECT_EQ(run("nothing", 1, 1).kind, Outcome::kNoCode);
  softgpu_unregister_module(&module_);
  EXPECT_FALSE(executor_.knows("count_groups"));
}

TEST_F(ExecutorTest, RefusesAModuleOfAnotherVersion) {
  SoftgpuModule other = module_;
  softgpu_unregister_module(&module_);
  other.abi = SOFTGPU_ABI + 1;
  testing::internal::CaptureStderr();
  softgpu_register_module(&other);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("build it again"), std::string::npos);
  EXPECT_FALSE(executor_.knows("count_groups"));
}

TEST_F(ExecutorTest, RunsEachGroupOnceAndTheLastOneInPart) {
  EXPECT_EQ(run("count_groups", 1000, 64).kind, Outcome::kDone);
  for (uint32_t i = 0; i < 15; i++) EXPECT_EQ(out_[i], 64u);
  EXPECT_EQ(out_[15], 40u);
  EXPECT_EQ(out_[16], 0u);
}

TEST_F(ExecutorTest, RunsFromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([this] {
      for (int i = 0; i < 200; i++) run("count_groups", 20 * 64, 64);
    });
  for (std::thread& thread : threads) thread.join();
  for (uint32_t i = 0; i < 20; i++) EXPECT_EQ(out_[i], 4 * 200 * 64u);
}

TEST_F(ExecutorTest, GroupsOfADispatchRunOnSeveralThreads) {
  EXPECT_EQ(run("wait_for_another", 64 * 64, 64).kind, Outcome::kDone);
  EXPECT_EQ(out_[0], 64u);
  EXPECT_EQ(out_[1], 0u);  // groups that waited in vain
}

TEST_F(ExecutorTest, ItemsWaitAtABarrier) {
  EXPECT_EQ(run("turn_round", 7 * 100, 100).kind, Outcome::kDone);
  for (uint32_t i = 0; i < 700; i++) ASSERT_EQ(out_[i], 99 - i % 100) << i;
}

TEST_F(ExecutorTest, LanesMeetInProgramOrderWithoutThoseThatEnded) {
  EXPECT_EQ(run("meet_twice", 100, 100).kind, Outcome::kDone);  // waves of 64 and 36
  for (uint32_t i = 0; i < 100; i++) {
    uint32_t lanes = i < 64 ? 64 : 36;
    uint32_t upper = i < 64 ? 32 : 4;
    EXPECT_EQ(out_[i * 2], i % 2 ? lanes / 2 : 0) << i;
    EXPECT_EQ(out_[i * 2 + 1], i % 64 == 5 ? 0 : (lanes - 1) * 100 + upper) << i;
  }
}

TEST_F(ExecutorTest, ItemsThatSpinLetOthersRun) {
  EXPECT_EQ(run("spin", 256, 256).kind, Outcome::kDone);
}

TEST_F(ExecutorTest, AFaultIsAnOutcomeAndTheNextKernelRuns) {
  for (int i = 0; i < 3; i++) {
    Outcome outcome = run("touch", 64 * 100, 64, 0x12345000);
    EXPECT_EQ(outcome.kind, Outcome::kMemoryFault);
    EXPECT_EQ(outcome.address, 0x12345000u);
  }
  EXPECT_EQ(run("trap", 64, 64).kind, Outcome::kTrap);
  EXPECT_EQ(run("overflow", 128, 128).kind, Outcome::kMemoryFault);
  EXPECT_EQ(run("turn_round", 100, 100).kind, Outcome::kDone);
  EXPECT_EQ(out_[0], 99u);
}

sigjmp_buf after_fault;
void own_handler(int) { siglongjmp(after_fault, 1); }

TEST_F(ExecutorTest, TheProgramsOwnHandlerStillGetsItsFaults) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = own_handler;
  sigaction(SIGSEGV, &action, &before);
  EXPECT_EQ(run("touch", 64 * 4, 64, 0x54321000).kind, Outcome::kMemoryFault);
  int handled = 0;
  if (sigsetjmp(after_fault, 1))
    handled = 1;
  else
    *reinterpret_cast<volatile int*>(0x1000) = 1;
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(run("touch", 64 * 4, 64, 0x54321000).kind, Outcome::kMemoryFault);
  sigaction(SIGSEGV, &before, nullptr);
}

TEST_F(ExecutorTest, WhatTheProgramSetsMeanwhileIsForItsOwnFaults) {
  struct sigaction ours {};
  EXPECT_FALSE(keep_action(SIGUSR1, nullptr, &ours));
  EXPECT_EQ(run("count_groups", 64, 64).kind, Outcome::kDone);
  struct sigaction none {};
  EXPECT_TRUE(keep_action(SIGSEGV, &none, nullptr));
  ours.sa_handler = own_handler;
  EXPECT_TRUE(keep_action(SIGSEGV, &ours, &none));
  EXPECT_EQ(none.sa_handler, SIG_DFL);
  EXPECT_TRUE(keep_action(SIGSEGV, &none, &ours));
  EXPECT_EQ(ours.sa_handler, own_handler);
  struct sigaction now {};
  sigaction(SIGSEGV, nullptr, &now);  // the kernel's
  EXPECT_NE(now.sa_flags & SA_SIGINFO, 0);
}

// Sets the program's action while the handlers are ours, and faults.
void set_for_own_faults(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ASSERT_TRUE(keep_action(SIGSEGV, &action, nullptr));
}
void fault() { *reinterpret_cast<volatile int*>(0x1000) = 1; }

TEST_F(ExecutorTest, HandlersOfTheProgramMayBeLeftByAJump) {
  run("count_groups", 64, 64);
  set_for_own_faults(own_handler, 0);
  volatile int left = 0;
  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(after_fault, 1) != 0) {
      left = left + 1;
    } else {
      fault();
    }
  }
  EXPECT_EQ(left, 3);
  set_for_own_faults(SIG_DFL, 0);
}

TEST_F(ExecutorTest, AHandlerOfTheProgramThatIsToRunOnceDoes) {
  EXPECT_EXIT(
      {
        run("count_groups", 64, 64);
        set_for_own_faults([](int) { (void)!write(2, "once", 4); }, SA_RESETHAND);
        fault();
      },
      testing::KilledBySignal(SIGSEGV), "^once$");
}

TEST_F(ExecutorTest, AFaultInAHandlerOfTheProgramEndsIt) {
  EXPECT_EXIT(
      {
        run("count_groups", 64, 64);
        set_for_own_faults(
            [](int) {
              (void)!write(2, "once", 4);
              fault();
            },
            0);
        fault();
      },
      testing::KilledBySignal(SIGSEGV), "^once$");
}

// One that shares its parent's memory would change what the parent has set.
TEST_F(ExecutorTest, AChildsActionsAreTheKernels) {
  run("count_groups", 64, 64);
  set_for_own_faults(own_handler, 0);
  const pid_t child = fork();
  if (child == 0) {
    const struct sigaction none {};
    const bool kept = keep_action(SIGSEGV, &none, nullptr);
    struct sigaction now {};
    sigaction(SIGSEGV, nullptr, &now);
    show_own_action(SIGSEGV, now);
    _exit(!kept && now.sa_handler == own_handler ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  set_for_own_faults(SIG_DFL, 0);
}

TEST_F(ExecutorTest, WithoutAHandlerAFaultOfTheProgramEndsIt) {
  EXPECT_EXIT(
      {
        run("count_groups", 64, 64);
        *reinterpret_cast<volatile int*>(0x1000) = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace softgpu
