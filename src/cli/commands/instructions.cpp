// sonde instructions: which instructions of kernels were sampled.
#include "metrics/kernel_tables.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/common.h"
#include "trace/name_filter.h"

namespace sonde::cli {
namespace {

constexpr const char* kDefinition =
    "instructions: where the waves of kernels are, from samples of their program counters. A sample "
    "is the instruction that a wave runs next. Share is by the samples of all kernels, in the "
    "disassembly by those of the kernel. Lanes on is how many of 64 lanes were on, on average. The "
    "disassembly has all instructions of a kernel, in the order of their addresses, also those "
    "without samples, and of functions that it calls. Source is the innermost line that the "
    "instruction came from, where the code object has debug information (-g).\n\n"
    "On the software GPU a wave is sampled after every so many of its own instructions, so samples "
    "count instructions that ran and not time: one that waits for memory has no more of them than "
    "another.\n";

Result<int> run(const Arguments& arguments) {
  const std::string path = arguments.positionals()[0];
  trace::NameFilter names;
  if (const auto pattern = arguments.value("kernel")) {
    SONDE_ASSIGN(names, trace::NameFilter::compile(*pattern));
  }
  SONDE_ASSIGN(const auto most, whole_number(arguments, "code"));
  SONDE_ASSIGN(std::vector<trace::CodeLine> lines, trace::load_code_lines(path));
  std::erase_if(lines, [&](const trace::CodeLine& line) { return !names.wants(line.kernel); });
  report::Report report;
  report.name = "instructions";
  report.subject = path;
  report.definition = kDefinition;
  report.sections = metrics::instruction_sections(
      lines, static_cast<size_t>(std::max<int64_t>(most.value_or(3), 0)));
  return print_report(arguments, std::move(report), 0);
}

constexpr const char* kText = R"(
instructions - Show which instructions of kernels were sampled, with their source lines

Shows samples of program counters that sonde profile --pc-sample took: a table of kernels, lines of
source where they are known, and the disassembly of the kernels with most samples.

Arguments:
FILE

Options:
--kernel REGEX  only kernels in whose name this extended regular expression is found [all]
--code N  show the disassembly of N kernels [3]
--format
--limit  [all]
--sort --full-names --exact --table --explain

Examples:
sonde instructions trace.rpd  the three kernels with most samples
sonde instructions trace.rpd --kernel gemm --code 1  one kernel
)";

}  // namespace

Command instructions_command() { return make_command(kText, run, kDefinition); }

}  // namespace sonde::cli
