#include "cli/rocprof_sys_file.h"

#include <simdjson.h>

#include <algorithm>

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
  return make_error(ErrorCode::kInvalidArgument, why, path,
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

std::string unescaped(std::string_view text) {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};
  std::string out;
  while (!text.empty()) {
    const auto entity = std::find_if(std::begin(kEntities), std::end(kEntities), [&](auto& each) {
      return text.substr(0, each.first.size()) == each.first;
    });
    const bool known = entity != std::end(kEntities);
    out += known ? entity->second : text[0];
    text.remove_prefix(known ? entity->first.size() : 1);
  }
  return out;
}

// <settings><ROCPROFSYS_X><name>...</name><value>...</value></ROCPROFSYS_X></settings>, somewhere.
// Elements within a value are those of a list.
Result<Entries> entries_of_xml(const std::string& text, const std::string& path) {
  Entries entries;
  std::vector<std::string> open;
  bool found = false;
  for (size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    const bool comment = text.compare(at, 4, "<!--") == 0;
    const size_t close = comment ? text.find("-->", at) : text.find('>', at);
    if (close == text.npos) return not_readable(path, "not valid XML: a tag does not end");
    std::string_view tag = std::string_view(text).substr(at + 1, close - at - 1);
    at = close;
    if (comment || tag.empty() || tag[0] == '?' || tag[0] == '!') continue;
    if (tag[0] == '/') {
      if (open.empty() || trim(tag.substr(1)) != open.back()) {
        return not_readable(path, "not valid XML: </" + valid_utf8(trim(tag.substr(1))) +
                                      "> closes what is not open");
      }
      open.pop_back();
      continue;
    }
    const size_t depth = open.size();
    const std::string name(tag.substr(0, tag.find_first_of(" \t\r\n/")));
    const auto settings = std::find(open.begin(), open.end(), "settings");
    const auto above = static_cast<size_t>(open.end() - settings);  // 0: not within them
    found = found || name == "settings";
    if (above == 1) entries.push_back({name, {}, row_at(text, close)});
    if (tag.back() != '/') open.push_back(name);
    const bool in_value = above >= 2 && (above == 2 ? name : open[depth - above + 2]) == "value";
    if (!in_value || tag.back() == '/') continue;
    const size_t end = std::min(text.find('<', close), text.size());
    for (auto& word : words_of(unescaped(text.substr(close + 1, end - close - 1)))) {
      entries.back().words.push_back(std::move(word));
    }
  }
  if (!open.empty())
    return not_readable(path, "not valid XML: <" + open.back() + "> is not closed");
  if (!found) return not_readable(path, "has no settings");
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
