// The functions and the lines of source that instructions were made from, by the symbols and the
// debug information of their code object. Used by code.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sonde::fault {

struct SourceLine {
  std::string file, text;  // text: "" where the file is not to be read
  int64_t line = 0;        // 0: not known
};

// A function that is not inlined, by the file's symbols.
struct CodeFunction {
  std::string name;  // mangled
  uint64_t begin = 0, end = 0;
};

class SourceLines {
 public:
  // The bytes, an ELF file, have to outlive it. Without debug information nothing is known.
  explicit SourceLines(const std::vector<uint8_t>& bytes);
  ~SourceLines();
  SourceLines(SourceLines&&) noexcept;

  // Of an address as the file has it.
  SourceLine at(uint64_t address);
  std::optional<CodeFunction> function_at(uint64_t address) const;

 private:
  struct Debug;
  std::string text_of(const std::string& file, int64_t line);

  std::unique_ptr<Debug> debug_;
  std::map<std::string, std::vector<std::string>> files_;  // that were read
};

}  // namespace sonde::fault
