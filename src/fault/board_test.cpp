// Boards after kills and on full disks, and names of saved code objects.
#include "fault/board.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "fault/board_file.h"
#include "fault/code.h"

namespace sonde::fault {
namespace {

using BoardTest = BoardFile;

TEST_F(BoardTest, CountsFaultsThatAreWhole) {
  write();
  EXPECT_EQ(fault_count(path_), 0U);
  board_->fault_count = 2;  // two are being written, one is complete
  board_->faults[0].kind = wire::kBoardMemoryFault;
  write();
  EXPECT_EQ(fault_count(path_), 1U);
  EXPECT_EQ(fault_count(path_ + "x"), 0U);
}

// An end may be noted late: after 8,192 more launches another dispatch has its place.
TEST_F(BoardTest, TakesNoEndOfAnOlderDispatchForTheNewerOnes) {
  board_->dispatches[3].number = wire::kBoardDispatches + 4;
  board_->ends[3] = {.number = 4, .time_ns = 70};
  EXPECT_EQ(wire::ended_ns(*board_, 3), 0);
  EXPECT_EQ(progress_of(*board_).in_flight, 1U);
  board_->ends[3] = {.number = wire::kBoardDispatches + 4, .time_ns = 90};
  EXPECT_EQ(wire::ended_ns(*board_, 3), 90);
  EXPECT_EQ(progress_of(*board_).in_flight, 0U);
}

TEST_F(BoardTest, RefusesWhatIsCutOrOfAnotherVersion) {
  write(sizeof(wire::Board) - 1);
  EXPECT_FALSE(read_board(path_).ok());
  board_->bytes = 7;
  write();
  EXPECT_FALSE(read_board(path_).ok());
}

TEST_F(BoardTest, CutsTextsAndLengthsThatAreTooLong) {
  std::memset(board_->faults[0].text, 'x', sizeof board_->faults[0].text);
  board_->allocations[3].made.bytes = 1 << 30;
  board_->arguments[2].bytes = 1 << 30;
  write();
  const auto board = read_board(path_);
  ASSERT_TRUE(board.ok());
  EXPECT_EQ(std::strlen(board->state->faults[0].text), sizeof board_->faults[0].text - 1);
  EXPECT_EQ(board->state->allocations[3].made.bytes, wire::kBoardStackBytes);
  EXPECT_EQ(board->state->arguments[2].bytes, wire::kBoardArgumentBytes);
}

TEST_F(BoardTest, ReadsTheLogAndLeavesOutWhatIsCut) {
  write();
  std::ofstream(path_ + ".log") << "module 1 4096 %ab%01 /a%20b\n"
                                << "object 8192 100 18446744073709551615 3 memory://1\n"
                                << "code 2 7 779 /x.py f %00%01\n"
                                << "module 2 40";
  const auto board = read_board(path_);
  ASSERT_TRUE(board.ok());
  ASSERT_EQ(board->modules.size(), 1U);
  EXPECT_EQ(board->modules.at(1).path, "/a b");
  EXPECT_EQ(board->modules.at(1).build_id, "ab01");
  ASSERT_EQ(board->objects.size(), 1U);
  EXPECT_EQ(board->objects[0].delta, -1);
  EXPECT_EQ(board->objects[0].copy, path_ + ".3");
  EXPECT_EQ(board->codes.at(2).lines, std::string("\0\1", 2));
}

TEST_F(BoardTest, ListsBoardsAndNotWhatBelongsToThem) {
  write();
  std::ofstream(path_ + ".log") << "";
  std::ofstream(path_ + ".1") << "";
  EXPECT_EQ(list_boards(folder_->path()), std::vector<std::string>{path_});
  EXPECT_TRUE(list_boards(folder_->path() + "/none").empty());
}

TEST(SavedName, IsThatOfTheDebugAgent) {
  EXPECT_EQ(saved_name("file:///rocm-debug-agent/rocm-debug-agent-test#offset=14309&size=31336"),
            "file____rocm-debug-agent_rocm-debug-agent-test_offset_14309_size_31336");
}

TEST(PlaceOf, ReadsFilesAndCopies) {
  const CodeObject file = place_of({0x1000, 64, 0, "file:///a%20b#offset=16&size=48", ""});
  EXPECT_EQ(file.file, "/a b");
  EXPECT_EQ(file.offset, 16U);
  EXPECT_EQ(file.bytes, 48U);
  const CodeObject copy = place_of({0, 0, 0, "memory://7#offset=0x55&size=48", "/s/1"});
  EXPECT_EQ(copy.file, "/s/1");
  EXPECT_EQ(copy.offset, 0U);
  EXPECT_EQ(copy.bytes, 48U);
}

}  // namespace
}  // namespace sonde::fault
