// sonde import: traces of other tools as one .rpd.
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
        "what time of day it was recorded; else the import is refused. sonde merge does the same "
        "for recordings.\n\n"
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
        align_option()};
    command.examples = {
        {"sonde import trace.json.gz", "a PyTorch trace as trace.rpd"},
        {"sonde import rank*.json -o job.rpd", "the traces of all ranks of a job as one"}};
    command.run = run;
    return command;
  }();
  return kCommand;
}

}  // namespace sonde::cli
