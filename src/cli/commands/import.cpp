// sonde import: traces of other tools as one .rpd.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/free_name.h"
#include "base/strings.h"
#include "cli/common.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "importers/import.h"

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

std::string summary_line(const importers::Imported& imported) {
  struct stat status {};
  ::stat(imported.path.c_str(), &status);
  const auto& counts = imported.counts;
  uint64_t skipped = 0;
  for (const auto& file : imported.files) skipped += file.tally.skipped_count();
  std::string line = fmt::format(
      "{}: {} operations, {} API calls and markers, {} launch links, {} counter values, {}",
      imported.path, format_count(counts.ops), format_count(counts.apis),
      format_count(counts.links), format_count(counts.counters),
      format_size(static_cast<uint64_t>(status.st_size)));
  if (imported.files.size() > 1) line += fmt::format(", from {} files", imported.files.size());
  line += skipped == 0 ? "; nothing skipped" : "; " + format_count(skipped) + " skipped";
  return line;
}

Result<int> run(const Arguments& arguments) {
  const auto& inputs = arguments.positionals();
  const std::string wanted = arguments.value_or("output", default_output(inputs.front()));
  const std::string output = free_name(wanted);
  if (output != wanted) fmt::print(stderr, "sonde: {} exists; writing {}\n", wanted, output);
  ProgressLine line;
  importers::ImportOptions options;
  options.as = arguments.value_or("as", "");
  options.align_clocks = !arguments.flag("no-align");
  options.progress = [&](uint64_t done, uint64_t total) {
    line.update(fmt::format("importing into {}", output), done, total);
  };
  const auto imported = importers::import_files(inputs, output, options);
  line.clear();
  if (!imported) return imported.error();
  for (const auto& file : imported->files) {
    for (const std::string& warning : file.tally.warnings()) {
      print_error_line(file.path + ": warning: " + warning);
    }
    for (const std::string& remark : file.tally.remarks()) {
      print_error_line(file.path + ": " + remark);
    }
  }
  fmt::print("{}\n", summary_line(*imported));
  return 0;
}

std::string kinds() {
  std::string text;
  for (const importers::Importer* importer : importers::all_importers()) {
    text += importer->name + ": " + importer->summary + "\n\n";
  }
  return text;
}

}  // namespace

const Command& import_command() {
  static const Command kCommand = [] {
    Command command;
    command.name = "import";
    command.group = "Maintain";
    command.summary = "Turn traces of other tools into an .rpd";
    command.description =
        "Every command reads these files directly, so this is for keeping the result, for queries "
        "on a large trace, and for bringing the files of several ranks or processes together: "
        "several FILEs become one .rpd, in which the processes and GPUs of the second file are "
        "numbered from 10,000,000 and 1,000, those of the third from twice that, and so on (as in "
        "RPD's views napi and nop). Their times are brought to one time line if every file says at "
        "what time of day it was recorded; else the import is refused.\n\n"
        "What a file does not say is NULL. What cannot be used is skipped, counted, and shown at "
        "the end and by every command that reads the .rpd. An existing file is never overwritten: "
        "the next free name is taken.\n\n"
        "The kinds of trace (--as):\n\n" +
        kinds();
    command.description.erase(command.description.find_last_not_of('\n') + 1);
    Positional files{"FILE", "traces of other tools, also compressed with gzip; - for the input"};
    files.repeated = true;
    command.positionals = {files};
    command.options = {
        {"-o,--output", "FILE", "the .rpd to write", "the first FILE's name with .rpd"},
        as_option(),
        {"--no-align", "", "take the times of several files as they are, unrelated or not", ""}};
    command.examples = {
        {"sonde import trace.json.gz", "a PyTorch trace as trace.rpd"},
        {"sonde import rank*.json -o job.rpd", "the traces of all ranks of a job as one"}};
    command.run = run;
    return command;
  }();
  return kCommand;
}

}  // namespace sonde::cli
