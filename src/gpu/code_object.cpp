#include "gpu/code_object.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "gpu/message_pack.h"

namespace sonde::gpu {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint16_t kMachine = 224;  // EM_AMDGPU
constexpr uint32_t kMetadataNote = 32;
constexpr uint64_t kLongestName = 64 * 1024;
constexpr std::string_view kDescriptorSuffix = ".kd";
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";

struct Machine {
  uint32_t flag;
  const char* name;
};
constexpr Machine kMachines[] = {
    {0x2a, "gfx803"},  {0x2c, "gfx900"},  {0x2d, "gfx902"},  {0x2e, "gfx904"},  {0x2f, "gfx906"},
    {0x30, "gfx908"},  {0x31, "gfx909"},  {0x32, "gfx90c"},  {0x33, "gfx1010"}, {0x34, "gfx1011"},
    {0x35, "gfx1012"}, {0x36, "gfx1030"}, {0x37, "gfx1031"}, {0x38, "gfx1032"}, {0x3f, "gfx90a"},
    {0x40, "gfx940"},  {0x41, "gfx1100"}};

template <typename T>
std::optional<T> at(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

Bytes part(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.subspan(offset, std::min<uint64_t>(size, bytes.size() - offset));
}

Error bad(std::string message) { return make_error(ErrorCode::kBadData, std::move(message)); }

// Bytes, looked up by the address they are loaded at.
class Memory {
 public:
  Memory(Bytes bytes, Image image, const CodeObjectHead& head)
      : bytes_(bytes), image_(image), head_(head) {}

  Bytes at_address(uint64_t address, uint64_t size) const {
    if (image_ == Image::kLoaded) return part(bytes_, address, size);
    for (const Segment& segment : head_.segments) {
      if (address < segment.address || address - segment.address >= segment.file_bytes) continue;
      const uint64_t inside = address - segment.address;
      return part(part(bytes_, segment.offset, segment.file_bytes), inside, size);
    }
    return {};
  }
  template <typename T>
  std::optional<T> read(uint64_t address) const {
    return at<T>(at_address(address, sizeof(T)), 0);
  }
  std::optional<std::string_view> text(uint64_t address, uint64_t most) const {
    const Bytes bytes = at_address(address, most);
    const auto end = std::find(bytes.begin(), bytes.end(), 0);
    if (end == bytes.end()) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes.data()),
                            static_cast<size_t>(end - bytes.begin()));
  }
  // A loader replaces addresses in the dynamic section by absolute ones; this undoes it.
  uint64_t own(uint64_t address) const {
    const auto base = reinterpret_cast<uintptr_t>(bytes_.data());
    return image_ == Image::kLoaded && address >= base ? address - base : address;
  }

 private:
  Bytes bytes_;
  Image image_;
  const CodeObjectHead& head_;
};

struct Symbols {
  uint64_t table = 0, texts = 0, text_bytes = 0;
  uint32_t count = 0;
};

Symbols find_symbols(const Memory& memory, const CodeObjectHead& head) {
  Symbols symbols;
  uint64_t hash = 0;
  for (uint64_t done = 0; done < head.dynamic_bytes; done += sizeof(Elf64_Dyn)) {
    const auto entry = memory.read<Elf64_Dyn>(head.dynamic + done);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_SYMTAB) symbols.table = memory.own(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) symbols.texts = memory.own(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRSZ) symbols.text_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_HASH) hash = memory.own(entry->d_un.d_ptr);
  }
  // The hash table has a chain entry for each symbol.
  if (hash != 0) symbols.count = memory.read<uint32_t>(hash + 4).value_or(0);
  return symbols;
}

std::vector<Kernel> find_kernels(const Memory& memory, const Symbols& symbols) {
  std::vector<Kernel> kernels;
  for (uint32_t i = 0; i < symbols.count; ++i) {
    const auto symbol = memory.read<Elf64_Sym>(symbols.table + uint64_t{i} * sizeof(Elf64_Sym));
    if (!symbol) break;
    if (symbol->st_name >= symbols.text_bytes) continue;
    const uint64_t room = std::min(symbols.text_bytes - symbol->st_name, kLongestName);
    const auto name = memory.text(symbols.texts + symbol->st_name, room);
    if (!name || !name->ends_with(kDescriptorSuffix)) continue;
    const auto descriptor = memory.read<KernelDescriptor>(symbol->st_value);
    if (!descriptor) continue;
    Kernel& kernel = kernels.emplace_back();
    kernel.name = name->substr(0, name->size() - kDescriptorSuffix.size());
    kernel.descriptor_address = symbol->st_value;
    kernel.entry = symbol->st_value + static_cast<uint64_t>(descriptor->entry_offset);
    kernel.descriptor = *descriptor;
  }
  std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
    return a.descriptor_address < b.descriptor_address;
  });
  return kernels;
}

void describe(Kernel& kernel, const PackedValue& from) {
  const PackedValue* arguments = from.find(".args");
  if (arguments == nullptr) return;
  for (const PackedValue& item : arguments->items) {
    kernel.arguments.push_back(
        {std::string(item.text_of(".name")), std::string(item.text_of(".value_kind")),
         std::string(item.text_of(".type_name")), static_cast<uint32_t>(item.number_of(".offset")),
         static_cast<uint32_t>(item.number_of(".size"))});
  }
}

// The note in which the compiler describes the kernels; empty if there is none.
Bytes find_metadata(Bytes notes) {
  constexpr auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  while (const auto head = at<Elf64_Nhdr>(notes, 0)) {
    const uint64_t name = sizeof(Elf64_Nhdr), content = name + padded(head->n_namesz);
    if (head->n_type == kMetadataNote) return part(notes, content, head->n_descsz);
    notes = part(notes, content + padded(head->n_descsz), notes.size());
  }
  return {};
}

void describe_all(std::vector<Kernel>& kernels, Bytes notes) {
  const auto metadata = read_message_pack(find_metadata(notes));
  const PackedValue* list = metadata ? metadata->find("amdhsa.kernels") : nullptr;
  if (list == nullptr) return;
  for (const PackedValue& item : list->items) {
    const std::string_view symbol = item.text_of(".symbol");
    if (!symbol.ends_with(kDescriptorSuffix)) continue;
    const auto name = symbol.substr(0, symbol.size() - kDescriptorSuffix.size());
    for (Kernel& kernel : kernels) {
      if (kernel.name == name && kernel.arguments.empty()) describe(kernel, item);
    }
  }
}

}  // namespace

uint64_t CodeObjectHead::memory_bytes() const {
  uint64_t end = 0;
  for (const Segment& segment : segments)
    end = std::max(end, segment.address + segment.memory_bytes);
  return end;
}

const Segment* CodeObjectHead::code() const {
  for (const Segment& segment : segments) {
    if (segment.is_code) return &segment;
  }
  return nullptr;
}

Result<CodeObjectHead> read_code_object_head(std::span<const uint8_t> bytes) {
  constexpr uint64_t kLargest = uint64_t{1} << 40;  // no sum of two of them wraps
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return bad("not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != kMachine) {
    return bad("an ELF file, but not of an AMD GPU");
  }
  CodeObjectHead head;
  for (const Machine& machine : kMachines) {
    if (machine.flag == (header->e_flags & 0xff)) head.architecture = machine.name;
  }
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto entry = header->e_phoff > kLargest
                           ? std::nullopt
                           : at<Elf64_Phdr>(bytes, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!entry) return bad("the code object's program headers are cut off");
    if (entry->p_vaddr > kLargest || entry->p_memsz > kLargest || entry->p_offset > kLargest ||
        entry->p_filesz > entry->p_memsz) {
      if (entry->p_type == PT_LOAD)
        return bad("a segment of the code object has an invalid address or size");
      continue;
    }
    if (entry->p_type == PT_LOAD) {
      head.segments.push_back({entry->p_vaddr, entry->p_offset, entry->p_filesz, entry->p_memsz,
                               (entry->p_flags & PF_X) != 0});
    } else if (entry->p_type == PT_DYNAMIC) {
      head.dynamic = entry->p_vaddr;
      head.dynamic_bytes = entry->p_memsz;
    } else if (entry->p_type == PT_NOTE) {
      head.note = entry->p_vaddr;
      head.note_bytes = entry->p_memsz;
    }
  }
  return head;
}

Result<CodeObject> read_code_object(std::span<const uint8_t> bytes, Image image) {
  CodeObject object;
  SONDE_ASSIGN(object.head, read_code_object_head(bytes));
  const Memory memory(bytes, image, object.head);
  object.kernels = find_kernels(memory, find_symbols(memory, object.head));
  describe_all(object.kernels, memory.at_address(object.head.note, object.head.note_bytes));
  return object;
}

std::vector<BundleEntry> find_bundled(std::span<const uint8_t> file) {
  std::vector<BundleEntry> found;
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (size_t begin = text.find(kBundleMagic); begin != std::string_view::npos;
       begin = text.find(kBundleMagic, begin + 1)) {
    const Bytes bundle = file.subspan(begin);
    uint64_t place = kBundleMagic.size() + 8;
    const uint64_t count = at<uint64_t>(bundle, kBundleMagic.size()).value_or(0);
    for (uint64_t i = 0; i < count; ++i) {
      const auto numbers = at<std::array<uint64_t, 3>>(bundle, place);  // offset, size, name's size
      if (!numbers) break;
      const Bytes name = part(bundle, place + sizeof(*numbers), (*numbers)[2]);
      if (name.size() != (*numbers)[2]) break;
      place += sizeof(*numbers) + name.size();
      const Bytes content = part(bundle, (*numbers)[0], (*numbers)[1]);
      if (content.size() != (*numbers)[1]) continue;
      found.push_back({{reinterpret_cast<const char*>(name.data()), name.size()}, content});
    }
  }
  return found;
}

}  // namespace sonde::gpu
