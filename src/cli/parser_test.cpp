#include "cli/parser.h"

#include <gtest/gtest.h>

#include "cli/suggest.h"

namespace sonde::cli {
namespace {

Command sample() {
  Command command;
  command.name = "sample";
  command.positionals = {{"FILE", "a file"}};
  command.options = {{"-o,--output", "FILE", "where", "x"},
                     {"--format", "F", "how", "text", {"text", "csv"}},
                     {"-v,--verbose", "", "more", ""},
                     {"--explain", "", "explain", "", {}, true},
                     {"--env", "K=V", "variables", "", {}, false, true}};
  return command;
}

std::string failure(const Command& command, const std::vector<std::string>& words) {
  const auto parsed = parse(command, words);
  return parsed.ok() ? "" : parsed.error().to_line();
}

TEST(Parser, TakesOptionsAnywhere) {
  const auto parsed =
      parse(sample(), std::vector<std::string>{"-o", "a b", "in.rpd", "--format=csv", "-v", "--env",
                                               "A=1", "--env", "B=-2"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().to_line();
  const Arguments& arguments = parsed->arguments;
  EXPECT_EQ(arguments.value("output"), "a b");
  EXPECT_EQ(arguments.value("format"), "csv");
  EXPECT_TRUE(arguments.flag("verbose"));
  EXPECT_FALSE(arguments.flag("explain"));
  EXPECT_EQ(arguments.values("env"), (std::vector<std::string>{"A=1", "B=-2"}));
  EXPECT_EQ(arguments.positionals(), std::vector<std::string>{"in.rpd"});
}

TEST(Parser, TheLastOfARepeatedOptionCounts) {
  const auto parsed = parse(sample(), std::vector<std::string>{"-o", "a", "x", "--output", "b"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->arguments.value("output"), "b");
}

TEST(Parser, AFlagIsTakenBackAndTheLastWordCounts) {
  Command command = sample();
  for (Option& option : command.options) {
    if (key_of(option) == "verbose") option.off = "--no-verbose";
  }
  const auto said = [&](std::vector<std::string> words) {
    words.push_back("x");
    const auto parsed = parse(command, words);
    EXPECT_TRUE(parsed.ok());
    if (!parsed) return std::string("wrong usage");
    const Arguments& arguments = parsed->arguments;
    return std::string(arguments.flag("verbose") ? "on" : "") +
           (arguments.flag("no-verbose") ? "off" : "");
  };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({"-v"}), "on");
  EXPECT_EQ(said({"--no-verbose"}), "off");
  EXPECT_EQ(said({"-v", "--no-verbose"}), "off");
  EXPECT_EQ(said({"--no-verbose", "-v"}), "on");
  EXPECT_EQ(said({"--verbose=false"}), "off");
  EXPECT_EQ(failure(command, {"x", "--no-verbos"}),
            "unknown option '--no-verbos' (did you mean --no-verbose?)");
  EXPECT_NE(failure(command, {"x", "--no-explain"}), "");
}

TEST(Parser, ValuesThatBeginWithAMinus) {
  const auto parsed = parse(sample(), std::vector<std::string>{"x", "--output=-1s"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().to_line();
  EXPECT_EQ(parsed->arguments.value("output"), "-1s");
}

TEST(Parser, WrongUsageSaysWhatAndWhatInstead) {
  EXPECT_EQ(failure(sample(), {"x", "--outptu", "y"}),
            "unknown option '--outptu' (did you mean --output?)");
  EXPECT_EQ(failure(sample(), {"x", "--format", "xml"}), "--format: 'xml' is not one of text, csv");
  EXPECT_EQ(failure(sample(), {}), "no FILE given");
  EXPECT_EQ(failure(sample(), {"x", "y"}), "unexpected argument 'y'");
  EXPECT_EQ(failure(sample(), {"x", "-o"}), "--output: no FILE given");
  EXPECT_EQ(failure(sample(), {"x", "--format"}), "--format: no F given");
  EXPECT_NE(failure(sample(), {"x", "-q"}), "");
}

TEST(Parser, SomeOptionsNeedNoFile) {
  EXPECT_EQ(failure(sample(), {"--explain"}), "");
  const auto help = parse(sample(), std::vector<std::string>{"--help"});
  ASSERT_TRUE(help.ok());
  EXPECT_TRUE(help->wants_help);
}

Command recorder() {
  Command command = sample();
  command.positionals.clear();
  command.takes_command_line = true;
  return command;
}

std::vector<std::string> command_line(const std::vector<std::string>& words) {
  const auto parsed = parse(recorder(), words);
  EXPECT_TRUE(parsed.ok());
  return parsed.ok() ? parsed->arguments.command_line() : std::vector<std::string>();
}

TEST(Parser, TheCommandLineIsUntouched) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(command_line({"-o", "f", "ls", "-l", "--", "-o", "x"}),
            (Words{"ls", "-l", "--", "-o", "x"}));
  EXPECT_EQ(command_line({"-v", "--", "-weird", "--help"}), (Words{"-weird", "--help"}));
  EXPECT_EQ(command_line({"--", "--", "x"}), (Words{"--", "x"}));
  EXPECT_EQ(command_line({"--output=f", "ls", "--format", "nonsense"}),
            (Words{"ls", "--format", "nonsense"}));
  EXPECT_EQ(command_line({"-of", "-", "x"}), (Words{"-", "x"}));
  EXPECT_EQ(command_line({"-o", "--", "ls"}), (Words{"ls"}));  // "--" is the value of -o
  EXPECT_EQ(command_line({""}), (Words{""}));
  EXPECT_EQ(command_line({"-v"}), Words{});
  EXPECT_EQ(failure(recorder(), {"--outptu", "f", "ls"}),
            "unknown option '--outptu' (did you mean --output?)");
}

TEST(Suggest, NearWordsOnly) {
  const std::vector<std::string> words = {"record", "top", "ktop", "busy"};
  EXPECT_EQ(nearest("recrod", words), "record");
  EXPECT_EQ(nearest("rec", words), "record");
  EXPECT_EQ(nearest("tpo", words), "top");
  EXPECT_EQ(nearest("explain", words), "");
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(nearest(std::string(100000, 'x'), words), "");
}

}  // namespace
}  // namespace sonde::cli
