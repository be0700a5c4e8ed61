#include "export/output/output_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "base/free_name.h"
#include "base/new_file.h"

namespace sonde::exporting {

namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

const Exporter* find_by_name(std::string_view name) {
  for (const Exporter& exporter : all_exporters()) {
    if (exporter.name == name) return &exporter;
  }
  return nullptr;
}

}  // namespace

std::string_view extension_of(std::string_view path, const Exporter& exporter) {
  std::string_view longest;
  for (const std::string& extension : exporter.extensions) {
    if (ends_with(path, extension) && extension.size() > longest.size()) longest = extension;
  }
  return longest;
}

// .speedscope.json is not .json.
const Exporter* exporter_of_name(std::string_view path) {
  const Exporter* found = nullptr;
  size_t longest = 0;
  for (const Exporter& exporter : all_exporters()) {
    const size_t length = extension_of(path, exporter).size();
    if (length <= longest) continue;
    longest = length;
    found = &exporter;
  }
  return found;
}

namespace {

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> known_extensions() {
  std::vector<std::string> known;
  for (const Exporter& exporter : all_exporters()) {
    known.insert(known.end(), exporter.extensions.begin(), exporter.extensions.end());
  }
  return known;
}

std::string without_rpd_extension(std::string path) {
  for (const std::string_view extension : {".gz", ".rpd"}) {
    if (ends_with(path, extension)) path.resize(path.size() - extension.size());
  }
  return path;
}

Result<const Exporter*> choose_exporter(const std::optional<std::string>& format,
                                        const std::optional<std::string>& output) {
  if (format) {
    if (const Exporter* exporter = find_by_name(*format)) return exporter;
    return make_error(ErrorCode::kInvalidArgument, "unknown format '" + *format + "'", "--format",
                      "one of: " + join(exporter_names()));
  }
  if (!output) return find_by_name("perfetto");
  if (const Exporter* exporter = exporter_of_name(*output)) return exporter;
  if (is_stream(*output)) {
    return make_error(ErrorCode::kInvalidArgument, "this does not say which format", *output,
                      "give --format, one of: " + join(exporter_names()));
  }
  return make_error(ErrorCode::kInvalidArgument, "the name does not say which format", *output,
                    "end it in " + join(known_extensions()) + ", or give --format");
}

}  // namespace

bool is_database(const Exporter& exporter) {
  const auto& ends = exporter.extensions;
  return std::find(ends.begin(), ends.end(), ".db") != ends.end();
}

std::vector<std::string> exporter_names() {
  std::vector<std::string> names;
  for (const Exporter& exporter : all_exporters()) names.push_back(exporter.name);
  return names;
}

Result<Output> choose_output(const std::string& input, const std::optional<std::string>& format,
                             const std::optional<std::string>& output) {
  Output chosen;
  SONDE_ASSIGN(chosen.exporter, choose_exporter(format, output));
  chosen.wanted =
      output ? *output : without_rpd_extension(input) + chosen.exporter->extensions.front();
  chosen.is_stream = output && is_stream(*output);
  if (chosen.is_stream) {
    if (chosen.exporter->is_folder || is_database(*chosen.exporter)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "the format " + chosen.exporter->name + " cannot be written into a stream",
                        *output, "give the name of a new file or folder");
    }
    chosen.path = chosen.wanted;
    return chosen;
  }
  chosen.path = free_name(chosen.wanted, extension_of(chosen.wanted, *chosen.exporter));
  return chosen;
}

}  // namespace sonde::exporting
