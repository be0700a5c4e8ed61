// A board file in a folder of boards, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/temporary_directory.h"
#include "wire/board.h"

namespace sonde::fault {

class BoardFile : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create();
    ASSERT_TRUE(made.ok());
    folder_ = std::make_unique<TemporaryDirectory>(std::move(*made));
    std::filesystem::create_directory(folder_->path() + "/boards");
    path_ = folder_->path() + "/boards/1-2";
    board_ = std::make_unique<wire::Board>();
    std::memset(static_cast<void*>(board_.get()), 0, sizeof *board_);
    board_->magic = wire::kBoardMagic;
    board_->bytes = sizeof *board_;
  }
  void write(size_t bytes = sizeof(wire::Board)) const {
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(board_.get()), static_cast<std::streamsize>(bytes));
  }

  std::unique_ptr<TemporaryDirectory> folder_;
  std::unique_ptr<wire::Board> board_;
  std::string path_;
};

}  // namespace sonde::fault
