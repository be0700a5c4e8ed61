// Analyses in processes of their own: what they answer, and how those end that take too much.
#include "serve/workers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/time.h"

namespace sonde::serve {
namespace {

// Does what the job says.
Result<std::string> obey(std::string_view job) {
  if (job == "take memory") {
    std::vector<std::vector<char>> all;
    for (int i = 0; i < 64; ++i) all.emplace_back(size_t{8} << 20, 'x');
    return std::to_string(all.size());
  }
  if (job == "take time") std::this_thread::sleep_for(std::chrono::seconds(60));
  if (job == "crash") ::raise(SIGKILL);
  if (job == "throw") throw std::runtime_error("of a library");
  if (job == "fail") return make_error(ErrorCode::kNotFound, "is not there", "it", "look again");
  if (job == "much") return std::string(size_t{20} << 20, 'y');
  if (job == "pid") return std::to_string(::getpid());
  return "did " + std::string(job);
}

Workers workers(const WorkLimits& limits = {}) {
  auto started = Workers::start(obey, limits);
  EXPECT_TRUE(started.ok());
  return std::move(*started);
}

bool has(const Error& error, const char* text) {
  return error.to_line().find(text) != std::string::npos;
}

TEST(Workers, AnswerInAnotherProcess) {
  const Workers all = workers();
  EXPECT_EQ(*all.run("x"), "did x");
  EXPECT_EQ(all.run("much")->size(), size_t{20} << 20);
  EXPECT_NE(*all.run("pid"), std::to_string(::getpid()));
  const auto failed = all.run("fail");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(failed.error().to_line(), "it: is not there (look again)");
  EXPECT_TRUE(has(all.run("throw").error(), "of a library"));
  EXPECT_FALSE(all.run(std::string(1 << 20, 'z')).ok());
}

TEST(Workers, ThatTakeTooMuchMemoryAreEndedAndOthersGoOn) {
  if (!limits_memory()) GTEST_SKIP() << "a sanitizer needs memory of its own";
  const Workers small = workers({uint64_t{100} << 20, 300'000'000'000});
  const auto memory = small.run("take memory");
  ASSERT_FALSE(memory.ok());
  EXPECT_TRUE(has(memory.error(), "needs more than 100 MiB of memory")) << memory.error().to_line();
  EXPECT_EQ(*small.run("x"), "did x");
}

TEST(Workers, ThatTakeTooLongOrDieAreEndedAndOthersGoOn) {
  const Workers quick = workers({0, 300'000'000});
  const int64_t begin_ns = monotonic_now_ns();
  const auto time = quick.run("take time");
  ASSERT_FALSE(time.ok());
  EXPECT_TRUE(has(time.error(), "takes longer than 300")) << time.error().to_line();
  EXPECT_LT(monotonic_now_ns() - begin_ns, 30'000'000'000);
  const auto killed = quick.run("crash");
  ASSERT_FALSE(killed.ok());
  EXPECT_TRUE(has(killed.error(), "was ended")) << killed.error().to_line();
  EXPECT_EQ(*quick.run("x"), "did x");
}

TEST(Workers, AnswerSeveralAtOnce) {
  const Workers all = workers();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k) {
        const std::string job = std::to_string(10 * i + k);
        const auto answer = all.run(job);
        right += answer.ok() && *answer == "did " + job ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

TEST(Workers, LeaveNoProcessBehind) {
  pid_t pid = 0;
  {
    const Workers all = workers();
    pid = static_cast<pid_t>(std::stoi(*all.run("pid")));
  }
  const int64_t until_ns = monotonic_now_ns() + 30'000'000'000;
  while (::kill(pid, 0) == 0 && monotonic_now_ns() < until_ns) ::usleep(1000);
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace sonde::serve
