#include "record/symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "base/demangle.h"
#include "base/strings.h"
#include "base/unique_fd.h"
#include "record/symbol_table.h"
#include "store/frames.h"

namespace sonde::record {

namespace {

struct DwflCloser {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};
struct Freer {
  void operator()(void* memory) const { std::free(memory); }
};

// The vDSO is not in a file; the one of this process is the same.
int copy_of_vdso() {
  const auto* image = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) return -1;
  UniqueFd file(::memfd_create("vdso", MFD_CLOEXEC));
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const size_t bytes = header->e_shoff + size_t{header->e_shnum} * header->e_shentsize;
  if (!file.valid() || ::write(file.get(), image, bytes) != static_cast<ssize_t>(bytes)) return -1;
  return ::dup(file.get());
}

// One file, opened for its symbols.
class SymbolFile {
 public:
  // Has no symbols if the file cannot be opened, or is not the one that ran.
  SymbolFile(const std::string& path, const std::string& build_id) : path_(path) {
    static const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                              .find_debuginfo = dwfl_standard_find_debuginfo,
                                              .section_address = dwfl_offline_section_address,
                                              .debuginfo_path = nullptr};
    dwfl_.reset(dwfl_begin(&kCallbacks));
    if (dwfl_ == nullptr) return;
    // libdwfl takes ownership of the descriptor.
    const int vdso = path == "linux-vdso.so.1" ? copy_of_vdso() : -1;
    module_ = dwfl_report_offline(dwfl_.get(), path.c_str(), path.c_str(), vdso);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    if (module_ == nullptr || own_build_id() != build_id) {
      module_ = nullptr;
      return;
    }
    GElf_Addr bias = 0;
    dwfl_module_getelf(module_, &bias);
    bias_ = bias;
  }

  std::vector<store::FrameName> names(uint64_t address) const {
    std::vector<store::FrameName> names;
    if (module_ != nullptr) {
      add_inlined(bias_ + address, names);
      if (names.empty()) names.push_back(from_symbols(bias_ + address));
    }
    if (names.empty()) names.emplace_back();
    if (names.back().function.empty()) names.back().function = place_name(address);
    return names;
  }

 private:
  std::string own_build_id() const {
    const unsigned char* bytes = nullptr;
    GElf_Addr unused = 0;
    const int size = dwfl_module_build_id(module_, &bytes, &unused);
    return hex_text({reinterpret_cast<const char*>(bytes), static_cast<size_t>(std::max(size, 0))});
  }

  // "libx.so+0x1130": the start of the function as far as known, so that its addresses share a
  // name.
  std::string place_name(uint64_t address) const {
    uint64_t start = address;
    Dwarf_Addr cfi_bias = 0;
    Dwarf_CFI* cfi = module_ != nullptr ? dwfl_module_eh_cfi(module_, &cfi_bias) : nullptr;
    Dwarf_Frame* frame = nullptr;
    if (cfi != nullptr && dwarf_cfi_addrframe(cfi, bias_ + address - cfi_bias, &frame) == 0) {
      const std::unique_ptr<Dwarf_Frame, Freer> owner(frame);
      Dwarf_Addr begin = 0, end = 0;
      dwarf_frame_info(frame, &begin, &end, nullptr);
      start = begin + cfi_bias - bias_;
    }
    return fmt::format("{}+{:#x}", std::filesystem::path(path_).filename().string(), start);
  }

  std::string symbol_name(uint64_t address) const {
    if (!symbols_) symbols_.emplace(module_);
    const char* name = symbols_->at(address);
    return name != nullptr ? name : "";
  }

  store::FrameName from_symbols(uint64_t address) const {
    store::FrameName name;
    name.function = demangle(symbol_name(address));
    set_line(address, name);
    return name;
  }

  // The compilation unit of an address. clang emits no address index: without one, the ranges of
  // the units are searched.
  Dwarf_Die* unit_of(uint64_t address, Dwarf_Addr* bias) const {
    if (Dwarf_Die* unit = dwfl_module_addrdie(module_, address, bias)) return unit;
    if (!units_) units_.emplace(module_);
    return units_->at(address, bias);
  }

  void set_line(uint64_t address, store::FrameName& name) const {
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = unit_of(address, &bias);
    Dwarf_Line* line = unit != nullptr ? dwarf_getsrc_die(unit, address - bias) : nullptr;
    int number = 0;
    const char* file = line != nullptr && dwarf_lineno(line, &number) == 0
                           ? dwarf_linesrc(line, nullptr, nullptr)
                           : nullptr;
    if (file == nullptr) return;
    name.file = file;
    name.line = number;
  }

  // The functions at an address by debug information, the innermost first.
  void add_inlined(uint64_t address, std::vector<store::FrameName>& names) const {
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = unit_of(address, &bias);
    if (unit == nullptr) return;
    Dwarf_Die* innermost = nullptr;
    if (dwarf_getscopes(unit, address - bias, &innermost) <= 0) return;
    const std::unique_ptr<Dwarf_Die, Freer> innermost_owner(innermost);
    // For an inlined function, dwarf_getscopes() gives the scopes of its source; these are the
    // scopes that it was inlined into.
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(innermost, &scopes);
    const std::unique_ptr<Dwarf_Die, Freer> owner(count > 0 ? scopes : nullptr);
    store::FrameName name;
    set_line(address, name);
    bool any = false;
    for (int i = 0; i < count; ++i) {
      const int tag = dwarf_tag(&scopes[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      name.function = linkage_name(&scopes[i]);
      if (name.function.empty() && tag == DW_TAG_subprogram) name.function = cxx_symbol(address);
      if (name.function.empty()) name.function = qualified_name(&scopes[i]);
      names.push_back(name);
      any = true;
      if (tag == DW_TAG_subprogram) break;
      name = call_site(unit, &scopes[i]);
    }
    if (!any) names.clear();
  }

  static std::string linkage_name(Dwarf_Die* function) {
    Dwarf_Attribute attribute;
    for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
      const char* linkage = dwarf_formstring(dwarf_attr_integrate(function, kind, &attribute));
      if (linkage != nullptr) return demangle(linkage);
    }
    return "";
  }

  // Compilers emit no linkage name for functions in unnamed namespaces. A C++ symbol is as good; a
  // C symbol says less than the debug information does: "run.constprop.0".
  std::string cxx_symbol(uint64_t address) const {
    const std::string name = symbol_name(address);
    if (name.substr(0, 2) != "_Z") return "";
    return demangle(name.substr(0, name.find('.')));  // without the clone suffix
  }

  // An inlined function has no symbol; its name comes from the scopes it is declared in.
  static std::string qualified_name(Dwarf_Die* function) {
    Dwarf_Die declared = *function;
    Dwarf_Attribute attribute;
    Dwarf_Die* scopes = nullptr;
    for (const unsigned kind : {DW_AT_abstract_origin, DW_AT_specification}) {
      dwarf_formref_die(dwarf_attr(&declared, kind, &attribute), &declared);
    }
    const char* own = dwarf_diename(&declared);
    if (own == nullptr) return "";
    std::string name = own;
    const int count = dwarf_getscopes_die(&declared, &scopes);
    const std::unique_ptr<Dwarf_Die, Freer> owner(count > 0 ? scopes : nullptr);
    for (int i = 1; i < count; ++i) {  // 0 is the function itself
      const int tag = dwarf_tag(&scopes[i]);
      if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type &&
          tag != DW_TAG_union_type) {
        break;
      }
      const char* scope = dwarf_diename(&scopes[i]);
      name.insert(0, "::").insert(0, scope != nullptr          ? scope
                                     : tag == DW_TAG_namespace ? "(anonymous namespace)"
                                                               : "(anonymous)");
    }
    return name;
  }

  // Where an inlined function was called from.
  static store::FrameName call_site(Dwarf_Die* unit, Dwarf_Die* inlined) {
    store::FrameName name;
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0) {
      name.line = static_cast<int64_t>(number);
    }
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count) {
      const char* file = dwarf_filesrc(files, number, nullptr, nullptr);
      if (file != nullptr) name.file = file;
    }
    return name;
  }

  std::string path_;
  std::unique_ptr<Dwfl, DwflCloser> dwfl_;
  Dwfl_Module* module_ = nullptr;
  uint64_t bias_ = 0;
  mutable std::optional<SymbolTable> symbols_;  // created on demand
  mutable std::optional<UnitTable> units_;
};

}  // namespace

Status name_frames(store::Database& database) {
  SONDE_ASSIGN(const auto modules, store::unnamed_modules(database));
  if (modules.empty()) return ok_status();
  SONDE_ASSIGN(auto namer, store::FrameNamer::open(database));
  for (const auto& module : modules) {
    const SymbolFile file(module.path, module.build_id);
    SONDE_ASSIGN(const auto frames, store::unnamed_frames(database, module.id));
    for (const auto& frame : frames) SONDE_TRY(namer.name(frame, file.names(frame.address)));
  }
  return ok_status();
}

FileNames names_of_files() {
  using Key = std::pair<std::string, std::string>;
  auto known = std::make_shared<std::map<Key, SymbolFile>>();
  return [known](const std::string& path, const std::string& build_id, uint64_t address) {
    return known->try_emplace({path, build_id}, path, build_id).first->second.names(address);
  };
}

}  // namespace sonde::record
