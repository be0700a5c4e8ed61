// Which exporter a command line means, and what the file is called. Used by `sonde export`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/exporter.h"

namespace sonde::exporting {

struct Output {
  const Exporter* exporter = nullptr;
  std::string path;        // did not exist when this was made
  std::string wanted;      // what `path` would be if that were free
  bool is_stream = false;  // standard output ("-"), a pipe or a device, which is there already
};

// `format` is an exporter's name and `output` a file name; both may be missing. Without a name the
// file goes beside `input`, under its name with
// the exporter's extension. A name that is taken gets a number: trace-2.pftrace.
Result<Output> choose_output(const std::string& input, const std::optional<std::string>& format,
                             const std::optional<std::string>& output);

// The exporter that a name ends for (trace.json), or nullptr.
const Exporter* exporter_of_name(std::string_view path);

// The longest of the exporter's extensions that `path` ends with, or "".
std::string_view extension_of(std::string_view path, const Exporter& exporter);

// What it writes is a database, which no pipe takes.
bool is_database(const Exporter& exporter);

std::vector<std::string> exporter_names();  // {"chrome", "perfetto"}

}  // namespace sonde::exporting
