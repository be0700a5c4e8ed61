// Boards of ranks, one process each, made by hand.
#include "fault/collectives.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace sonde::fault {
namespace {

class CollectivesTest : public testing::Test {
 protected:
  // A process with one rank.
  wire::Board& process(int64_t pid) {
    Board board;
    board.state = std::make_unique<wire::Board>();
    std::memset(static_cast<void*>(board.state.get()), 0, sizeof *board.state);
    board.state->pid = static_cast<uint32_t>(pid);
    boards_.push_back(std::move(board));
    return *boards_.back().state;
  }
  static void call(wire::Board& board, int rank, uint64_t sequence, const char* name, bool is_over,
                   uint64_t count = 1024) {
    wire::BoardCollective& entry = board.collectives[board.next_collective];
    entry.number = ++board.next_collective;
    entry.group = 77;
    entry.sequence = sequence;
    entry.rank = rank;
    entry.ranks = kRanks;
    entry.count = count;
    entry.returned_ns = is_over ? 1 : 0;
    std::strcpy(entry.name, name);
  }
  std::string text(size_t own = 0) {
    std::vector<const Board*> all;
    for (const Board& board : boards_) all.push_back(&board);
    const auto waits = find_collective_waits(list_rank_calls(*boards_[own].state, all, namer_),
                                             boards_[own].state->pid);
    return waits.size() == 1 ? collective_text(waits[0]) : std::to_string(waits.size()) + " waits";
  }

  // All ranks make the first call, which has this number; all but rank `but` make and wait in the
  // second.
  void all_call(uint64_t number, const char* first, const char* second, int but) {
    for (int rank = 0; rank < kRanks; ++rank) {
      wire::Board& board = process(100 + rank);
      call(board, rank, number, first, true);
      if (rank != but) call(board, rank, number + 1, second, false);
    }
  }

  static constexpr int kRanks = 3;
  std::vector<Board> boards_;
  Namer namer_ = [](const std::string&, const std::string&, uint64_t) {
    return std::vector<store::FrameName>();
  };
};

TEST_F(CollectivesTest, NamesTheRankThatHasNotCome) {
  all_call(1, "ncclAllGather", "ncclAllReduce", 2);
  EXPECT_EQ(text(),
            "rank 2 has not called ncclAllReduce, call 2 of a communicator of 3 ranks, where ranks "
            "0 and 1 wait");
  EXPECT_EQ(text(2), "0 waits");  // process 2 is not in a call
}

// RCCL's calls return at once, so later calls than the one that waits are made, too.
TEST_F(CollectivesTest, TheFirstCallThatSomebodyHasNotMadeIsIt) {
  for (int rank = 0; rank < kRanks; ++rank) {
    wire::Board& board = process(100 + rank);
    call(board, rank, 1, "ncclAllGather", true);
    if (rank != 0) continue;
    for (uint64_t number = 2; number < 6; ++number) call(board, rank, number, "ncclReduce", true);
    // Its kernel is in flight.
    board.collectives[1].dispatches = 1;
    board.dispatches[0].number = 1;
  }
  EXPECT_EQ(text(),
            "ranks 1 and 2 have not called ncclReduce, call 2 of a communicator of 3 ranks, where "
            "rank 0 waits");
}

TEST_F(CollectivesTest, ARankThatHasOnlyMadeTheCommunicatorIsLate) {
  all_call(0, "ncclCommInitRank", "ncclBroadcast", 1);
  EXPECT_EQ(text(),
            "rank 1 has not called ncclBroadcast, call 1 of a communicator of 3 ranks, where ranks "
            "0 and 2 wait");
}

TEST_F(CollectivesTest, ARankOfAnotherMachineIsNotBlamed) {
  for (int rank = 0; rank < 2; ++rank) call(process(100 + rank), rank, 1, "ncclAllReduce", false);
  EXPECT_EQ(
      text(),
      "ranks 0 and 1 are in ncclAllReduce, call 1 of a communicator of 3 ranks; nothing is known "
      "here about rank 2");
}

TEST_F(CollectivesTest, WhoMakesACommunicatorWaitsAsWell) {
  call(process(100), 0, 0, "ncclCommInitRank", false);
  call(process(101), 1, 0, "ncclCommInitRank", false);
  EXPECT_EQ(
      text(),
      "ranks 0 and 1 are in ncclCommInitRank, which makes a communicator of 3 ranks; nothing is "
      "known here about rank 2");
}

TEST_F(CollectivesTest, CallsThatDoNotFitTogetherAreTold) {
  for (int rank = 0; rank < kRanks; ++rank) {
    call(process(100 + rank), rank, 1, "ncclAllReduce", false, rank == 1 ? 8 : 1024);
  }
  EXPECT_EQ(text(),
            "call 1 of a communicator of 3 ranks is not the same in all of them: rank 0 "
            "ncclAllReduce of 1024 elements, rank 1 ncclAllReduce of 8 elements, rank 2 "
            "ncclAllReduce of 1024 elements");
}

TEST_F(CollectivesTest, RanksMaySendDifferentAmountsToAll) {
  for (int rank = 0; rank < kRanks; ++rank) {
    call(process(100 + rank), rank, 1, "ncclAllToAllv", false, 8 + static_cast<uint64_t>(rank));
  }
  EXPECT_EQ(text(), "all ranks are in ncclAllToAllv, call 1 of a communicator of 3 ranks");
}

// The root of a gather receives from all others, which send once each.
TEST_F(CollectivesTest, SendsAndReceivesNeedNotBeTheSameInAllRanks) {
  for (int rank = 0; rank < kRanks; ++rank) {
    wire::Board& board = process(100 + rank);
    call(board, rank, 0, rank == 0 ? "ncclRecv" : "ncclSend", true, 8);
    if (rank == 0) call(board, rank, 0, "ncclRecv", true, 8);
    call(board, rank, 1, "ncclAllReduce", false);
  }
  EXPECT_EQ(text(), "all ranks are in ncclAllReduce, call 1 of a communicator of 3 ranks");
}

// The inner stages of a pipeline make twice as many calls as the outer ones.
TEST_F(CollectivesTest, SendsAndReceivesAreNoCollectivesThatARankHasNotCalled) {
  all_call(5, "ncclAllGather", "ncclAllReduce", 2);
  for (Board& board : boards_) {
    wire::Board& state = *board.state;
    const int rank = state.collectives[0].rank;
    if (rank != 2) state.collectives[1].returned_ns = 1;
    for (int i = 0; i < (rank == 1 ? 40 : 20); ++i) {
      call(state, rank, rank == 2 ? 5 : 6, i % 2 == 0 ? "ncclRecv" : "ncclSend", i < 19);
    }
  }
  EXPECT_EQ(text(), "0 waits");  // of no collective
  boards_[0].state->collectives[1].returned_ns = 0;
  const std::string missing =
      "rank 2 has not called ncclAllReduce, call 6 of a communicator of 3 ranks, where ranks 0 and "
      "1 wait";
  EXPECT_EQ(text(), missing);
  EXPECT_EQ(text(2), missing);  // also by the rank itself, which is in ncclSend
}

TEST_F(CollectivesTest, SendsTellHowManyCollectivesCameBeforeThem) {
  all_call(5, "ncclAllGather", "ncclAllReduce", 2);
  call(*boards_[2].state, 2, 5, "ncclSend", true);
  boards_[2].state->collectives[0].number = 0;  // another call has its place
  std::vector<const Board*> all;
  for (const Board& board : boards_) all.push_back(&board);
  auto calls = list_rank_calls(*boards_[0].state, all, namer_);
  keep_newest(calls);
  const auto waits = find_collective_waits(calls, 100);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(collective_evidence(waits[0]),
            "rank 2 (process 102) has made 5 calls on it besides sends and receives, the last was "
            "none that is known");
}

TEST_F(CollectivesTest, WhatIsOverIsNoWait) {
  for (int rank = 0; rank < kRanks; ++rank) {
    call(process(100 + rank), rank, 1, "ncclAllReduce", true);
  }
  EXPECT_EQ(text(), "0 waits");
}

}  // namespace
}  // namespace sonde::fault
