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
--when WHAT,...  a list
--all --limit
--limit  [all]
-a, -b,
    --refused
    not answered here
)",
                                                   known().options);
  const auto shown = [](const Option& option) {
    std::string text = option.names + "|" + option.value + "|" + option.help + "|" +
                       option.fallback + (option.repeated ? "|..." : "");
    for (const std::string& choice : option.choices) text += "|" + choice;
    return text;
  };
  std::vector<std::string> texts;
  for (const Option& option : options) texts.push_back(shown(option));
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "-o,--output|FILE|where to write, and what is said on the next line|beside FILE",
                "--memory|ADDRESS[:BYTES]|what is there|",
                "--by|WHAT|what a row is|kernel|kernel|dispatch", "--env|K=V|variables||...",
                "--when|WHAT,...|a list|", "--all||everything|", "--limit|N|at most N rows|25",
                "--limit|N|at most N rows|all", "-a,-b,--refused||not answered here|"}));
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
