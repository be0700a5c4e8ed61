// PrintedTexts: the output of work items, assembled from the pieces that they pass, and written to
// the program's stdout or stderr as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace softgpu {

// One argument of a device printf.
struct PrintArgument {
  bool is_text = false;
  uint64_t value = 0;
  std::string text;
};

// As printf(3). Missing arguments are 0; %n is left out.
std::string format_print(std::string_view format, const std::vector<PrintArgument>& arguments);

class PrintedTexts {
 public:
  uint64_t begin(bool to_stderr);
  void add_text(uint64_t id, std::string_view text, bool last);
  void add_values(uint64_t id, const uint64_t* values, uint32_t count, bool last);
  void forget() { open_.clear(); }

 private:
  struct Text {
    bool to_stderr = false;
    bool has_format = false;
    std::string format;
    std::vector<PrintArgument> arguments;
  };
  void finish(uint64_t id);

  std::map<uint64_t, Text> open_;
  uint64_t next_ = 1;
};

}  // namespace softgpu
