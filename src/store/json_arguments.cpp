#include "store/json_arguments.h"

#include <fmt/format.h>

#include <iterator>

#include "base/strings.h"
#include "base/varint.h"

namespace sonde::store {

namespace {

constexpr int kDeepest = 8;  // lists in lists; a tensor list's sizes are three deep

// Reads what backends/torch/packing.h packs.
class Unpacker {
 public:
  Unpacker(std::string_view bytes, const TextOfId* text_of) : bytes_(bytes), text_of_(text_of) {}

  bool append(std::string& out, int depth = 0) {
    uint64_t head = 0;
    if (depth > kDeepest || !take_varint(bytes_, head)) return false;
    const uint64_t value = head >> 1;
    if ((head & 1) == 0) {
      append_element(out, value);
      return true;
    }
    if (value > bytes_.size()) return false;  // an element has a byte at least
    out += '[';
    for (uint64_t i = 0; i < value; ++i) {
      if (i > 0) out += ',';
      if (!append(out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

 private:
  void append_element(std::string& out, uint64_t value) {
    if (text_of_ == nullptr) {
      fmt::format_to(std::back_inserter(out), "{}", value);
    } else {
      out += json_quote((*text_of_)(static_cast<uint32_t>(value)));
    }
  }

  std::string_view bytes_;
  const TextOfId* text_of_;  // nullptr: the elements are numbers
};

// Words that the value takes, 0 if they are not all there or are damaged.
size_t append_value(std::string& out, char kind, std::span<const uint64_t> words,
                    const TextOfId& text_of) {
  if (kind != 'L' && kind != 'N' && kind != 's') {
    append_number(out, kind, words[0]);
    return 1;
  }
  const uint64_t length = words[0];
  if (length > (words.size() - 1) * 8) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(words.data() + 1), length);
  if (kind == 's') {
    out += json_quote(bytes);
  } else if (length != 0 && !Unpacker(bytes, kind == 'N' ? &text_of : nullptr).append(out)) {
    return 0;
  }
  return 1 + (length + 7) / 8;
}

}  // namespace

void append_json_arguments(std::string& out, std::span<const ArgumentFormat> formats,
                           std::span<const uint64_t> words, const TextOfId& text_of) {
  const size_t begin = out.size();
  for (const auto& format : formats) {
    if (words.empty()) break;
    const size_t before = out.size();
    out += out.size() == begin ? '{' : ',';
    out += json_quote(format.name);
    out += ':';
    const size_t value = out.size();
    const size_t used = append_value(out, format.kind, words, text_of);
    if (used == 0 || out.size() == value) out.resize(before);
    if (used == 0) break;
    words = words.subspan(used);
  }
  if (out.size() != begin) out += '}';
}

}  // namespace sonde::store
