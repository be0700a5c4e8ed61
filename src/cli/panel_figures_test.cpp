// The panels of the page against the command line: the same bytes, for every analysis, of real
// traces, whole and in part. The command runs as a user's would, from its words to what it prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "cli/common.h"
#include "cli/parser.h"
#include "serve/panel.h"

namespace sonde::cli {
namespace {

struct Printed {
  bool ok = false;
  std::string bytes;
};

Printed printed(const analysis::Analysis& analysis, const std::string& path,
                const serve::PanelOptions& options) {
  const Command command = analysis_command(analysis);
  std::vector<std::string> words = {path, "--format", "json"};
  for (const auto& [name, value] : options) words.push_back("--" + name + "=" + value);
  const auto parsed = test::value_of(parse(command, words));
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Result<int> status = command.run(parsed.arguments);
  Printed printed{status.ok() && *status == 0, testing::internal::GetCapturedStdout()};
  testing::internal::GetCapturedStderr();
  return printed;
}

TEST(PanelFigures, AreTheBytesOfTheCommand) {
  const serve::PanelOptions kOptions[] = {
      {},
      {{"from", "10%"}, {"to", "60%"}},
      {{"from", "1000ns"}, {"to", "200000000ns"}, {"limit", "3"}},
      {{"limit", "0"}, {"sort", "name"}},
      {{"rank", "0"}},
  };
  int compared = 0, refused = 0;
  for (const char* name : {"rpd/matmul_result.rpd", "kineto/mi250_minitoy.json.gz",
                           "kineto/simple_add_critical_path.json.gz"}) {
    const std::string path = test::real_file(name);
    if (path.empty()) continue;
    for (const analysis::Analysis& analysis : analysis::all_analyses()) {
      for (const serve::PanelOptions& options : kOptions) {
        SCOPED_TRACE(fmt::format("{} {} {}", analysis.name, name, options.size()));
        const Printed expected = printed(analysis, path, options);
        const auto panel = serve::panel_json({path, ""}, analysis.name, options);
        ASSERT_EQ(panel.ok(), expected.ok) << (panel.ok() ? "" : panel.error().to_line());
        EXPECT_EQ(panel.ok() ? *panel : "", panel.ok() ? expected.bytes : "");
        ++(panel.ok() ? compared : refused);
      }
    }
  }
  if (compared + refused == 0) GTEST_SKIP() << "no real traces";
  EXPECT_GT(compared, 4 * refused) << "--sort name is all that some analyses refuse";
}

}  // namespace
}  // namespace sonde::cli
