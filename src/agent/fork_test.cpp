// Forks of all kinds, and at bad moments. Each test runs in a process and a session of its own, so
// that its effects on the agent end with it.
#include <signal.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "agent/agent_test_support.h"
#include "agent/attach.h"
#include "agent/definitions.h"
#include "agent/spool.h"

namespace sonde {
namespace {

std::map<uint32_t, std::vector<Seen>> read_session(const std::string& session) {
  std::map<uint32_t, std::vector<Seen>> processes;
  for (const auto& folder : wire::list_spools(session)) {
    Seen& seen = processes[folder.pid].emplace_back(read_spool(folder));
    EXPECT_EQ(seen.malformed + seen.damaged, 0);
  }
  return processes;
}

// Definitions must be numbered consecutively.
void expect_whole(const Seen& seen) {
  EXPECT_EQ(seen.processes, 1);
  EXPECT_EQ(seen.unknown_marks, 0);
  for (size_t i = 0; i < seen.ids.size(); ++i) ASSERT_EQ(seen.ids[i], i + 1);
}

// Runs `body` in a process that is recorded into `session`; it returns 0 if all went well.
int run_recorded(const std::string& session, const std::function<int()>& body) {
  auto control = wire::Control::create(session, {.clock = wire::best_clock()});
  EXPECT_TRUE(control.ok());
  const pid_t child = fork();
  if (child == 0) {
    if (!agent::attach_process(session.c_str())) _exit(99);
    _exit(body());
  }
  return exit_of(child);
}

uint32_t intern(const std::string& text) {
  return sonde_agent_v2()->intern(text.data(), text.size());
}

TEST(AgentFork, AForkThatWaitedInVainForTheDefinitionsLeavesTheLockOfTheOther) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(run_recorded(directory.path(),
                         [] {
                           std::atomic<int> step{0};
                           std::thread first([&] {
                             agent::before_fork();
                             step = 1;
                             while (step != 2) usleep(100);
                             agent::after_fork_in_parent();
                             step = 3;
                           });
                           while (step != 1) usleep(100);
                           agent::before_fork();  // waits for the lock until it gives up
                           step = 2;
                           while (step != 3) usleep(100);
                           agent::after_fork_in_parent();
                           first.join();
                           if (intern("after both forks") == 0) return 1;
                           // The same the other way round, and one fork inside another.
                           agent::before_fork();
                           agent::before_fork();
                           agent::after_fork_in_parent();
                           if (agent::try_lock_definitions()) return 2;
                           agent::after_fork_in_parent();
                           return intern("after a fork in a fork") != 0 ? 0 : 3;
                         }),
            0);
}

// What a sample in a module that has not been seen yet does first.
uint32_t define_sampled_module() {
  sonde_module module = {};
  module.path = "/of/a/sample";
  return sonde_agent_v2()->define_module(&module);
}

// A signal handler takes a sample there, and it may be the first event of the process. The lock
// that the fork holds is this thread's own: nobody would release it.
TEST(AgentFork, AnEventOfTheForkingThreadItselfWaitsForNobody) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(run_recorded(directory.path(),
                         [] {
                           agent::before_fork();
                           const bool defined =
                               define_sampled_module() != 0 && intern("in a fork") != 0;
                           std::thread other([&] {
                             if (agent::try_lock_definitions()) _exit(3);  // still held
                           });
                           other.join();
                           agent::after_fork_in_parent();
                           return defined && intern("after a fork") != 0 ? 0 : 1;
                         }),
            0);
  const auto processes = read_session(directory.path());
  ASSERT_EQ(processes.size(), 1u);
  ASSERT_EQ(processes.begin()->second.size(), 1u);
  expect_whole(processes.begin()->second[0]);
}

// Another thread has the first event of the process, and waits for the fork to be over.
TEST(AgentFork, AnEventOfTheForkingThreadDoesNotWaitForAThreadThatWaitsForTheFork) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(run_recorded(directory.path(),
                         [] {
                           agent::before_fork();
                           std::atomic<uint32_t> defined{0};
                           std::thread other([&] { defined = intern("of the other"); });
                           agent::BoundedLock& spool_lock = agent::g_state.spool_lock;
                           while (spool_lock.try_acquire()) {  // until the other has it
                             spool_lock.release();
                             usleep(100);
                           }
                           define_sampled_module();
                           agent::after_fork_in_parent();
                           other.join();
                           return defined != 0 && intern("after a fork") != 0 ? 0 : 1;
                         }),
            0);
}

// Runs `body` in a process that has been recorded; it attaches the process to a second session.
int run_twice_recorded(const test::TemporaryDirectory& second,
                       const std::function<int(const char* session)>& body) {
  const test::TemporaryDirectory first;
  auto control = wire::Control::create(second.path(), {.clock = wire::best_clock()});
  EXPECT_TRUE(control.ok());
  return run_recorded(first.path(), [&] {
    agent::agent_of_attached()->mark(0, 0, "of the first recording");
    return body(second.path().c_str());
  });
}

// A process that was attached to, and is again while it forks: the lock of the new recording is
// another thread's.
TEST(AgentFork, AForkDuringWhichARecordingBeginsLeavesItsLock) {
  const test::TemporaryDirectory second;
  EXPECT_EQ(run_twice_recorded(second,
                               [](const char* session) {
                                 agent::before_fork();
                                 if (!agent::attach_process_again(session)) return 1;
                                 std::atomic<int> step{0};
                                 std::thread other([&] {
                                   if (!agent::lock_definitions()) _exit(2);
                                   step = 1;
                                   while (step != 2) usleep(100);
                                   agent::unlock_definitions();
                                 });
                                 while (step != 1) usleep(100);
                                 agent::after_fork_in_parent();
                                 const bool is_held = !agent::try_lock_definitions();
                                 step = 2;
                                 other.join();
                                 return is_held ? 0 : 3;
                               }),
            0);
}

// Its first event in that recording falls into a fork. The forks before make its stack known, so
// that nothing else tells it that the recording is another one.
TEST(AgentFork, AThreadOfAnEarlierRecordingReleasesTheLockThatItsForkTook) {
  const test::TemporaryDirectory second;
  EXPECT_EQ(run_twice_recorded(second,
                               [](const char* session) {
                                 for (int recording = 1; recording <= 2; ++recording) {
                                   if (recording == 2 && !agent::attach_process_again(session))
                                     return 1;
                                   agent::before_fork();
                                   agent::agent_of_attached()->mark(0, 0, "in a fork");
                                   agent::after_fork_in_parent();
                                 }
                                 return agent::try_lock_definitions() ? 0 : 2;
                               }),
            0);
}

TEST(AgentFork, AThreadThatForksFirstInANewRecordingHasItsEventsInThat) {
  const test::TemporaryDirectory second;
  EXPECT_EQ(run_twice_recorded(second,
                               [](const char* session) {
                                 if (!agent::attach_process_again(session)) return 1;
                                 agent::before_fork();
                                 agent::after_fork_in_parent();
                                 agent::agent_of_attached()->mark(0, 0, "after a fork");
                                 return 0;
                               }),
            0);
  const auto processes = read_session(second.path());
  ASSERT_EQ(processes.size(), 1u);
  ASSERT_EQ(processes.begin()->second.size(), 1u);
  EXPECT_EQ(processes.begin()->second[0].marks, (std::map<std::string, int>{{"after a fork", 1}}));
}

TEST(AgentFork, ThreadsThatForkAtOnceHaveChildrenThatDefine) {
  const test::TemporaryDirectory directory;
  constexpr int kThreads = 4, kForks = 5;
  EXPECT_EQ(run_recorded(directory.path(),
                         [] {
                           std::atomic<bool> over{false};
                           std::thread defines([&] {
                             for (int i = 0; !over; ++i)
                               intern("defined meanwhile " + std::to_string(i % 500));
                           });
                           std::atomic<int> failed{0};
                           std::vector<std::thread> threads;
                           for (int t = 0; t < kThreads; ++t) {
                             threads.emplace_back([&] {
                               for (int i = 0; i < kForks; ++i) {
                                 const pid_t child = fork();
                                 if (child == 0) {
                                   const bool defined =
                                       sonde_agent_v2()->intern("of the child", 12) != 0;
                                   sonde_agent_v2()->mark(0, 0, "of the child");
                                   _exit(defined ? 0 : 1);
                                 }
                                 if (exit_of(child) != 0) ++failed;
                               }
                             });
                           }
                           for (auto& thread : threads) thread.join();
                           over = true;
                           defines.join();
                           return failed.load();
                         }),
            0);
  const auto processes = read_session(directory.path());
  EXPECT_EQ(processes.size(), 1u + kThreads * kForks);
  for (const auto& [pid, images] : processes) {
    ASSERT_EQ(images.size(), 1u);
    expect_whole(images[0]);
  }
}

TEST(AgentFork, ASpoolThatCannotBeMadeAtOnceIsMadeLaterAndWhole) {
  const test::TemporaryDirectory directory;
  constexpr int kStrings = 120;
  EXPECT_EQ(run_recorded(directory.path(),
                         [] {
                           // More definitions than the first chunk has room for.
                           for (int i = 0; i < kStrings; ++i)
                             intern(std::to_string(i) + std::string(5000, 's'));
                           const pid_t child = fork();
                           if (child == 0) {
                             auto* control = agent::g_state.control;
                             const uint64_t limit = control->limit_bytes;
                             control->limit_bytes = control->allocated_bytes + wire::kChunkBytes;
                             for (int i = 0; i < 3; ++i) {
                               if (intern("too early") != 0) _exit(1);
                               usleep(20000);  // until a retry is allowed
                             }
                             control->limit_bytes = limit;
                             usleep(20000);
                             if (intern("in time") == 0) _exit(2);
                             sonde_agent_v2()->mark(0, 0, "in time");
                             _exit(0);
                           }
                           return exit_of(child);
                         }),
            0);
  const auto processes = read_session(directory.path());
  ASSERT_EQ(processes.size(), 2u);
  const auto& child = processes.rbegin()->second;
  ASSERT_EQ(child.size(), 1u);
  expect_whole(child[0]);
  std::set<std::string> strings;
  for (const auto& [id, text] : child[0].strings) strings.insert(text);
  for (int i = 0; i < kStrings; ++i) {
    EXPECT_EQ(strings.count(std::to_string(i) + std::string(5000, 's')), 1u) << i;
  }
  EXPECT_EQ(strings.count("in time"), 1u);
  EXPECT_EQ(strings.count("too early"), 0u);
  EXPECT_EQ(child[0].marks, (std::map<std::string, int>{{"in time", 1}}));
}

// A signal handler that forks will, sooner or later, interrupt its thread in the middle of a
// record; parent and child both continue that record.
constexpr int kForks = 40;
std::atomic<int> g_forks{0}, g_bad{0};

// One shot, not periodic: fork() restarts after each signal, and would never finish if it took
// longer than the interval.
void alarm_soon() {
  const itimerval soon = {{0, 0}, {0, 2000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
}

void fork_in_handler(int) {
  const pid_t child = fork();
  if (child == 0) {
    sonde_agent_v2()->mark(0, 0, "in the child's handler");
    alarm(60);
    g_forks = -1;
    return;
  }
  if (exit_of(child) != 0) ++g_bad;
  if (++g_forks < kForks) alarm_soon();
}

TEST(AgentFork, AForkInASignalHandlerInTheMiddleOfARecordHarmsNobody) {
#ifdef SONDE_TSAN
  GTEST_SKIP() << "ThreadSanitizer puts signals off";
#endif
  const test::TemporaryDirectory directory;
  EXPECT_EQ(run_recorded(directory.path(),
                         [] {
                           struct sigaction action = {};
                           action.sa_handler = fork_in_handler;
                           sigaction(SIGALRM, &action, nullptr);
                           alarm_soon();
                           while (g_forks >= 0 && g_forks < kForks) {
                             for (int i = 0; i < 100; ++i) {
                               sonde_agent_v2()->range_push(0, 0, "interrupted");
                               sonde_agent_v2()->range_pop(0);
                             }
                           }
                           if (g_forks < 0) _exit(0);  // a child
                           return g_bad.load();
                         }),
            0);
}

#ifndef SONDE_TSAN  // TSan does not know _Fork()

TEST(AgentFork, AChildThatNobodyWasToldOfDefinesWhatItInheritedOnce) {
  const test::TemporaryDirectory directory;
  constexpr int kChildren = 25;
  EXPECT_EQ(run_recorded(
                directory.path(),
                [] {
                  std::atomic<bool> over{false};
                  std::vector<std::thread> threads;
                  for (int t = 0; t < 3; ++t) {
                    threads.emplace_back([&, t] {
                      for (int i = 0; !over; ++i) {
                        intern("thread " + std::to_string(t) + " text " + std::to_string(i % 300));
                      }
                    });
                  }
                  int failed = 0;
                  for (int i = 0; i < kChildren; ++i) {
                    const pid_t child = _Fork();
                    if (child == 0) {
                      const uint32_t before = sonde_agent_v2()->intern("only in the child", 17);
                      const uint32_t again = sonde_agent_v2()->intern("only in the child", 17);
                      for (int k = 0; k < 2; ++k)
                        sonde_agent_v2()->mark(0, 0, "a mark of the child");
                      _exit(before != 0 && before == again ? 0 : 1);
                    }
                    failed += exit_of(child) != 0 ? 1 : 0;
                  }
                  over = true;
                  for (auto& thread : threads) thread.join();
                  return failed;
                }),
            0);
  const auto processes = read_session(directory.path());
  EXPECT_EQ(processes.size(), 1u + kChildren);
  for (const auto& [pid, images] : processes) {
    ASSERT_EQ(images.size(), 1u);
    expect_whole(images[0]);
  }
}

#endif

}  // namespace
}  // namespace sonde
