#include "base/new_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "base/test_support.h"

namespace sonde {
namespace {

TEST(NewFile, StreamsAreNoFiles) {
  const test::TemporaryDirectory folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_TRUE(is_stream("-"));
  EXPECT_TRUE(is_stream("/dev/null"));
  EXPECT_FALSE(is_stream(folder / "file"));
  EXPECT_FALSE(is_stream(folder / "not there"));
  EXPECT_FALSE(is_stream(folder / ""));
  EXPECT_FALSE(require_file_name("/dev/null"));
  EXPECT_TRUE(require_file_name("trace.rpd"));
}

TEST(NewFile, AnErrorSaysWhichFolderIsMissing) {
  EXPECT_EQ(not_created("file", "no/t.rpd", ENOENT).to_line(),
            "no/t.rpd: cannot create the file: there is no folder no (make it, or choose another "
            "name with -o)");
  EXPECT_EQ(
      not_created("file", "t.rpd", EACCES).to_line(),
      "t.rpd: cannot create the file: Permission denied (choose a place that you may write to "
      "with -o)");
  EXPECT_EQ(not_created("file", "t.rpd", ENOSPC).to_line(),
            "t.rpd: cannot create the file: No space left on device");
}

}  // namespace
}  // namespace sonde
