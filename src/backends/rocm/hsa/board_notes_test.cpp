// What calls leave on the board. The board itself, its clock and its stacks are stand-ins.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/board_collectives.h"
#include "backends/rocm/hsa/call_errors.h"

namespace sonde::hsa {

namespace {

struct Stand {
  std::unique_ptr<wire::Board> board;
  int64_t now_ns = 0;
};
Stand& stand() {
  static Stand stand;
  return stand;
}

}  // namespace

wire::Board* board() { return stand().board.get(); }
int64_t board_now_ns() { return ++stand().now_ns; }
bool is_watched() { return false; }
void take_stack(wire::BoardStack* stack) { stack->bytes = 0; }

namespace {

class BoardNotes : public testing::Test {
 protected:
  void SetUp() override {
    stand().board = std::make_unique<wire::Board>();
    std::memset(static_cast<void*>(board()), 0, sizeof *board());
  }
  void TearDown() override { stand().board.reset(); }
};

TEST_F(BoardNotes, TheCallThatFailedStaysWhereItsErrorIsReturnedAgain) {
  const wire::BoardCallError& error = board()->call_error;
  note_call_error("hipMemcpy", 1, {.to = 0x1000, .from = 0x2000, .bytes = 8192});
  EXPECT_EQ(error.repeated_ns, 0);
  const int64_t time_ns = error.time_ns;
  note_repeated_error("hipGetLastError", 1);
  EXPECT_STREQ(error.function, "hipMemcpy");
  EXPECT_EQ(error.bytes, 8192U);
  EXPECT_EQ(error.time_ns, time_ns);
  EXPECT_EQ(error.repeated_ns, time_ns + 1);
  EXPECT_EQ(error.calls, 1U);
  note_call_error("hipFree", 1, {.to = 0x3000, .frees = true});
  EXPECT_STREQ(error.function, "hipFree");
  EXPECT_EQ(error.repeated_ns, 0);
}

TEST_F(BoardNotes, AnErrorOfNoKnownCallIsOfWhatReturnedIt) {
  const wire::BoardCallError& error = board()->call_error;
  note_repeated_error("hipGetLastError", 0);
  note_repeated_error("hipPeekAtLastError", 600);  // hipErrorNotReady
  EXPECT_EQ(error.time_ns, 0);
  note_repeated_error("hipGetLastError", 719);
  EXPECT_STREQ(error.function, "hipGetLastError");
  EXPECT_EQ(error.code, 719);
  EXPECT_NE(error.time_ns, 0);
  note_call_error("hipMemcpy", 1, {});
  note_repeated_error("hipGetLastError", 719);  // not that of the copy
  EXPECT_STREQ(error.function, "hipGetLastError");
}

// They differ in number between the ranks.
TEST_F(BoardNotes, SendsAndReceivesHaveTheNumberOfTheCollectiveBeforeThem) {
  constexpr int kFloat = 7;
  const void* communicator = &stand();
  note_communicator(communicator, 77, 0, 3);
  const char* const calls[] = {"ncclRecv",      "ncclRecv", "ncclAllReduce", "ncclSend",
                               "ncclBroadcast", "ncclSend", "ncclAllReduce"};
  const uint64_t numbers[] = {0, 0, 1, 1, 2, 2, 3};
  for (const char* call : calls) note_collective(communicator, call, 8, kFloat, 1);
  for (size_t i = 0; i < std::size(calls); ++i) {
    EXPECT_STREQ(board()->collectives[i].name, calls[i]);
    EXPECT_EQ(board()->collectives[i].sequence, numbers[i]) << i;
  }
}

}  // namespace
}  // namespace sonde::hsa
