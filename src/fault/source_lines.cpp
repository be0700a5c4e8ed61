#include "fault/source_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <filesystem>
#include <fstream>

namespace sonde::fault {

namespace {

constexpr size_t kMostLines = 1 << 20;  // of a source file

// Makes a path absolute that is relative to the compiler's working directory.
std::string whole_path(const char* file, Dwarf_Die* unit) {
  Dwarf_Attribute attribute;
  const char* folder = file[0] != '/' && dwarf_attr(unit, DW_AT_comp_dir, &attribute) != nullptr
                           ? dwarf_formstring(&attribute)
                           : nullptr;
  return folder != nullptr ? std::string(folder) + "/" + file : std::string(file);
}

}  // namespace

struct SourceLines::Debug {
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;
  ~Debug() {
    if (dwarf != nullptr) dwarf_end(dwarf);
    if (elf != nullptr) elf_end(elf);
  }
};

SourceLines::SourceLines(const std::vector<uint8_t>& bytes) : debug_(std::make_unique<Debug>()) {
  elf_version(EV_CURRENT);
  // libelf does not write to memory that is opened for reading.
  auto* image = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  debug_->elf = elf_memory(image, bytes.size());
  if (debug_->elf != nullptr) {
    debug_->dwarf = dwarf_begin_elf(debug_->elf, DWARF_C_READ, nullptr);
  }
}

SourceLines::~SourceLines() = default;
SourceLines::SourceLines(SourceLines&&) noexcept = default;

std::optional<CodeFunction> SourceLines::function_at(uint64_t address) const {
  Elf_Scn* section = nullptr;
  while (debug_->elf != nullptr && (section = elf_nextscn(debug_->elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0 ||
        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)) {
      continue;
    }
    Elf_Data* data = elf_getdata(section, nullptr);
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; data != nullptr && i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) break;
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || address - symbol.st_value >= symbol.st_size) {
        continue;
      }
      const char* name = elf_strptr(debug_->elf, header.sh_link, symbol.st_name);
      return CodeFunction{name != nullptr ? name : "", symbol.st_value,
                          symbol.st_value + symbol.st_size};
    }
  }
  return std::nullopt;
}

// clang emits no address index, so all units are searched.
SourceLine SourceLines::at(uint64_t address) {
  SourceLine found;
  if (debug_->dwarf == nullptr) return found;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(debug_->dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    if (dwarf_haspc(&die, address) <= 0) continue;
    Dwarf_Line* line = dwarf_getsrc_die(&die, address);
    int number = 0;
    if (line == nullptr || dwarf_lineno(line, &number) != 0 || number == 0) break;
    const char* file = dwarf_linesrc(line, nullptr, nullptr);
    if (file == nullptr) break;
    found.file = whole_path(file, &die);
    found.line = number;
    found.text = text_of(found.file, number);
    break;
  }
  return found;
}

std::string SourceLines::text_of(const std::string& file, int64_t line) {
  const auto [known, is_new] = files_.try_emplace(file);
  std::error_code error;
  if (is_new && std::filesystem::is_regular_file(file, error)) {
    std::ifstream source(file);
    for (std::string text; known->second.size() < kMostLines && std::getline(source, text);) {
      known->second.push_back(text);
    }
  }
  const auto place = static_cast<size_t>(line - 1);
  return place < known->second.size() ? known->second[place] : std::string();
}

}  // namespace sonde::fault
