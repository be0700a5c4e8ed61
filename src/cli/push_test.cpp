#include "cli/push.h"

#include <gtest/gtest.h>

#include <vector>

namespace sonde::cli {
namespace {

TEST(Push, SeriesGetTheirTimeAndCommentsNone) {
  EXPECT_EQ(with_time("# HELP a b\na{c=\"d e\"} 1\nb 2.5\n", 17),
            "# HELP a b\na{c=\"d e\"} 1 17\nb 2.5 17\n");
}

TEST(Push, AServerWithoutAPathGetsTheUsualOne) {
  EXPECT_EQ(import_url("http://h:8428", "n1").value(),
            "http://h:8428/api/v1/import/prometheus?extra_label=instance=n1");
  EXPECT_EQ(import_url("https://h/", "n").value(),
            "https://h/api/v1/import/prometheus?extra_label=instance=n");
  EXPECT_EQ(import_url("http://h/other", "n").value(), "http://h/other");
  for (const char* wrong : {"", "h:8428", "ftp://h", "http://", "http:///x"}) {
    EXPECT_FALSE(import_url(wrong, "n").ok()) << wrong;
  }
}

TEST(Push, WhatCannotBeSentWaitsInItsOrder) {
  bool up = false;
  std::vector<std::string> got;
  PushQueue queue(
      [&](const std::string& text) {
        if (!up) return Status(make_error(ErrorCode::kIo, "cannot be reached", "x"));
        got.push_back(text);
        return ok_status();
      },
      3);
  for (const char* text : {"1", "2", "3", "4", "5"}) queue.push(text);
  EXPECT_EQ(queue.waiting(), 3u);
  EXPECT_EQ(queue.lost(), 2u);
  up = true;
  queue.push("6");
  EXPECT_EQ(got, (std::vector<std::string>{"4", "5", "6"}));
  EXPECT_EQ(queue.waiting(), 0u);
}

}  // namespace
}  // namespace sonde::cli
