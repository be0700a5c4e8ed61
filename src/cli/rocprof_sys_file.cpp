#include "cli/rocprof_sys_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <pugixml.hpp>

#include "base/strings.h"

namespace sonde::cli {

namespace {

namespace dom = simdjson::dom;
using Entries = std::vector<RocprofSysEntry>;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t begin = std::min(text.find_first_not_of("\t =,;\r\n"), text.size());
    const size_t end = std::min(text.find_first_of("\t =,;\r\n", begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return words;
}

size_t row_at(std::string_view text, size_t at) {
  const auto begin = text.begin();
  return 1 + static_cast<size_t>(std::count(
                 begin, begin + static_cast<ptrdiff_t>(std::min(at, text.size())), '\n'));
}

Error not_readable(const std::string& path, const std::string& why) {
  return make_error(ErrorCode::kBadData, why, path,
                    "rocprof-sys-avail --generate-config writes one");
}

// "NAME = value, value"; what follows # is a comment.
Entries lines_of(const std::string& text) {
  Entries entries;
  size_t row = 0;
  for (const auto line : split(text, '\n')) {
    ++row;
    auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    RocprofSysEntry entry{std::move(words[0]), {}, row};
    entry.words.assign(words.begin() + 1, words.end());
    entries.push_back(std::move(entry));
  }
  return entries;
}

// A text, a number, true or false, or a list of these.
void add_words(const dom::element& value, std::vector<std::string>& words) {
  std::string_view text;
  dom::array list;
  if (value.get(text) == simdjson::SUCCESS) {
    for (auto& word : words_of(text)) words.push_back(std::move(word));
  } else if (value.get(list) == simdjson::SUCCESS) {
    for (const dom::element item : list) add_words(item, words);
  } else if (!value.is_object() && !value.is_null()) {
    words.push_back(simdjson::minify(value));
  }
}

// {"rocprofiler-systems": {"settings": {"ROCPROFSYS_X": {"name": ..., "value": ...}}}}; the outer
// name is another one in older versions.
Result<Entries> entries_of_json(const std::string& text, const std::string& path) {
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(text).get(root)) {
    return not_readable(path, std::string("not valid JSON: ") + simdjson::error_message(error));
  }
  dom::object top, settings;
  if (root.get(top) != simdjson::SUCCESS) return not_readable(path, "has no settings");
  bool found = top["settings"].get(settings) == simdjson::SUCCESS;
  for (const auto field : top) {
    found = found || field.value["settings"].get(settings) == simdjson::SUCCESS;
  }
  if (!found) return not_readable(path, "has no settings");
  Entries entries;
  for (const auto field : settings) {
    RocprofSysEntry entry{std::string(field.key), {}, 0};
    dom::element value = field.value;
    if (value.is_object() && value["value"].get(value) != simdjson::SUCCESS) continue;
    entry.row = row_at(text, text.find('"' + entry.name + '"'));
    add_words(value, entry.words);
    entries.push_back(std::move(entry));
  }
  return entries;
}

// All text within an element; elements within a value are those of a list.
void add_words(const pugi::xml_node& element, std::vector<std::string>& words) {
  for (const pugi::xml_node& child : element.children()) {
    for (auto& word : words_of(child.value())) words.push_back(std::move(word));
    add_words(child, words);
  }
}

// <settings><ROCPROFSYS_X><name>...</name><value>...</value></ROCPROFSYS_X></settings>, somewhere.
Result<Entries> entries_of_xml(const std::string& text, const std::string& path) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    return not_readable(
        fmt::format("{}:{}", path, row_at(text, static_cast<size_t>(parsed.offset))),
        std::string("not valid XML: ") + parsed.description());
  }
  const pugi::xml_node settings = document.find_node(
      [](const pugi::xml_node& node) { return std::string_view(node.name()) == "settings"; });
  if (!settings) return not_readable(path, "has no settings");
  Entries entries;
  for (const pugi::xml_node& setting : settings.children()) {
    if (setting.type() != pugi::node_element) continue;
    entries.push_back(
        {setting.name(), {}, row_at(text, static_cast<size_t>(setting.offset_debug()))});
    add_words(setting.child("value"), entries.back().words);
  }
  return entries;
}

}  // namespace

Result<Entries> rocprof_sys_entries(const std::string& text, const std::string& path) {
  const std::string_view begin = trim(text).substr(0, 1);
  if (begin == "{") return entries_of_json(text, path);
  if (begin == "<") return entries_of_xml(text, path);
  return lines_of(text);
}

}  // namespace sonde::cli
