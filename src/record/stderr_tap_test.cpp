#include "record/stderr_tap.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/test_support.h"

namespace sonde::record {
namespace {

std::string content(const std::string& path) {
  std::ifstream stream(path);
  return (std::stringstream() << stream.rdbuf()).str();
}

// Writes `text` in pieces of every size, and checks where each line went.
TEST(StderrTap, TakesWholeLinesOfOneLibraryAndPassesTheRestOn) {
  const std::string text = "MI\nMIOpen(HIP): a\nother\n\nMIOpen: b\nMIOpe\nlast MIOpen: no\nMIOpen";
  for (size_t step = 1; step <= text.size(); ++step) {
    test::TemporaryDirectory folder;
    const std::string log = folder / "log";
    const std::string passed = folder / "passed";
    auto tap = StderrTap::open(log, "MIOpen").value();
    const UniqueFd to(::open(passed.c_str(), O_WRONLY | O_CREAT, 0600));
    for (size_t at = 0; at < text.size(); at += step) {
      const std::string part = text.substr(at, step);
      ASSERT_EQ(::write(tap.fd(), part.data(), part.size()), static_cast<ssize_t>(part.size()));
      tap.pass_on(to.get());
    }
    tap.finish(to.get());
    EXPECT_EQ(content(log), "MIOpen(HIP): a\nMIOpen: b\nMIOpen") << step;
    EXPECT_EQ(content(passed), "MI\nother\n\nMIOpe\nlast MIOpen: no\n") << step;
    EXPECT_EQ(tap.line_times_ns().size(), 3u) << step;
  }
}

}  // namespace
}  // namespace sonde::record
