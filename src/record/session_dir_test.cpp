#include "record/session_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_directory.h"

namespace sonde::record {
namespace {

namespace fs = std::filesystem;

void make_session(const fs::path& folder) {
  fs::create_directories(folder / "p7-1");
  for (const char* name : {"control", "output", "p7-1/chunk", "processes"}) {
    std::ofstream(folder / name) << "something";
  }
}

TEST(SessionDir, IsRemovedWithAllThatIsInIt) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const fs::path session = fs::path(folder->path()) / "sonde-a1B2c3";
  make_session(session);
  remove_session_dir(session.string());
  EXPECT_FALSE(fs::exists(session));
}

// Of a process of another user the directory is given to that user, who may put anything there.
TEST(SessionDir, ALinkInItsPlaceIsNotFollowed) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  const fs::path theirs = fs::path(folder->path()) / "theirs",
                 session = fs::path(folder->path()) / "sonde-a1B2c3";
  make_session(theirs);
  fs::create_directory_symlink(theirs, session);
  remove_session_dir(session.string());
  EXPECT_TRUE(fs::exists(theirs / "control"));
  EXPECT_TRUE(fs::exists(theirs / "p7-1/chunk"));
  EXPECT_FALSE(fs::is_symlink(session));
}

}  // namespace
}  // namespace sonde::record
