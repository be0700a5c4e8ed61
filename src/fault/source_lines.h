// The functions and source lines of instructions, from the symbols and the debug information of
// their code object. Used by code.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sonde::fault {

struct SourceLine {
  std::string file, text;  // text: "" if the source file cannot be read
  int64_t line = 0;        // 0: unknown
};

// A function that is not inlined, from the file's symbols.
struct CodeFunction {
  std::string name;  // mangled
  uint64_t begin = 0, end = 0;
};

class SourceLines {
 public:
  // `bytes`, an ELF file, must outlive this object. Without debug information nothing is found.
  explicit SourceLines(const std::vector<uint8_t>& bytes);
  ~SourceLines();
  SourceLines(SourceLines&&) noexcept;

  // For an address in the file.
  SourceLine at(uint64_t address);
  std::optional<CodeFunction> function_at(uint64_t address) const;

 private:
  struct Debug;
  std::string text_of(const std::string& file, int64_t line);

  std::unique_ptr<Debug> debug_;
  std::map<std::string, std::vector<std::string>> files_;  // cache of source files
};

}  // namespace sonde::fault
