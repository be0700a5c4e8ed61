#include "base/redact.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Redact, Variables) {
  EXPECT_EQ(redact_variable("HF_TOKEN=abc"), "HF_TOKEN=***");
  EXPECT_EQ(redact_variable("AWS_SECRET_ACCESS_KEY=abc"), "AWS_SECRET_ACCESS_KEY=***");
  EXPECT_EQ(redact_variable("WANDB_API_KEY=abc"), "WANDB_API_KEY=***");
  EXPECT_EQ(redact_variable("PWD=/home"), "PWD=/home");
  EXPECT_EQ(redact_variable("KEYBOARD=us"), "KEYBOARD=us");
  EXPECT_EQ(redact_variable("MONKEY=1"), "MONKEY=1");
  EXPECT_EQ(redact_variable("PGPASSWORD=abc"), "PGPASSWORD=***");
  EXPECT_EQ(redact_variable("MYAPIKEY=abc"), "MYAPIKEY=***");
  EXPECT_EQ(redact_variable("COMPASS=north"), "COMPASS=north");
  EXPECT_EQ(redact_variable("TOKENIZERS_PARALLELISM=1"), "TOKENIZERS_PARALLELISM=1");
  EXPECT_EQ(redact_variable("http_proxy=http://me:pw@host:80/x"),
            "http_proxy=http://me:***@host:80/x");
  EXPECT_EQ(redact_variable("URL=http://host:80/a@b"), "URL=http://host:80/a@b");
}

TEST(Redact, Arguments) {
  EXPECT_EQ(redact_arguments({"prog", "--token", "abc", "--lr=0.1", "--api-key=k", "--no-auth",
                              "--verbose", "file"}),
            (std::vector<std::string>{"prog", "--token", "***", "--lr=0.1", "--api-key=***",
                                      "--no-auth", "--verbose", "file"}));
  EXPECT_EQ(redact_arguments({"-H", "Authorization: Bearer abc", "-H", "Accept: text/html"}),
            (std::vector<std::string>{"-H", "Authorization: ***", "-H", "Accept: text/html"}));
  EXPECT_EQ(redact_arguments({"--password", "-dashed", "--secret", "--other"}),
            (std::vector<std::string>{"--password", "***", "--secret", "--other"}));
  EXPECT_EQ(redact_arguments({"curl", "https://u:p@h/"}),
            (std::vector<std::string>{"curl", "https://u:***@h/"}));
}

}  // namespace
}  // namespace sonde
