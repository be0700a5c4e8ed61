#include "compute/output.h"

#include <bit>
#include <cstdio>

namespace softgpu {

namespace {

constexpr std::string_view kFlags = "-+ #0";

template <class T>
std::string print_one(const std::string& spec, T value) {
  int length = std::snprintf(nullptr, 0, spec.c_str(), value);
  if (length < 0) return "";
  std::string text(static_cast<size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), spec.c_str(), value);
  text.pop_back();
  return text;
}

// An integer of the width given by the length modifier, printed as 64 bits.
std::string print_integer(const std::string& spec, std::string_view length, char kind,
                          uint64_t value) {
  bool is_signed = kind == 'd' || kind == 'i';
  if (length == "hh")
    value = is_signed ? static_cast<uint64_t>(static_cast<int8_t>(value)) : value & 0xff;
  else if (length == "h")
    value = is_signed ? static_cast<uint64_t>(static_cast<int16_t>(value)) : value & 0xffff;
  else if (length.empty())
    value = is_signed ? static_cast<uint64_t>(static_cast<int32_t>(value)) : value & 0xffffffff;
  return print_one(spec + "ll" + kind, static_cast<long long>(value));
}

class Formatter {
 public:
  Formatter(std::string_view format, const std::vector<PrintArgument>& arguments)
      : format_(format), arguments_(arguments) {}

  std::string run() {
    while (at_ < format_.size()) {
      char c = format_[at_++];
      if (c != '%')
        out_ += c;
      else if (at_ < format_.size() && format_[at_] == '%')
        out_ += '%', at_++;
      else
        conversion();
    }
    return std::move(out_);
  }

 private:
  PrintArgument next() { return used_ < arguments_.size() ? arguments_[used_++] : PrintArgument(); }
  bool is_one_of(std::string_view set) const {
    return at_ < format_.size() && set.find(format_[at_]) != set.npos;
  }

  // Digits, or '*' and then the argument.
  std::string number() {
    std::string digits;
    if (is_one_of("*")) {
      at_++;
      return std::to_string(static_cast<int32_t>(next().value));
    }
    while (is_one_of("0123456789")) digits += format_[at_++];
    return digits;
  }

  void conversion() {
    std::string spec = "%";
    while (is_one_of(kFlags)) spec += format_[at_++];
    spec += number();
    if (is_one_of(".")) {
      at_++;
      std::string precision = number();
      if (precision.empty() || precision[0] != '-') spec += "." + precision;
    }
    const size_t start = at_;
    while (is_one_of("hlLqjzt")) at_++;
    const std::string_view length = format_.substr(start, at_ - start);
    if (at_ >= format_.size()) return;
    const char kind = format_[at_++];
    const auto is = [kind](std::string_view kinds) { return kinds.find(kind) != kinds.npos; };
    if (is("diuxXo")) {
      out_ += print_integer(spec, length, kind, next().value);
    } else if (is("eEfFgGaA")) {
      out_ += print_one(spec + kind, std::bit_cast<double>(next().value));
    } else if (is("c")) {
      out_ += print_one(spec + kind, static_cast<int>(next().value));
    } else if (is("p")) {
      out_ += print_one(spec + kind, reinterpret_cast<void*>(next().value));
    } else if (is("s")) {
      const PrintArgument argument = next();
      out_ += print_one(spec + kind, argument.is_text ? argument.text.c_str() : "(null)");
    }  // otherwise %n, and unknown conversions
  }

  std::string_view format_;
  const std::vector<PrintArgument>& arguments_;
  size_t at_ = 0, used_ = 0;
  std::string out_;
};

}  // namespace

std::string format_print(std::string_view format, const std::vector<PrintArgument>& arguments) {
  return Formatter(format, arguments).run();
}

uint64_t PrintedTexts::begin(bool to_stderr) {
  open_[next_].to_stderr = to_stderr;
  return next_++;
}

void PrintedTexts::add_text(uint64_t id, std::string_view text, bool last) {
  Text& own = open_[id];
  text = text.substr(0, text.find('\0'));
  if (!own.has_format) {
    own.format = text;
    own.has_format = true;
  } else {
    own.arguments.push_back({true, 0, std::string(text)});
  }
  if (last) finish(id);
}

void PrintedTexts::add_values(uint64_t id, const uint64_t* values, uint32_t count, bool last) {
  Text& own = open_[id];
  for (uint32_t i = 0; i < count && i < 7; i++) own.arguments.push_back({false, values[i], {}});
  if (last) finish(id);
}

void PrintedTexts::finish(uint64_t id) {
  const Text& own = open_[id];
  std::string text = format_print(own.format, own.arguments);
  std::fwrite(text.data(), 1, text.size(), own.to_stderr ? stderr : stdout);
  open_.erase(id);
}

}  // namespace softgpu
