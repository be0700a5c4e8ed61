// sonde import: traces of other tools as one .rpd.
#include <fmt/format.h>

#include <filesystem>

#include "cli/common.h"
#include "cli/import_files.h"
#include "importers/importer.h"

namespace sonde::cli {

namespace {

// "run/trace.json.gz" -> "run/trace.rpd"
std::string default_output(const std::string& input) {
  if (input == "-") return "trace.rpd";
  std::filesystem::path path(input);
  for (const char* packed : {".gz", ".zst"}) {
    if (path.extension() == packed) path.replace_extension();
  }
  return path.replace_extension(".rpd").string();
}

Result<int> run(const Arguments& arguments) {
  const std::string& first = arguments.positionals().front();
  return import_files(arguments, arguments.value_or("output", default_output(first)));
}

std::string kinds() {
  std::string text;
  for (const importers::Importer& importer : importers::all_importers()) {
    text += importer.name + ": " + importer.summary + "\n\n";
  }
  return text;
}

constexpr const char* kText = R"(
import - Convert traces of other tools to .rpd

Every command reads these files directly, so use this to keep the result, to query a large trace, or
to merge the files of several ranks or processes: several FILEs become one .rpd, in which the
processes and GPUs of the second file are numbered from 10,000,000 and 1,000, those of the third
from twice that, and so on (as in RPD's views napi and nop). Their times are put on one timeline if
every file says at what time of day it was recorded; otherwise the import is refused. sonde merge
does the same for recordings.

What a file does not say is NULL. What cannot be used is skipped, counted, and shown at the end and
by every command that reads the .rpd. An existing file is never overwritten: the next free name is
taken.

The kinds of trace (--as):

{}
Arguments:
FILE...  traces of other tools, also compressed with gzip; - for the input

Options:
-o, --output FILE  the .rpd to write [the first FILE's name with .rpd]
--as --align

Examples:
sonde import trace.json.gz  a PyTorch trace as trace.rpd
sonde import rank*.json -o job.rpd  the traces of all ranks of a job as one
)";

}  // namespace

Command import_command() { return make_command(fmt::format(kText, kinds()), run); }

}  // namespace sonde::cli
