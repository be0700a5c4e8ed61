// Helpers shared by unit tests of several folders.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde::test {

// Fails the test with the error's line where there is one.
template <typename T>
void expect_ok(const Result<T>& result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().to_line());
}

// The value of a call that a test cannot do without: where there is none, the test program ends.
template <typename T>
T value_of(Result<T> result) {
  expect_ok(result);
  return std::move(result).value();
}

// Whether `part` is in `text`, which a failed check shows whole.
inline testing::AssertionResult has(std::string_view text, std::string_view part) {
  return testing::AssertionResult(text.find(part) != text.npos)
         << "looked for: " << part << "\nin: " << text;
}

// A file of the real traces, or "" if this machine has none. Tests run in the source folder.
inline std::string real_file(const std::string& name) {
  const char* shared = std::getenv("SONDE_SHARED");
  const std::string path = std::string(shared == nullptr ? "../shared" : shared) + "/data/" + name;
  return std::filesystem::exists(path) ? path : "";
}

// A folder of the test's own, removed with its contents. Concurrent test runs get different ones.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    path_ = std::filesystem::temp_directory_path() / "sonde_test.XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;  // a test may have made it read-only
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sonde::test
