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

// One code object, read when it is asked for.
struct OpenObject {
  CodeObject facts;
  std::vector<uint8_t> bytes;
  gpu::CodeObject code;
  bool readable = false;
};

// Where a URI's bytes are: "file:///x#offset=4096&size=100", or a copy of what was in memory.
CodeObject place_of(const LoadedObject& loaded);

class CodeObjects {
 public:
  explicit CodeObjects(const std::vector<LoadedObject>& loaded);

  // Of the object that is loaded where the address is; the newest, if several were.
  std::optional<size_t> at(uint64_t address) const;
  OpenObject& open(size_t index);
  const gpu::Kernel* kernel_of(uint64_t kernel_object, std::optional<size_t>* index);
  const gpu::Kernel* kernel_around(uint64_t pc, std::optional<size_t>* index);
  // The first instruction of the kernel of that name, in the object that the address is of; 0
  // where it is not known.
  uint64_t entry_of(uint64_t pc, const std::string& kernel);
  std::vector<DisassemblyLine> disassemble(uint64_t pc);
  // The function that an address is of, mangled: a kernel, or one that it calls; "" if not known.
  std::string function_of(uint64_t pc);
  // The whole function around it; without symbols the kernel, to its last end or jump before the
  // next one.
  std::vector<DisassemblyLine> disassemble_all(uint64_t pc);
  std::string instruction_at(uint64_t pc);
  // The three words from there on; empty if there is no code.
  std::vector<uint32_t> words_at(uint64_t pc, size_t count);
  std::optional<gpu::Architecture> architecture_at(uint64_t pc);
  size_t size() const { return objects_.size(); }

 private:
  struct Around;
  // The function of that address, or without symbols the kernel.
  std::optional<Around> around(uint64_t pc);

  std::vector<OpenObject> objects_;
};

// "the kernels in /a/b are for gfx906, and GPU 0 is gfx90a": where the program's file has kernels,
// and none of them is for a GPU of the process. Else "".
std::string wrong_architecture(const wire::Board& board);

// The name that AMD's debug agent gives to a saved code object: its URI with other characters as
// '_'.
std::string saved_name(const std::string& uri);

// To a new file; one that has them already will do.
Status save_bytes(const std::string& path, std::string_view bytes);

// Writes each into the folder, which must be there; what is there already is left alone unless it
// is the same. Returns what could not be saved.
std::vector<std::string> save_code_objects(CodeObjects& objects, const std::string& folder);

}  // namespace sonde::fault
