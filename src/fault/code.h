// The code objects of a failed process: their bytes, kernels and instructions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fault/board.h"
#include "fault/report.h"
#include "gpu/code_object.h"
#include "gpu/instruction.h"

namespace sonde::fault {

// One code object, read on demand.
struct OpenObject {
  CodeObject facts;
  std::vector<uint8_t> bytes;
  gpu::CodeObject code;  // empty if they cannot be read
};

// Where the bytes of a URI are: "file:///x#offset=4096&size=100", or a copy of memory.
CodeObject place_of(const LoadedObject& loaded);

class CodeObjects {
 public:
  explicit CodeObjects(const std::vector<LoadedObject>& loaded);

  // The object that is loaded at the address; the newest one, if there were several.
  std::optional<size_t> at(uint64_t address) const;
  OpenObject& open(size_t index);
  const gpu::Kernel* kernel_of(uint64_t kernel_object, std::optional<size_t>* index);
  const gpu::Kernel* kernel_around(uint64_t pc, std::optional<size_t>* index);
  // The first instruction of the kernel with that name, in the object at the address; 0 if unknown.
  uint64_t entry_of(uint64_t pc, const std::string& kernel);
  std::vector<DisassemblyLine> disassemble(uint64_t pc);
  // The mangled name of the function at an address: a kernel, or one that it calls; "" if unknown.
  std::string function_of(uint64_t pc);
  // The whole function at an address; without symbols the kernel, up to its last end or jump before
  // the next one.
  std::vector<DisassemblyLine> disassemble_all(uint64_t pc);
  std::string instruction_at(uint64_t pc);
  // `count` words from an address on; empty if there is no code.
  std::vector<uint32_t> words_at(uint64_t pc, size_t count);
  std::optional<gpu::Architecture> architecture_at(uint64_t pc);
  size_t size() const { return objects_.size(); }

 private:
  struct Around;
  // The function at that address, or, without symbols, the kernel.
  std::optional<Around> around(uint64_t pc);

  std::vector<OpenObject> objects_;
};

// "the kernels in /a/b are for gfx906, and GPU 0 is gfx90a": if the program's file has kernels, but
// none for any GPU of the process. Else "".
std::string wrong_architecture(const wire::Board& board);

// The file name that AMD's debug agent gives to a saved code object: its URI, with other characters
// replaced by '_'.
std::string saved_name(const std::string& uri);

// Writes a new file; an existing one with the same contents is fine.
Status save_bytes(const std::string& path, std::string_view bytes);

// Writes each code object into the existing folder; a file that already exists must have the same
// contents. Returns what could not be saved.
std::vector<std::string> save_code_objects(CodeObjects& objects, const std::string& folder);

}  // namespace sonde::fault
