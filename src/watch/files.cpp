#include "watch/files.h"

#include "base/strings.h"

namespace sonde::watch {

std::optional<std::string> Files::bytes(const std::string& path) {
  auto found = files_.find(path);
  if (found == files_.end()) found = files_.emplace(path, monitor::KeptFile(path)).first;
  const auto text = found->second.read();
  error_ = found->second.error();
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::optional<std::string> Files::text(const std::string& path) {
  const auto whole = bytes(path);
  if (!whole) return std::nullopt;
  return std::string(trim(*whole));
}

std::optional<int64_t> Files::number(const std::string& path) {
  const auto words = text(path);
  if (!words) return std::nullopt;
  return parse_int(*words);
}

std::optional<double> Files::scaled(const std::string& path, double scale) {
  const auto value = number(path);
  if (!value) return std::nullopt;
  return scale * static_cast<double>(*value);
}

void Files::forget(const std::string& prefix) {
  const auto begin = files_.lower_bound(prefix);
  auto end = begin;
  while (end != files_.end() && end->first.rfind(prefix, 0) == 0) ++end;
  files_.erase(begin, end);
}

}  // namespace sonde::watch
