// sonde upgrade: rewrites an old .rpd as schema v3.
#include <fmt/format.h>

#include <filesystem>

#include "base/strings.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "store/schema/upgrade.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  const std::string input = arguments.positionals()[0];
  std::filesystem::path path(input);
  if (path.extension() == ".gz") path.replace_extension();
  const std::string fallback = path.replace_extension().string() + ".v3.rpd";
  const std::string output = arguments.value_or("output", fallback);
  SONDE_ASSIGN(const auto report, store::upgrade(input, output));
  int64_t rows = 0;
  for (const auto& table : report.tables) rows += table.rows_after;
  std::string text = fmt::format("{}: {} rewritten as v3 into {}, {} rows\n", input,
                                 store::flavour_name(report.from), output,
                                 format_count(static_cast<uint64_t>(rows)));
  for (const auto& note : report.notes) text += "  " + note + "\n";
  SONDE_TRY(write_stdout(text));
  return 0;
}

constexpr const char* kText = R"(
upgrade - Rewrite an old .rpd file as schema v3

Every command reads every version of the format, so this is for other tools that need the newest
one. All rows are kept, with their ids; the command says what it had to change. The input is not
touched, and an existing output is not overwritten.

Arguments:
FILE

Options:
-o, --output FILE  the file to write [the input's name with .v3.rpd]

Examples:
sonde upgrade old.rpd -o new.rpd  rewrite a trace of rocmProfileData 2024
)";

}  // namespace

Command upgrade_command() { return make_command(kText, run); }

}  // namespace sonde::cli
