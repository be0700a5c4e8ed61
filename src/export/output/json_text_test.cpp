#include "export/output/json_text.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/test_support.h"

namespace sonde::exporting {
namespace {

std::string integer(int64_t value) {
  char text[24];
  return std::string(text, put_integer(text, value));
}

std::string thousandths(int64_t value) {
  char text[24];
  return std::string(text, put_thousandths(text, value));
}

TEST(JsonText, Integers) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const int64_t value = static_cast<int64_t>(random() >> (random() % 64));
    EXPECT_EQ(integer(value), std::to_string(value));
  }
  EXPECT_EQ(integer(INT64_MIN), "-9223372036854775808");
}

TEST(JsonText, MicrosecondsHaveThreeDecimals) {
  EXPECT_EQ(thousandths(0), "0.000");
  EXPECT_EQ(thousandths(7), "0.007");
  EXPECT_EQ(thousandths(1234567), "1234.567");
  EXPECT_EQ(thousandths(-1050), "-1.050");
  EXPECT_EQ(thousandths((int64_t{1} << 60) + 1), "1152921504606846.977");
  EXPECT_EQ(thousandths(INT64_MAX), "9223372036854775.807");
}

TEST(JsonText, PlainIsWhatNeedsNoEscape) {
  for (int c = 0; c < 256; ++c) {
    const bool plain = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
    for (size_t size = 1; size <= 17; ++size) {
      for (size_t at = 0; at < size; ++at) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(c);
        EXPECT_EQ(is_plain(text), plain) << c << " at " << at << " of " << size;
      }
    }
  }
  EXPECT_TRUE(is_plain(""));
}

class SinkFile : public testing::Test {
 protected:
  test::TemporaryDirectory folder_;
  std::string path_ = folder_ / "sink";
  std::string content() {
    std::ifstream file(path_);
    return (std::stringstream() << file.rdbuf()).str();
  }
};

TEST_F(SinkFile, StringsAreQuotedAndEscaped) {
  Sink sink = Sink::create(path_, Sink::Encoding::kPlain).value();
  std::string scratch;
  append_json_string(sink, "plain", scratch);
  append_json_string(sink, "a \"b\" \\ \n \x01 \xff \xc3\xa9", scratch);
  append_real(sink, 0.1);
  ASSERT_TRUE(sink.finish().ok());
  EXPECT_EQ(content(), "\"plain\"\"a \\\"b\\\" \\\\ \\n \\u0001 \xef\xbf\xbd \xc3\xa9\"0.1");
}

TEST_F(SinkFile, LargeTextGoesThroughInPieces) {
  std::string expected;
  Sink sink = Sink::create(path_, Sink::Encoding::kPlain).value();
  for (int i = 0; i < 300; ++i) {
    const std::string text(static_cast<size_t>(i * 131), static_cast<char>('a' + i % 26));
    sink.append(text);
    append_integer(sink, i);
    expected += text + std::to_string(i);
  }
  sink.append(std::string(3 << 20, 'z'));
  expected += std::string(3 << 20, 'z');
  ASSERT_TRUE(sink.finish().ok());
  EXPECT_TRUE(content() == expected);
}

TEST_F(SinkFile, NeverOverwrites) {
  std::ofstream(path_) << "mine";
  const auto sink = Sink::create(path_, Sink::Encoding::kPlain);
  ASSERT_FALSE(sink.ok());
  EXPECT_EQ(sink.error().context, path_);
  EXPECT_EQ(content(), "mine");
}

TEST_F(SinkFile, LeavesNothingBehindUnlessFinished) {
  { Sink sink = Sink::create(path_, Sink::Encoding::kGzip).value(); }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SinkFile, AFullDiskIsAnErrorAndLeavesNothing) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1 << 20, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Sink sink = Sink::create(path_, Sink::Encoding::kPlain).value();
  for (int i = 0; i < 40; ++i) sink.append(std::string(100'000, 'x'));
  const Status status = sink.finish();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().context, path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace sonde::exporting
