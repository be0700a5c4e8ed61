#include "cli/smi_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace sonde::cli {

namespace {

std::string without_commas(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  return text;
}

}  // namespace

std::string python_float(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}

SmiOutput::SmiOutput(Form form, std::vector<int64_t> devices, size_t width)
    : form_(form), width_(width), devices_(std::move(devices)), values_(devices_.size()) {}

void SmiOutput::fit(size_t width) { width_ = width + width % 2; }

std::string SmiOutput::spacer(std::string title) const {
  if (title.empty()) return std::string(width_, '=') + "\n";
  if (title.size() % 2 != 0) title += '=';
  const std::string side((width_ - std::min(title.size(), width_)) / 2, '=');
  return side + title + side + "\n";
}

void SmiOutput::section(const std::string& title) {
  if (open_) text_ += spacer();
  open_ = true;
  text_ += spacer(" " + title + " ");
}

void SmiOutput::line(const std::string& text) { text_ += text + "\n"; }

void SmiOutput::rule() { text_ += spacer(); }

// As in a dictionary of Python: a value that is put again keeps its place.
void SmiOutput::put(Values& values, const std::string& name, const std::string& value) {
  for (auto& each : values) {
    if (each.first == name) {
      each.second = value;
      return;
    }
  }
  values.emplace_back(name, value);
}

void SmiOutput::log(int64_t device, const std::string& name, const std::string& value) {
  line(fmt::format("GPU[{}]\t\t: {}: {}", device, name, value));
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i] == device) put(values_[i], name, value);
  }
}

void SmiOutput::log(int64_t device, const std::string& text) {
  line(fmt::format("GPU[{}]\t\t: {}", device, text));
}

void SmiOutput::system(const std::string& name, const std::string& value) {
  put(system_, name, value);
}

bool SmiOutput::has_data() const {
  return !system_.empty() || std::any_of(values_.begin(), values_.end(),
                                         [](const Values& values) { return !values.empty(); });
}

std::string SmiOutput::json() const {
  std::string out;
  const auto add = [&](const std::string& name, const Values& values) {
    if (values.empty()) return;
    out += (out.empty() ? "" : ", ") + json_quote(name) + ": {";
    for (size_t i = 0; i < values.size(); ++i) {
      out +=
          (i == 0 ? "" : ", ") + json_quote(values[i].first) + ": " + json_quote(values[i].second);
    }
    out += "}";
  };
  for (size_t i = 0; i < devices_.size(); ++i) add(fmt::format("card{}", devices_[i]), values_[i]);
  add("system", system_);
  return "{" + out + "}\n";
}

std::string SmiOutput::csv() const {
  std::vector<std::string> keys;
  for (const Values& values : values_) {
    for (const auto& [name, value] : values) {
      if (std::find(keys.begin(), keys.end(), name) == keys.end()) keys.push_back(name);
    }
  }
  if (keys.empty()) return "\n";
  std::string out = "device";
  for (const std::string& key : keys) out += "," + key;
  out += "\n";
  for (size_t i = 0; i < devices_.size(); ++i) {
    out += fmt::format("card{}", devices_[i]);
    for (const std::string& key : keys) {
      const auto found = std::find_if(values_[i].begin(), values_[i].end(),
                                      [&](const auto& each) { return each.first == key; });
      out += "," + (found == values_[i].end() ? "N/A" : without_commas(found->second));
    }
    out += "\n";
  }
  return out + "\n";
}

std::string SmiOutput::finish() {
  if (form_ == Form::kJson) return json();
  if (form_ == Form::kCsv) return csv();
  if (open_) text_ += spacer();
  return "\n\n" + spacer(" ROCm System Management Interface ") + text_ +
         spacer(" End of ROCm SMI Log ");
}

}  // namespace sonde::cli
