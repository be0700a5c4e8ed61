// Boards with waiting queues, made by hand, and the values of their signals.
#include "fault/waits.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>

#include "fault/board.h"
#include "fault/compose.h"
#include "fault/text.h"

namespace sonde::fault {
namespace {

class WaitsTest : public testing::Test {
 protected:
  void SetUp() override {
    board_ = std::make_unique<wire::Board>();
    std::memset(static_cast<void*>(board_.get()), 0, sizeof *board_);
    for (uint64_t i = 0; i < 4; ++i) {
      board_->queues[i].handle = 0x1000 * (i + 1);
      board_->queues[i].id = i + 1;
    }
  }
  // Indexes of queues begin at 0, their ids at 1.
  void barrier(uint8_t queue, uint32_t packet, std::vector<uint64_t> depends_on,
               uint64_t completion, bool any = false) {
    wire::BoardBarrier& entry = board_->barriers[board_->next_barrier];
    for (size_t i = 0; i < depends_on.size(); ++i) entry.depends_on[i] = depends_on[i];
    entry.dispatches = board_->next_dispatch;
    entry.completion = completion;
    entry.packet = packet;
    entry.queue = queue;
    entry.any = any ? 1 : 0;
    entry.number = ++board_->next_barrier;
  }
  void dispatch(uint8_t queue, uint32_t packet, uint64_t completion) {
    board_->completions[board_->next_dispatch] = completion;
    wire::BoardDispatch& entry = board_->dispatches[board_->next_dispatch];
    entry.packet = packet;
    entry.queue = queue;
    entry.number = ++board_->next_dispatch;
  }
  Waits find() const {
    return find_waits(
        *board_,
        [this](uint64_t signal) {
          const auto known = values_.find(signal);
          return known != values_.end() ? std::optional(known->second) : std::nullopt;
        },
        [](const wire::BoardDispatch&) { return std::string("scale"); });
  }
  std::string cycle() const {
    const Waits waits = find();
    return cycle_text(waits.queues, waits.cycle);
  }

  std::unique_ptr<wire::Board> board_;
  std::map<uint64_t, int64_t> values_;
};

TEST_F(WaitsTest, TwoQueuesWaitForEachOther) {
  values_ = {{0x10, 1}, {0x20, 1}};
  barrier(0, 5, {0x20}, 0x10);
  barrier(1, 2, {0x10}, 0x20);
  const Waits waits = find();
  ASSERT_EQ(waits.queues.size(), 2U);
  EXPECT_EQ(waits.queues[0].packet, 5U);
  EXPECT_TRUE(waits.queues[0].certain);
  EXPECT_EQ(cycle(), "queues 1 and 2 wait for each other");
  EXPECT_EQ(wait_text(waits.queues[0]),
            "queue 1 of GPU 0 waits at packet 5 for signal 0x20 (value 1), which a barrier "
            "completes, packet 2 of queue 2");
}

// The packet that completes the signal is behind the barrier; it is not the barrier itself.
TEST_F(WaitsTest, ACycleOfThreeThroughKernels) {
  values_ = {{0x10, 1}, {0x20, 1}, {0x30, 1}};
  barrier(0, 0, {0x20}, 0);
  dispatch(0, 1, 0x10);
  barrier(1, 0, {0x30}, 0);
  dispatch(1, 1, 0x20);
  barrier(2, 0, {0x10}, 0);
  dispatch(2, 1, 0x30);
  EXPECT_EQ(cycle(), "queue 1 waits for queue 2, which waits for queue 3, which waits for queue 1");
}

TEST_F(WaitsTest, AQueueThatWaitsForWhatStandsBehindIt) {
  values_ = {{0x10, 1}};
  barrier(0, 0, {0x10}, 0);
  dispatch(0, 1, 0x10);
  EXPECT_EQ(cycle(), "queue 1 waits for itself: what it waits for comes later in the same queue");
}

// A kernel before the barrier runs, and its end lets the other queue continue.
TEST_F(WaitsTest, ARunningKernelIsNoDeadlock) {
  values_ = {{0x10, 1}, {0x20, 1}};
  dispatch(0, 0, 0x10);
  barrier(0, 1, {0x20}, 0);
  barrier(1, 0, {0x10}, 0x20);
  const Waits waits = find();
  ASSERT_EQ(waits.queues.size(), 2U);
  EXPECT_TRUE(waits.cycle.empty());
  EXPECT_EQ(wait_text(waits.queues[0]),
            "queue 1 of GPU 0 waits at packet 1, behind 1 in flight, for signal 0x20 (value 1), "
            "which a barrier completes, packet 0 of queue 2");
  EXPECT_EQ(signal_text(waits.queues[1].signals[0]),
            "signal 0x10 (value 1), which kernel scale completes, packet 0 of queue 1");
}

TEST_F(WaitsTest, OneOfTwoSignalsIsEnoughForABarrierOr) {
  values_ = {{0x10, 1}, {0x20, 1}, {0x30, 3}};
  barrier(0, 0, {0x20, 0x30}, 0x10, true);  // the host may set 0x30
  barrier(1, 0, {0x10}, 0x20);
  EXPECT_EQ(cycle(), "");
  EXPECT_EQ(signal_text(find().queues[0].signals[1]),
            "signal 0x30 (value 3), which no packet in flight completes: the host or a copy has to "
            "set it");
  values_[0x30] = 0;
  ASSERT_EQ(find().queues.size(), 1U);
  EXPECT_EQ(find().queues[0].queue, 2U);
  board_->barriers[0].any = 0;
  EXPECT_EQ(cycle(), "queues 1 and 2 wait for each other");
}

// The host is not part of a cycle, nor is a queue that waits for a queue in it.
TEST_F(WaitsTest, NamesOnlyTheQueuesOfTheCycle) {
  values_ = {{0x10, 1}, {0x20, 1}, {0x30, 1}, {0x40, 1}};
  barrier(0, 0, {0x10}, 0x30);
  barrier(1, 0, {0x20}, 0x10);
  barrier(2, 0, {0x10}, 0x20);
  barrier(3, 0, {0x40}, 0);
  EXPECT_EQ(find().queues.size(), 4U);
  EXPECT_EQ(cycle(), "queues 2 and 3 wait for each other");
}

TEST_F(WaitsTest, LeavesOutBarriersThatAreOver) {
  values_ = {{0x10, 0}, {0x20, 1}, {0x30, 1}};
  barrier(0, 3, {0x20}, 0x10);  // its signal has come down
  EXPECT_TRUE(find().queues.empty());
  values_[0x10] = 1;
  EXPECT_EQ(find().queues.size(), 1U);
  board_->queues[0].consumed = 4;  // something after it has ended
  EXPECT_TRUE(find().queues.empty());
  board_->queues[0].consumed = 3;
  dispatch(1, 0, 0x10);  // with the signal at 1, only the later packet is unfinished
  EXPECT_TRUE(find().queues.empty());
  values_[0x10] = 2;
  EXPECT_EQ(find().queues.size(), 1U);
  board_->queues[0].gone_ns = 1;
  EXPECT_TRUE(find().queues.empty());
}

// Without a signal of its own, and with nothing after it, it may have completed long ago.
TEST_F(WaitsTest, DoubtsTheLastThatWasHeardOfAQueue) {
  values_ = {{0x20, 1}};
  barrier(0, 0, {0x20}, 0);
  ASSERT_EQ(find().queues.size(), 1U);
  EXPECT_FALSE(find().queues[0].certain);
  dispatch(0, 1, 0);
  EXPECT_TRUE(find().queues[0].certain);
}

// Only the low 32 bits of positions are kept.
TEST_F(WaitsTest, CountsOnBeyondFourThousandMillionPackets) {
  values_ = {{0x20, 1}};
  board_->queues[0].consumed = (uint64_t{1} << 32) - 2;
  barrier(0, 1, {0x20}, 0);
  dispatch(0, 0xffffffff, 0);
  EXPECT_EQ(progress_of(*board_).open, 1U);
  ASSERT_EQ(find().queues.size(), 1U);
  EXPECT_EQ(find().queues[0].ahead, 1);
  board_->queues[0].consumed = (uint64_t{1} << 32) + 2;
  EXPECT_EQ(progress_of(*board_).open, 0U);
}

TEST_F(WaitsTest, ReadsAnyBytes) {
  std::memset(static_cast<void*>(board_.get()), 0xff, sizeof *board_);
  EXPECT_TRUE(find().queues.empty());
  std::memset(static_cast<void*>(board_.get()), 1, sizeof *board_);
  find();
}

FaultReport report_of(Waits waits) {
  FaultReport report;
  report.kind = "hang";
  report.waits = std::move(waits.queues);
  report.cycle = std::move(waits.cycle);
  find_cause(report);
  return report;
}

TEST_F(WaitsTest, TheCauseIsTheCycle) {
  values_ = {{0x10, 1}, {0x20, 1}};
  barrier(0, 5, {0x20}, 0x10);
  barrier(1, 2, {0x10}, 0x20);
  const FaultReport report = report_of(find());
  EXPECT_EQ(report.cause, "deadlock: queues 1 and 2 wait for each other");
  EXPECT_NE(text_of(report, {})
                .find("  queue 2 of GPU 0, at packet 2, a barrier for one signal\n"
                      "    signal 0x10 (value 1), which a barrier completes, "),
            std::string::npos);
  EXPECT_NE(json_of(report).find("\"cycle\": [1, 2]"), std::string::npos);
}

TEST_F(WaitsTest, TheCauseIsASignalThatNobodySets) {
  values_ = {{0x10, 1}, {0x30, 3}};
  barrier(0, 0, {0x30}, 0x10);
  EXPECT_EQ(report_of(find()).cause,
            "queue 1 of GPU 0 waits at packet 0 for signal 0x30 (value 3), which no packet in "
            "flight completes: the host or a copy has to set it");
}

}  // namespace
}  // namespace sonde::fault
