// The agent in this process, against a session directory of the test's own: what was recorded is
// read back with the decoder. Runs under the sanitizers too.
#include "agent/agent_test_support.h"

#include <thread>

namespace sonde {
namespace {

TEST_F(Agent, RangesNestAndReportTheirLevel) {
  agent_->range_push(0, 0, "outer");
  agent_->range_push(0, 0, "inner");
  EXPECT_EQ(agent_->range_pop(0), 1);
  EXPECT_EQ(agent_->range_pop(0), 0);
  EXPECT_EQ(agent_->range_pop(0), -1);
  const Seen seen = read_own();
  EXPECT_EQ(seen.ranges.at("outer"), 1);
  EXPECT_EQ(seen.ranges.at("inner"), 1);
  EXPECT_EQ(seen.processes, 1);
}

TEST_F(Agent, TextInAReusedBufferIsNotMistakenForTheOldOne) {
  char buffer[32];
  for (int i = 0; i < 300; ++i) {
    std::snprintf(buffer, sizeof buffer, "step %d", i % 100);
    agent_->range_push(0, 0, buffer);
    agent_->range_pop(0);
  }
  const Seen seen = read_own();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen.ranges.at("step " + std::to_string(i)), 3) << i;
}

TEST_F(Agent, DomainsHaveStacksOfTheirOwn) {
  const uint32_t a = agent_->intern("domain a", 8);
  const uint32_t b = agent_->intern("domain b", 8);
  agent_->range_push(a, 0, "in a");
  agent_->range_push(b, 0, "in b");
  EXPECT_EQ(agent_->range_pop(a), 0);
  EXPECT_EQ(agent_->range_pop(a), -1);
  EXPECT_EQ(agent_->range_pop(b), 0);
  const Seen seen = read_own();
  EXPECT_EQ(seen.ranges.at("in a"), 1);
  EXPECT_EQ(seen.ranges.at("in b"), 1);
}

TEST_F(Agent, ARangeThatIsOverKeepsItsTimes) {
  const uint32_t domain = agent_->intern("domain of frames", 16);
  const std::string longer(5000, 'l');
  agent_->range_push(0, 0, "around it");
  agent_->range_at(domain, 0, "over", 1000, 3000);
  agent_->range_at(0, domain, longer.c_str(), 5000, 5001);
  agent_->range_at(0, 0, "the wrong way round", 9000, 8000);
  agent_->range_at(0, 0, nullptr, 7, 9);
  agent_->stop();
  agent_->range_at(domain, 0, "over", 1, 2);
  agent_->start();
  EXPECT_EQ(agent_->range_pop(0), 0);
  const Seen seen = read_own();
  EXPECT_EQ(seen.ranges.at("over"), 1);
  EXPECT_EQ(seen.times.at("over"), std::pair(uint64_t{1000}, uint64_t{3000}));
  EXPECT_EQ(seen.times.at(longer), std::pair(uint64_t{5000}, uint64_t{5001}));
  EXPECT_EQ(seen.times.at("the wrong way round"), std::pair(uint64_t{8000}, uint64_t{8000}));
  EXPECT_EQ(seen.times.at(""), std::pair(uint64_t{7}, uint64_t{9}));
  EXPECT_EQ(seen.ranges.at("around it"), 1);
  EXPECT_EQ(seen.malformed, 0);
}

TEST_F(Agent, OpenRangesAreInTheNewestChunk) {
  agent_->range_push(0, 0, "still open");
  const std::string unique(3000, 'u');
  agent_->range_push(0, 0, unique.c_str());
  for (int i = 0; i < 20000; ++i) agent_->mark(0, 0, "filler");  // more than one chunk
  const Seen seen = read_own();
  ASSERT_EQ(seen.open.size(), 2u);
  EXPECT_EQ(seen.open[0], "still open");
  EXPECT_EQ(seen.open[1], unique);
  EXPECT_EQ(seen.marks.at("filler"), 20000);
  agent_->range_pop(0);
  agent_->range_pop(0);
  EXPECT_EQ(read_own().ranges.at(unique), 1);
}

TEST_F(Agent, LongAndEmptyTexts) {
  const std::string text(150000, 'x');
  agent_->range_push(0, 0, text.c_str());
  agent_->range_pop(0);
  agent_->mark(0, 0, text.c_str());
  agent_->mark(0, 0, nullptr);
  agent_->mark(0, 0, "");
  const Seen seen = read_own();
  EXPECT_EQ(seen.ranges.at(text), 1);
  EXPECT_EQ(seen.marks.at(text), 1);
  EXPECT_EQ(seen.marks.at(""), 2);
  EXPECT_EQ(seen.malformed, 0);
}

TEST_F(Agent, StopAndStartNest) {
  agent_->stop();
  agent_->stop();
  agent_->mark(0, 0, "while stopped");
  agent_->range_push(0, 0, "begun while stopped");
  agent_->start();
  agent_->mark(0, 0, "while stopped");
  agent_->start();
  agent_->range_pop(0);
  agent_->mark(0, 0, "while started");
  const Seen seen = read_own();
  EXPECT_EQ(seen.marks.count("while stopped"), 0u);
  EXPECT_EQ(seen.ranges.count("begun while stopped"), 0u);
  EXPECT_EQ(seen.marks.at("while started"), 1);
}

TEST_F(Agent, ManyThreadsLoseNothingAndShareRings) {
  constexpr int kThreads = 8, kRounds = 25, kMarks = 500;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this] {
        char text[32];
        for (int i = 0; i < kMarks; ++i) {
          std::snprintf(text, sizeof text, "shared %d", i % 7);
          agent_->mark(0, 0, text);
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
  const Seen seen = read_own();
  int total = 0;
  for (int i = 0; i < 7; ++i) total += seen.marks.at("shared " + std::to_string(i));
  EXPECT_EQ(total, kThreads * kRounds * kMarks);
  EXPECT_EQ(seen.damaged, 0);
}

TEST_F(Agent, AForkedChildHasASpoolThatExplainsItself) {
  agent_->mark(0, 0, "before the fork");
  agent_->mark(0, 0, "before the fork");
  const pid_t child = fork();
  if (child == 0) {
    sonde_agent_v2()->mark(0, 0, "before the fork");
    sonde_agent_v2()->mark(0, 0, "only in the child");
    _exit(0);
  }
  ASSERT_EQ(exit_of(child), 0);
  const Seen seen = read_process(child);
  EXPECT_EQ(seen.processes, 1);
  EXPECT_EQ(seen.marks,
            (std::map<std::string, int>{{"before the fork", 1}, {"only in the child", 1}}));
  EXPECT_EQ(read_own().marks.at("before the fork"), 2);
}

TEST_F(Agent, AThreadThatWritesALotGetsLargeChunksAndLosesNothing) {
  // 2.9 MB. Texts, too, must not be split across two chunks.
  constexpr int kMarks = 120'000;
  std::thread([this] {
    char text[64];
    for (int i = 0; i < kMarks; ++i) {
      if (i % 10 != 0) {
        agent_->mark(0, 0, "burst");
      } else {
        std::snprintf(text, sizeof text, "burst %.*s %d", i / 10 % 32,
                      "................................", i);
        agent_->mark(0, 0, text);
      }
    }
  }).join();
  const Seen seen = read_own();
  EXPECT_EQ(seen.marks.at("burst"), kMarks / 10 * 9);
  int once = 0;
  for (const auto& [text, count] : seen.marks) once += text.rfind("burst ", 0) == 0 ? count : 0;
  EXPECT_EQ(once, kMarks / 10);
  EXPECT_EQ(seen.malformed + seen.damaged, 0);
  EXPECT_GT(seen.largest_chunk, wire::kChunkBytes);
}

TEST_F(Agent, DrainedChunksAreUsedAgainAndAbandonedOnesAreLeft) {
  // Without a consumer every chunk stays; with one that drains, the number of files stays small.
  std::thread([this] {
    const auto drain = [&] {
      for (const auto& folder : wire::list_spools(session())) {
        for (const auto& file : wire::list_chunks(folder.path)) {
          std::fstream stream(file.path, std::ios::in | std::ios::out | std::ios::binary);
          wire::ChunkHeader header;
          stream.read(reinterpret_cast<char*>(&header), sizeof header);
          if (header.ring == 0 || header.state != wire::ChunkState::kSealed) continue;
          const auto drained = wire::ChunkState::kDrained;
          stream.seekp(offsetof(wire::ChunkStatus, state));
          stream.write(reinterpret_cast<const char*>(&drained), sizeof drained);
        }
      }
    };
    for (int round = 0; round < 30; ++round) {
      for (int i = 0; i < 20000; ++i) agent_->mark(0, 0, "drained");
      drain();
    }
  }).join();
  size_t files = 0;
  for (const auto& folder : wire::list_spools(session())) {
    files += wire::list_chunks(folder.path).size();
  }
  EXPECT_LT(files, 60u);  // 600,000 marks fill 59 chunks of one ring alone
}

TEST_F(Agent, CallsKeepTheirArgumentsAndErrno) {
  const uint32_t function = agent_->define_function("test", "", "do_it", "a:u b:s");
  ASSERT_NE(function, 0u);
  errno = 42;
  sonde_call call = agent_->call_begin(function, 1);
  EXPECT_NE(call.correlation, 0u);
  sonde_args args = {};
  sonde_arg_u64(&args, 7);
  sonde_arg_text(&args, "hello");
  agent_->call_end(&call, -5, args.words, args.count);
  EXPECT_EQ(errno, 42);
}

// The functions at these places were different ones.
TEST_F(Agent, WhatWasBuiltWithEarlierHeadersIsRefusedAndToldSo) {
  const size_t before = read_own().diagnostics.size();
  EXPECT_EQ(sonde_agent_v1(), nullptr);
  EXPECT_EQ(sonde_agent_v1(), nullptr);
  const auto told = read_own().diagnostics;
  ASSERT_EQ(told.size(), before + 1);
  EXPECT_NE(told.back().find("rebuild it"), std::string::npos);
}

TEST_F(Agent, ProgramsMarkThroughATableOfTheirOwn) {
  const struct sonde_functions* functions = sonde_functions_v1();
  ASSERT_NE(functions, nullptr);
  EXPECT_EQ(functions->size, sizeof(struct sonde_functions));
  functions->range_push(0, 0, "of the program");
  EXPECT_EQ(functions->range_pop(0), 0);
  functions->mark(0, 0, "mark of the program");
  const Seen seen = read_own();
  EXPECT_EQ(seen.ranges.at("of the program"), 1);
  EXPECT_EQ(seen.marks.at("mark of the program"), 1);
}

// What the cpu backend does: writes a sample from within call_begin().
uint64_t g_taken_at = 0;
void take_stack(uint64_t correlation) {
  const struct sonde_agent* agent = sonde_agent_v2();
  const sonde_stack stack = {
      .ticks = 0, .flags = 0, .frames = 1, .frame_bytes = 2, .packed_frames = "\x02\x10"};
  EXPECT_EQ(agent->launch_stack(&stack, correlation), 1);
  g_taken_at = agent->ticks();
}

TEST_F(Agent, ACallThatLaunchesHasItsStackTakenBeforeItBegins) {
  const uint32_t function = agent_->define_function("test", "", "launch", "");
  ASSERT_EQ(agent_->take_launch_stacks(take_stack), 1);
  const auto call = [&](int kind) {
    const sonde_call begun = agent_->call_begin(function, kind);
    agent_->call_end(&begun, 0, nullptr, 0);
    return begun.correlation;
  };
  const size_t before = read_own().correlated.size();
  const uint64_t launch = call(SONDE_CALL_LAUNCHES);
  const uint64_t other = call(SONDE_CALL_CORRELATED);
  EXPECT_EQ(call(SONDE_CALL_PLAIN), 0u);
  agent_->stop();
  EXPECT_EQ(call(SONDE_CALL_LAUNCHES), 0u);
  agent_->start();
  EXPECT_EQ(agent_->take_launch_stacks(nullptr), 1);
  const uint64_t without = call(SONDE_CALL_LAUNCHES);
  const Seen seen = read_own();
  using Expected = std::vector<std::pair<bool, uint64_t>>;
  EXPECT_EQ(Expected(seen.correlated.begin() + static_cast<std::ptrdiff_t>(before),
                     seen.correlated.end()),
            (Expected{{true, launch}, {false, launch}, {false, other}, {false, without}}));
  ASSERT_GE(seen.calls.size(), 4u);
  EXPECT_GE(seen.calls[seen.calls.size() - 4].begin, g_taken_at);
}

TEST_F(Agent, ACallThatIsOverKeepsItsTimes) {
  const uint32_t function = agent_->define_function("test", "", "did_it", "a:u b:u");
  const uint64_t words[] = {~uint64_t{0}, 0};
  agent_->call_at(function, 1000, 3000, 0, words, 2);
  agent_->call_at(function, 4000, 4000, 7, nullptr, 0);
  agent_->stop();
  agent_->call_at(function, 5000, 5001, 0, nullptr, 0);
  agent_->start();
  const auto calls = read_own().calls;
  ASSERT_GE(calls.size(), 2u);
  EXPECT_EQ(calls[calls.size() - 2], (SeenCall{function, 1000, 3000, {words[0], words[1]}}));
  EXPECT_EQ(calls.back(), (SeenCall{function, 4000, 4000, {}}));
}

}  // namespace
}  // namespace sonde
