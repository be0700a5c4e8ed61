#include "cli/config_file.h"

#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "cli/suggest.h"
#include "monitor/kept_file.h"

namespace sonde::cli {

namespace {

// A value as it would stand on the command line; nullopt for what no setting can be.
std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  const auto* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::string joined;
  for (const auto& item : *list) {
    const auto text = item.is_array() ? std::nullopt : text_of(item);
    if (!text) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *text;
  }
  return joined;
}

Error unknown_key(const std::string& origin, const std::string& name) {
  std::vector<std::string> names;
  for (const Setting& setting : record_settings()) names.push_back(setting.name());
  const std::string near = nearest(name, names);
  return make_error(
      ErrorCode::kBadData, "no such setting: " + valid_utf8(name), origin,
      near.empty() ? "sonde avail --category settings lists them" : "did you mean " + near + "?");
}

Status take(const std::string& path, const toml::key& key, const toml::node& node,
            std::string_view category, Layer& layer) {
  const std::string name(key.str());
  const std::string origin = fmt::format("{}:{}", path, key.source().begin.line);
  const Setting* setting = find_setting(name);
  if (setting == nullptr) return unknown_key(origin, name);
  if (category != setting->category) {
    return make_error(ErrorCode::kBadData, fmt::format("{} is in the wrong table", name), origin,
                      fmt::format("it belongs below [{}]", setting->category));
  }
  const auto text = text_of(node);
  if (!text) {
    return make_error(ErrorCode::kBadData, name + " cannot have this value", origin,
                      "a text, a number, true, false, or a list of texts");
  }
  Status good = check_value(*setting, *text, origin);
  if (!good) {
    Error error = std::move(good).error();
    error.code = ErrorCode::kBadData;  // of a file: the command line may be right
    return error;
  }
  layer.values.push_back({setting, *text, origin});
  return ok_status();
}

// A number or a truth value needs no quotes.
std::string toml_value(const Setting& setting, const std::string& text) {
  if (parse_int(text) || setting.type == SettingType::kFlag) return text;
  return json_quote(text);
}

}  // namespace

Result<Layer> read_config_file(const std::string& path) {
  int failure = 0;
  const auto text = monitor::read_file(path, &failure);
  if (!text) {
    Error error = errno_error("cannot be read", path, failure);
    if (failure == ENOENT) error.hint = "sonde config --write " + path + " makes one";
    return error;
  }
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) {
    const auto& error = parsed.error();
    return make_error(ErrorCode::kBadData, valid_utf8(error.description()),
                      fmt::format("{}:{}", path, error.source().begin.line),
                      "a config file is TOML; sonde config --write shows one");
  }
  Layer layer{"config file", {}};
  for (const auto& [key, node] : parsed.table()) {
    const auto* table = node.as_table();
    if (table == nullptr) {
      SONDE_TRY(take(path, key, node, "", layer));
      continue;
    }
    for (const auto& [name, value] : *table) {
      SONDE_TRY(take(path, name, value, key.str(), layer));
    }
  }
  return layer;
}

std::string config_text(std::string_view preset) {
  std::string text =
      "# Settings of sonde record. Where a setting is commented out, the value is an example or the\n"
      "# default. The command line and the environment come before this file.\n";
  std::vector<std::string> categories;
  for (const Setting& setting : record_settings()) {
    if (std::find(categories.begin(), categories.end(), setting.category) == categories.end()) {
      categories.emplace_back(setting.category);
    }
  }
  for (const std::string& category : categories) {
    text += fmt::format("\n[{}]\n", category);
    for (const Setting& setting : record_settings()) {
      if (setting.category != category) continue;
      const char* chosen = setting.in_preset(preset);
      const std::string& fallback = setting.option.fallback;
      text += fmt::format("\n# {}{}.\n", setting.option.help,
                          fallback.empty() ? "" : fmt::format(" [{}]", fallback));
      text += fmt::format("{}{} = {}\n", chosen == nullptr ? "#" : "", setting.name(),
                          toml_value(setting, chosen != nullptr ? chosen : setting.sample_value()));
    }
  }
  return text;
}

}  // namespace sonde::cli
