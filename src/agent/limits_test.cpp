// The limits of the agent's tables, and of what the system grants it.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "agent/agent_test_support.h"
#include "agent/definitions.h"
#include "agent/sandbox.h"

namespace sonde {
namespace {

TEST_F(Agent, DeepNestingIsCountedAndStaysBalanced) {
  const uint64_t before = drops(wire::DropSource::kRange, wire::DropReason::kTooDeep);
  for (int i = 0; i < 400; ++i) agent_->range_push(0, 0, "deep");
  for (int i = 399; i >= 0; --i) EXPECT_EQ(agent_->range_pop(0), i);
  EXPECT_EQ(agent_->range_pop(0), -1);
  EXPECT_EQ(read_own().ranges.at("deep"), static_cast<int>(wire::kMaxOpenRanges));
  EXPECT_EQ(drops(wire::DropSource::kRange, wire::DropReason::kTooDeep) - before,
            400 - wire::kMaxOpenRanges);
}

TEST_F(Agent, ARangeTooDeepEndsInItsOwnDomain) {
  const uint32_t other = agent_->intern("domain beside the deep one", 26);
  agent_->range_push(other, 0, "beside the deep ones");
  for (int i = 0; i < 300; ++i) agent_->range_push(0, 0, "deep beside");
  EXPECT_EQ(agent_->range_pop(other), 0);
  EXPECT_EQ(agent_->range_pop(other), -1);
  // There is room now, but a range that was dropped is still open
  agent_->range_push(0, 0, "deeper still");
  EXPECT_EQ(agent_->range_pop(0), 300);
  for (int i = 299; i >= 0; --i) EXPECT_EQ(agent_->range_pop(0), i);
  EXPECT_EQ(agent_->range_pop(0), -1);
  const Seen seen = read_own();
  EXPECT_EQ(seen.ranges.count("deeper still"), 0u);
  EXPECT_EQ(seen.ranges.at("beside the deep ones"), 1);
  EXPECT_EQ(seen.ranges.at("deep beside"), static_cast<int>(wire::kMaxOpenRanges) - 1);
}

TEST_F(Agent, RangesThatAreNeverEndedLoseNoCalls) {
  const uint32_t function = agent_->define_function("hip", "launch", "hipLaunchKernel", "");
  std::thread([&] {
    for (int i = 0; i < 300; ++i) agent_->range_push(0, 0, "forgotten");
    for (int i = 0; i < 1000; ++i) {
      const sonde_call call = agent_->call_begin(function, 2);
      agent_->call_end(&call, 0, nullptr, 0);
    }
  }).join();
  const auto calls = read_own().calls;
  EXPECT_EQ(std::count_if(calls.begin(), calls.end(),
                          [&](const SeenCall& call) { return call.function == function; }),
            1000);
  EXPECT_EQ(drops(wire::DropSource::kCall, wire::DropReason::kTooDeep), 0u);
}

TEST_F(Agent, CallsTooDeepAreCounted) {
  const uint32_t function = agent_->define_function("test", "", "recursive", "");
  std::vector<sonde_call> open;
  for (int i = 0; i < 250; ++i) open.push_back(agent_->call_begin(function, 0));
  const Seen during = read_own();
  EXPECT_EQ(std::count(during.open_calls.begin(), during.open_calls.end(), function),
            static_cast<int>(wire::kMaxOpenCalls));
  for (; !open.empty(); open.pop_back()) agent_->call_end(&open.back(), 0, nullptr, 0);
  const auto calls = read_own().calls;
  EXPECT_EQ(std::count_if(calls.begin(), calls.end(),
                          [&](const SeenCall& call) { return call.function == function; }),
            static_cast<int>(wire::kMaxOpenCalls));
  EXPECT_EQ(drops(wire::DropSource::kCall, wire::DropReason::kTooDeep), 250 - wire::kMaxOpenCalls);
}

constexpr int kTexts = 60'000;  // the table grows
constexpr int kInterning = 4;

std::string kernel_text(int i) {
  return "kernel with some template arguments " + std::to_string(i);
}

// Threads define texts of their own and look up those of the others, while the table grows. Returns
// how many ids were 0 or differed.
int intern_many(const struct sonde_agent* agent) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < kInterning; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < kTexts; i += kInterning) {
        const std::string own = kernel_text(i), other = kernel_text(i / 2);
        const uint32_t id = agent->intern(own.data(), own.size());
        const uint32_t first = agent->intern(other.data(), other.size());
        if (id == 0) ++wrong;
        if (first == 0) ++wrong;
        const uint32_t second = first != 0 ? agent->intern(other.data(), other.size()) : 0;
        if (second != first) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return wrong;
}

// A lock holder that is preempted by other programs, or that forks a large process, keeps the lock
// this long.
TEST_F(Agent, ADefinitionWaitsForOneThatTakesLong) {
  std::atomic<bool> is_held{false};
  std::thread holder([&] {
    ASSERT_TRUE(agent::lock_definitions());
    is_held = true;
    usleep(400'000);
    agent::unlock_definitions();
  });
  while (!is_held) usleep(100);
  const std::string text = "defined while another thread takes long";
  EXPECT_NE(agent_->intern(text.data(), text.size()), 0u);
  holder.join();
}

// In a child process: otherwise every later child of this one would define all of it again.
TEST_F(Agent, AsManyTextsAreInternedAsThereAre) {
  const auto lost = [] {
    uint64_t sum = 0;
    for (uint32_t reason = 0; reason < wire::kDropReasons; ++reason) {
      sum += drops(wire::DropSource::kDefinition, static_cast<wire::DropReason>(reason));
    }
    return sum;
  };
  const uint64_t before = lost();
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int wrong = intern_many(agent_);
    _exit(write(pipe[1], &wrong, sizeof wrong) == sizeof wrong ? 0 : 1);
  }
  int wrong = -1;
  ASSERT_EQ(read(pipe[0], &wrong, sizeof wrong), static_cast<ssize_t>(sizeof wrong));
  EXPECT_EQ(exit_of(child), 0);
  close(pipe[0]);
  close(pipe[1]);
  // On a busy machine a thread may be preempted for so long that the others give up.
  EXPECT_EQ(static_cast<uint64_t>(wrong), lost() - before);
  std::map<std::string, int> times;
  for (const auto& [id, text] : read_process(child).strings) ++times[text];
  int missing = 0, twice = 0;
  for (int i = 0; i < kTexts; ++i) {
    const int count = times[kernel_text(i)];
    missing += count == 0 ? 1 : 0;
    twice += count > 1 ? 1 : 0;
  }
  EXPECT_LE(missing, wrong);  // the number of another text was given for one that is missing
  EXPECT_EQ(twice, 0);
}

TEST_F(Agent, AThreadsLastNameIsRecorded) {
  uint32_t tid = 0, named = 0;
  std::thread([&] {
    tid = static_cast<uint32_t>(gettid());
    agent_->mark(0, 0, "first");
    pthread_setname_np(pthread_self(), "renamed");
  }).join();
  std::thread([&] {
    named = static_cast<uint32_t>(gettid());
    agent_->name_thread(0, "by the program");
    pthread_setname_np(pthread_self(), "by the system");
  }).join();
  const Seen seen = read_own();
  EXPECT_EQ(seen.threads.at(tid).back(), (std::pair<int, std::string>{wire::kRenamed, "renamed"}));
  ASSERT_GE(seen.threads.at(named).size(), 2u);
  const auto& names = seen.threads.at(named);
  EXPECT_EQ(names[names.size() - 2].first, wire::kNamedByProgram);
  EXPECT_EQ(names.back().first, wire::kRenamed);  // a renamed thread's name has a lower precedence
}

TEST_F(Agent, WhatTheSystemRefusesIsCountedByItsName) {
  const auto lost_in_a_thread = [&] {
    std::thread([&] {
      std::thread([&] {  // the first one takes a parked ring that has a chunk
        for (int i = 0; i < 10; ++i) agent_->mark(0, 0, "lost");
      })
          .join();
    }).join();
  };
  // All parked rings are in use, so the next thread needs a file.
  std::vector<std::thread> holders;
  std::atomic<bool> stop = false;
  std::atomic<int> ready = 0;
  for (int i = 0; i < 64; ++i) {
    holders.emplace_back([&] {
      agent_->mark(0, 0, "holds a ring");
      ++ready;
      while (!stop) usleep(1000);
    });
  }
  while (ready != 64) usleep(1000);
  const auto lost_with = [&](auto resource, rlim_t most) {
    rlimit before;
    getrlimit(resource, &before);
    const rlimit limit = {most, before.rlim_max};
    setrlimit(resource, &limit);
    lost_in_a_thread();
    setrlimit(resource, &before);
  };
  lost_with(RLIMIT_NOFILE, 3);
  EXPECT_EQ(drops(wire::DropSource::kMark, wire::DropReason::kProcessFiles), 10u);
  usleep(30'000);  // no retry before that
  lost_with(RLIMIT_FSIZE, 1000);
  EXPECT_EQ(drops(wire::DropSource::kMark, wire::DropReason::kFileSize), 10u);
  EXPECT_EQ(drops(wire::DropSource::kMark, wire::DropReason::kNoSpace), 0u);
  stop = true;
  for (auto& holder : holders) holder.join();
}

TEST(AgentOfAnotherVersion, IsCountedAndNotRecorded) {
  const test::TemporaryDirectory directory;
  auto control = wire::Control::create(directory.path(), {});
  ASSERT_TRUE(control.ok());
  for (const uint32_t version : {wire::kWireVersion + 1, wire::kFirstThatCounts - 1}) {
    (*control)->version = version;
    const pid_t child = fork();
    if (child == 0) _exit(agent::attach_process(directory.path().c_str()) ? 1 : 0);
    EXPECT_EQ(exit_of(child), 0);
  }
  EXPECT_EQ((*control)->refused, 1u);  // a control file of version 3 does not count
  EXPECT_TRUE(wire::list_spools(directory.path()).empty());
}

// As compilers of filters do it: check the machine, jump over half of the numbers, then compare one
// by one.
bool forbids(uint32_t otherwise, int permitted) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_STMT(BPF_ST, 3),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1000, 2, 0),
      BPF_STMT(BPF_LD | BPF_MEM, 3),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(permitted), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, otherwise),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return agent::forbids_recording({sizeof code / sizeof code[0], code});
}

TEST(Sandbox, OnlyFiltersThatEndTheProgramForbidRecording) {
  EXPECT_FALSE(forbids(SECCOMP_RET_ALLOW, SYS_read));
  EXPECT_FALSE(forbids(SECCOMP_RET_ERRNO | 1, SYS_read));
  EXPECT_FALSE(forbids(SECCOMP_RET_LOG, SYS_read));
  EXPECT_TRUE(forbids(SECCOMP_RET_KILL_PROCESS, SYS_read));
  EXPECT_TRUE(forbids(SECCOMP_RET_KILL_THREAD, SYS_read));
  EXPECT_TRUE(forbids(SECCOMP_RET_TRAP, SYS_read));
}

// System calls that recording does not need may be forbidden.
TEST(Sandbox, OtherSystemCallsMayBeForbidden) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  EXPECT_FALSE(agent::forbids_recording({sizeof code / sizeof code[0], code}));
  code[1].k = SYS_timer_settime;
  EXPECT_TRUE(agent::forbids_recording({sizeof code / sizeof code[0], code}));
}

// As a sandbox that only reads does it: openat() with these flags is answered so.
bool forbids_flags(uint32_t flags, uint32_t answer) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, flags),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return agent::forbids_recording({sizeof code / sizeof code[0], code});
}

TEST(Sandbox, FiltersThatLookAtArgumentsMayForbidRecording) {
  EXPECT_TRUE(forbids_flags(O_WRONLY | O_RDWR | O_CREAT, SECCOMP_RET_KILL_PROCESS));
  EXPECT_FALSE(forbids_flags(O_WRONLY | O_RDWR | O_CREAT, SECCOMP_RET_ERRNO | EPERM));
}

TEST(Sandbox, FiltersThatLookAtManyArgumentsEnd) {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0]))};
  for (uint32_t i = 0; i < 4000; ++i) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, i, 0, 0));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  EXPECT_TRUE(agent::forbids_recording({static_cast<uint16_t>(code.size()), code.data()}));
}

}  // namespace
}  // namespace sonde
