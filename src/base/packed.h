// Serialised values, for readers that were built together with the writer: between processes of one
// program, and in files that record the version that wrote them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sonde {

template <typename T>
void put_pod(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline void put_text(std::string& out, std::string_view text) {
  put_pod(out, static_cast<uint64_t>(text.size()));
  out.append(text);
}

template <typename T>
void put_pods(std::string& out, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  put_text(out, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

// Reads them back; reading past the end gives zeros and makes is_whole() false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}
  template <typename T>
  T pod() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::string_view bytes = take(sizeof value);
    if (is_whole()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(pod<uint64_t>()); }
  template <typename T>
  std::vector<T> pods() {
    const std::string_view bytes = text();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  bool is_whole() const { return whole_; }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view take(uint64_t size) {
    whole_ = whole_ && size <= left_.size();
    if (!whole_) return {};
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view left_;
  bool whole_ = true;
};

}  // namespace sonde
