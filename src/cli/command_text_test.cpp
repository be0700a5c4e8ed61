#include "cli/command_text.h"

#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

Command known() {
  return read_command(R"(
known - What others name

Arguments:
FILE  a trace

Options:
--limit N  at most N rows [25]
--all  everything
)",
                      {});
}

TEST(CommandText, ReadsEachPart) {
  const Command command = read_command(R"(
trim - Keep a part of a trace

What it does, on a line
and the next.

- a: one
- b: another

Arguments:
FILE...
[WHAT]  which part

Options:
--all

Examples:
sonde trim a.rpd --to 30%  the beginning
sonde trim a.rpd | head
    a few
)",
                                       known());
  EXPECT_EQ(command.name, "trim");
  EXPECT_EQ(command.summary, "Keep a part of a trace");
  EXPECT_EQ(command.description, "What it does, on a line and the next.\n\n- a: one\n- b: another");
  EXPECT_FALSE(command.takes_command_line);
  ASSERT_EQ(command.positionals.size(), 2U);
  EXPECT_EQ(command.positionals[0].name, "FILE");
  EXPECT_EQ(command.positionals[0].help, "a trace");
  EXPECT_TRUE(command.positionals[0].required && command.positionals[0].repeated);
  EXPECT_EQ(command.positionals[1].name, "WHAT");
  EXPECT_FALSE(command.positionals[1].required || command.positionals[1].repeated);
  ASSERT_EQ(command.examples.size(), 2U);
  EXPECT_EQ(command.examples[0].explanation, "the beginning");
  EXPECT_EQ(command.examples[1].command, "sonde trim a.rpd | head");
  EXPECT_EQ(command.examples[1].explanation, "a few");
}

TEST(CommandText, ReadsOptions) {
  const std::vector<Option> options = read_options(R"(
-o, --output FILE  where to write, and what is
    said on the next line [beside FILE]
--memory ADDRESS[:BYTES]  what is there
--by WHAT=kernel|dispatch  what a row is [kernel]
--env K=V...  variables
--all --limit
--limit  [all]
-a, -b,
    --refused
    not answered here
)",
                                                   known().options);
  ASSERT_EQ(options.size(), 8U);
  EXPECT_EQ(options[0].names, "-o,--output");
  EXPECT_EQ(options[0].value, "FILE");
  EXPECT_EQ(options[0].help, "where to write, and what is said on the next line");
  EXPECT_EQ(options[0].fallback, "beside FILE");
  EXPECT_EQ(options[1].value, "ADDRESS[:BYTES]");
  EXPECT_EQ(options[1].help, "what is there");
  EXPECT_EQ(options[1].fallback, "");
  EXPECT_EQ(options[2].value, "WHAT");
  EXPECT_EQ(options[2].choices, (std::vector<std::string>{"kernel", "dispatch"}));
  EXPECT_EQ(options[3].value, "K=V");
  EXPECT_TRUE(options[3].repeated && options[3].choices.empty());
  EXPECT_EQ(options[4].help, "everything");
  EXPECT_EQ(options[4].value, "");
  EXPECT_EQ(options[5].fallback, "25");
  EXPECT_EQ(options[6].help, "at most N rows");
  EXPECT_EQ(options[6].fallback, "all");
  EXPECT_EQ(options[7].names, "-a,-b,--refused");
  EXPECT_EQ(options[7].help, "not answered here");
}

TEST(CommandText, KnowsThatTheRestIsACommandLine) {
  const Command command =
      read_command("run - Run it\n\nAs it is.\n\nArguments:\n[--] COMMAND...\n", {});
  EXPECT_TRUE(command.takes_command_line);
  EXPECT_TRUE(command.positionals.empty());
  EXPECT_EQ(command.description, "As it is.");
}

TEST(CommandTextDeathTest, NamesOnlyWhatIsKnown) {
  EXPECT_DEATH(read_options("--nobody", known().options), "");
}

}  // namespace
}  // namespace sonde::cli
