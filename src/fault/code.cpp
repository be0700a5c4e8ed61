#include "fault/code.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/unique_fd.h"
#include "fault/source_lines.h"
#include "gpu/print.h"

namespace sonde::fault {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // of a code object to read
constexpr uint64_t kMostCode = uint64_t{4} << 20;   // of a function
constexpr int kLinesBefore = 12, kLinesBehind = 8;

uint64_t number_after(const std::string& text, const char* key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? 0
                                 : std::strtoull(text.c_str() + at + std::strlen(key), nullptr, 0);
}

std::string percent_decoded(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                       std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    plain += coded ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i];
    i += coded ? 2 : 0;
  }
  return plain;
}

std::vector<uint8_t> read_part(const std::string& path, uint64_t offset, uint64_t bytes) {
  std::ifstream file(path, std::ios::binary);
  if (bytes == 0 || bytes > kMostBytes || !file.seekg(static_cast<std::streamoff>(offset)))
    return {};
  std::vector<uint8_t> part(bytes);
  file.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(bytes));
  if (static_cast<uint64_t>(file.gcount()) != bytes) return {};
  return part;
}

// Words of the code, from an address in the file.
std::vector<uint32_t> words_of(const OpenObject& object, uint64_t address, size_t count) {
  std::vector<uint32_t> words;
  for (const gpu::Segment& segment : object.code.head.segments) {
    if (!segment.is_code || address < segment.address) continue;
    const uint64_t within = address - segment.address;
    for (; words.size() < count && within + 4 * (words.size() + 1) <= segment.file_bytes;) {
      const uint64_t at = segment.offset + within + 4 * words.size();
      if (at + 4 > object.bytes.size()) return words;
      uint32_t word = 0;
      std::memcpy(&word, object.bytes.data() + at, sizeof word);
      words.push_back(word);
    }
  }
  return words;
}

}  // namespace

CodeObject place_of(const LoadedObject& loaded) {
  CodeObject place;
  place.uri = loaded.uri;
  place.base = loaded.base;
  place.loaded_bytes = loaded.bytes;
  place.delta = loaded.delta;
  place.offset = number_after(loaded.uri, "offset=");
  place.bytes = number_after(loaded.uri, "size=");
  std::error_code error;
  if (!loaded.copy.empty()) {
    place.file = loaded.copy;
    place.offset = 0;
  } else if (loaded.uri.rfind("file://", 0) == 0) {
    const size_t end = std::min(loaded.uri.find('#'), loaded.uri.size());
    place.file = percent_decoded(loaded.uri.substr(7, end - 7));
    if (place.bytes == 0) place.bytes = std::filesystem::file_size(place.file, error);
    if (error) place.bytes = 0;
  }
  return place;
}

CodeObjects::CodeObjects(const std::vector<LoadedObject>& loaded) {
  for (const LoadedObject& object : loaded) objects_.push_back({place_of(object), {}, {}});
}

std::optional<size_t> CodeObjects::at(uint64_t address) const {
  for (size_t i = objects_.size(); i-- > 0;) {
    const CodeObject& facts = objects_[i].facts;
    if (address - facts.base < facts.loaded_bytes) return i;
  }
  return std::nullopt;
}

OpenObject& CodeObjects::open(size_t index) {
  OpenObject& object = objects_[index];
  if (!object.bytes.empty() || object.facts.file.empty()) return object;
  object.bytes = read_part(object.facts.file, object.facts.offset, object.facts.bytes);
  auto code = gpu::read_code_object(object.bytes, gpu::Image::kFile);
  if (code) object.code = std::move(*code);
  return object;
}

const gpu::Kernel* CodeObjects::kernel_of(uint64_t kernel_object, std::optional<size_t>* index) {
  *index = at(kernel_object);
  if (!*index) return nullptr;
  const OpenObject& object = open(**index);
  for (const gpu::Kernel& kernel : object.code.kernels) {
    const uint64_t loaded = kernel.descriptor_address + static_cast<uint64_t>(object.facts.delta);
    if (loaded == kernel_object) return &kernel;
  }
  return nullptr;
}

const gpu::Kernel* CodeObjects::kernel_around(uint64_t pc, std::optional<size_t>* index) {
  *index = at(pc);
  if (!*index) return nullptr;
  const OpenObject& object = open(**index);
  const gpu::Kernel* nearest = nullptr;
  for (const gpu::Kernel& kernel : object.code.kernels) {
    const uint64_t entry = kernel.entry + static_cast<uint64_t>(object.facts.delta);
    const bool nearer = nearest == nullptr || kernel.entry > nearest->entry;
    if (entry <= pc && nearer) nearest = &kernel;
  }
  return nearest;
}

uint64_t CodeObjects::entry_of(uint64_t pc, const std::string& kernel) {
  const auto index = at(pc);
  if (!index) return 0;
  const OpenObject& object = open(*index);
  for (const gpu::Kernel& one : object.code.kernels) {
    if (one.name == kernel) return one.entry + static_cast<uint64_t>(object.facts.delta);
  }
  return 0;
}

std::optional<gpu::Architecture> CodeObjects::architecture_at(uint64_t pc) {
  const auto index = at(pc);
  return index ? gpu::architecture_of(open(*index).code.head.architecture) : std::nullopt;
}

std::vector<uint32_t> CodeObjects::words_at(uint64_t pc, size_t count) {
  const auto index = at(pc);
  if (!index) return {};
  const OpenObject& object = open(*index);
  return words_of(object, pc - static_cast<uint64_t>(object.facts.delta), count);
}

std::string CodeObjects::instruction_at(uint64_t pc) {
  const auto architecture = architecture_at(pc);
  const auto words = words_at(pc, 3);
  if (!architecture || words.empty()) return {};
  const auto instruction = gpu::decode(*architecture, words);
  return instruction ? gpu::text_of(*instruction) : fmt::format("<unknown {:#010x}>", words[0]);
}

std::string CodeObjects::function_of(uint64_t pc) {
  const auto index = at(pc);
  if (!index) return {};
  const OpenObject& object = open(*index);
  const auto function =
      SourceLines(object.bytes).function_at(pc - static_cast<uint64_t>(object.facts.delta));
  return function ? function->name : std::string();
}

struct CodeObjects::Around {
  const OpenObject& object;
  gpu::Architecture architecture;
  SourceLines sources;
  uint64_t delta = 0;  // loaded address minus address in the file
  uint64_t begin = 0;
  std::optional<uint64_t> end;  // of a function, from the symbols
};

std::optional<CodeObjects::Around> CodeObjects::around(uint64_t pc) {
  const auto index = at(pc);
  const auto architecture = architecture_at(pc);
  if (!index || !architecture) return std::nullopt;
  const OpenObject& object = open(*index);
  Around around{object, *architecture, SourceLines(object.bytes)};
  around.delta = static_cast<uint64_t>(object.facts.delta);
  if (const auto function = around.sources.function_at(pc - around.delta)) {
    around.begin = function->begin;
    around.end = function->end;
    return around;
  }
  std::optional<size_t> unused;
  const gpu::Kernel* kernel = kernel_around(pc, &unused);
  if (kernel == nullptr) return std::nullopt;
  around.begin = kernel->entry;
  return around;
}

// Starts at the function's begin: instructions vary in length, so only there an instruction
// boundary is known.
std::vector<DisassemblyLine> CodeObjects::disassemble(uint64_t pc) {
  auto around = this->around(pc);
  if (!around) return {};
  const uint64_t delta = around->delta, entry = around->begin + delta;
  if (pc - entry > kMostCode) return {};
  const auto words = words_at(entry, (pc - entry) / 4 + 4 * (kLinesBehind + 1));
  std::vector<DisassemblyLine> lines;
  int behind = 0;
  for (size_t i = 0; i < words.size() && behind <= kLinesBehind;) {
    const auto instruction = gpu::decode(around->architecture, std::span(words).subspan(i));
    const uint64_t address = entry + 4 * i;
    lines.push_back(
        {address, address - entry,
         instruction ? gpu::text_of(*instruction) : fmt::format("<unknown {:#010x}>", words[i]),
         address == pc});
    behind += address >= pc ? 1 : 0;
    i += instruction ? instruction->words : 1;
  }
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [](const DisassemblyLine& line) { return line.is_pc; });
  if (found == lines.end()) return {};
  const auto before = std::min<std::ptrdiff_t>(found - lines.begin(), kLinesBefore);
  lines.erase(lines.begin(), found - before);
  for (DisassemblyLine& line : lines) {
    SourceLine source = around->sources.at(line.address - delta);
    line.file = std::move(source.file);
    line.line = source.line;
    line.source = std::move(source.text);
  }
  return lines;
}

std::vector<DisassemblyLine> CodeObjects::disassemble_all(uint64_t pc) {
  auto around = this->around(pc);
  if (!around) return {};
  const uint64_t delta = around->delta, begin = around->begin;
  uint64_t end = around->end.value_or(begin + kMostCode);
  for (const gpu::Kernel& other : around->object.code.kernels) {
    if (other.entry > begin) end = std::min(end, other.entry);
  }
  const auto words = words_at(begin + delta, std::min(end - begin, kMostCode) / 4);
  std::vector<DisassemblyLine> lines;
  for (size_t i = 0; i < words.size();) {
    const auto instruction = gpu::decode(around->architecture, std::span(words).subspan(i));
    DisassemblyLine line;
    line.address = begin + delta + 4 * i;
    line.text =
        instruction ? gpu::text_of(*instruction) : fmt::format("<unknown {:#010x}>", words[i]);
    SourceLine source = around->sources.at(line.address - delta);
    line.file = std::move(source.file);
    line.line = source.line;
    lines.push_back(std::move(line));
    i += instruction ? instruction->words : 1;
  }
  if (around->end) return lines;
  // What follows the last end or jump is padding before the next kernel.
  const auto is_last = [](const DisassemblyLine& line) {
    return line.text.rfind("s_endpgm", 0) == 0 || line.text.rfind("s_branch", 0) == 0 ||
           line.text.rfind("s_setpc", 0) == 0;
  };
  while (!lines.empty() && !is_last(lines.back()) && lines.back().address > pc) lines.pop_back();
  return lines;
}

std::string wrong_architecture(const wire::Board& board) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(board.program, error);
  if (error || board.gpu_count == 0) return {};
  const auto file = read_part(board.program, 0, bytes);
  // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
  std::set<std::string> found;
  for (const gpu::BundleEntry& entry : gpu::find_bundled(file)) {
    const size_t at = entry.target.find("gfx");
    if (at == std::string_view::npos) continue;
    const std::string_view name = entry.target.substr(at);
    found.emplace(name.substr(0, name.find(':')));
  }
  std::string gpus, kernels;
  for (uint32_t i = 0; i < std::min(board.gpu_count, wire::kBoardGpus); ++i) {
    const std::string architecture = board.architectures[i];
    if (architecture.empty() || found.contains(architecture)) return {};
    gpus += fmt::format("{}GPU {} is {}", gpus.empty() ? "" : ", ", i, architecture);
  }
  for (const std::string& name : found) kernels += (kernels.empty() ? "" : ", ") + name;
  return found.empty()
             ? std::string()
             : fmt::format("the kernels in {} are for {}, and {}", board.program, kernels, gpus);
}

std::string saved_name(const std::string& uri) {
  std::string name = uri;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  }
  return name;
}

Status save_bytes(const std::string& path, std::string_view bytes) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) {
    const int failure = errno;
    const auto there = read_part(path, 0, bytes.size());
    if (std::string_view(reinterpret_cast<const char*>(there.data()), there.size()) == bytes) {
      return ok_status();
    }
    return errno_error("cannot be written", path, failure);
  }
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) {
      const int failure = errno;
      ::unlink(path.c_str());  // so that no incomplete file is mistaken for a complete one
      return errno_error("cannot be written", path, failure);
    }
    done += static_cast<size_t>(wrote);
  }
  return ok_status();
}

std::vector<std::string> save_code_objects(CodeObjects& objects, const std::string& folder) {
  std::vector<std::string> failed;
  for (size_t i = 0; i < objects.size(); ++i) {
    OpenObject& object = objects.open(i);
    if (object.bytes.empty()) {
      failed.push_back(object.facts.uri + ": its bytes are no longer available");
      continue;
    }
    const std::string path = folder + "/" + saved_name(object.facts.uri);
    const std::string_view bytes(reinterpret_cast<const char*>(object.bytes.data()),
                                 object.bytes.size());
    if (const auto saved = save_bytes(path, bytes)) {
      object.facts.saved = path;
    } else {
      failed.push_back(saved.error().to_line());
    }
  }
  return failed;
}

}  // namespace sonde::fault
