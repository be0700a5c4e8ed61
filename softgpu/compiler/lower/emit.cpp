// Optimises the host module and writes it as an object file, including each kernel's stack size as
// computed by the code generator.
#include <llvm/Analysis/TargetTransformInfo.h>

#include <llvm/CodeGen/CommandFlags.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <algorithm>

#include "../../compute/kernel_abi.h"
#include "llvm.h"
#include "lower.h"

using namespace llvm;

namespace softgpu {

namespace {

// Besides its frame, a function needs its return address and the frame's alignment.
constexpr uint64_t kFrameExtra = 80;
// The stack that an external function (libm, memcpy, their lazy binding) may use.
constexpr uint64_t kUnknownFrame = 16 * 1024;
// The executor's own functions: they leave the item's stack at once.
constexpr uint64_t kExecutorFrame = 512;

void optimise(Module& module, TargetMachine& machine) {
  PassBuilder builder(&machine);
  Analyses analyses(builder);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, analyses.modules);
}

class StackSizes : public DiagnosticHandler {
 public:
  explicit StackSizes(std::map<const Function*, uint64_t>& sizes) : sizes_(sizes) {}
  bool handleDiagnostics(const DiagnosticInfo& info) override {
    if (auto* size = dyn_cast<DiagnosticInfoStackSize>(&info)) {
      sizes_[&size->getFunction()] = size->getStackSize();
      return true;
    }
    return info.getSeverity() != DS_Error;
  }

 private:
  std::map<const Function*, uint64_t>& sizes_;
};

// The deepest call path from a function without cycles below it.
uint64_t deepest(const Function& function, const std::map<const Function*, uint64_t>& frames) {
  if (function.isDeclaration()) return function.isIntrinsic() ? 0 : kUnknownFrame;
  uint64_t below = kExecutorFrame;
  for (const Instruction& instruction : instructions(function)) {
    auto* call = dyn_cast<CallBase>(&instruction);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    if (callee) below = std::max(below, deepest(*callee, frames));
  }
  auto own = frames.find(&function);
  return (own == frames.end() ? 0 : own->second) + kFrameExtra + below;
}

// Intrinsics may also become calls into libm, which only the finished object shows.
bool calls_unknown(const object::ObjectFile& object) {
  for (const object::SymbolRef& symbol : object.symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name) continue;
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() && *name != "dlsym")
      return true;
  }
  return false;
}

bool store_stack_sizes(Program& program, SmallVectorImpl<char>& bytes,
                       const std::map<const Function*, uint64_t>& frames) {
  Expected<std::unique_ptr<object::ObjectFile>> object = object::ObjectFile::createELFObjectFile(
      MemoryBufferRef(StringRef(bytes.data(), bytes.size()), "kernels"));
  if (!object) return false;
  bool unknown = calls_unknown(**object);
  for (const object::SectionRef& section : (*object)->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name || *name != kKernelSection) continue;
    Expected<StringRef> contents = section.getContents();
    if (!contents) return false;
    size_t start = static_cast<size_t>(contents->data() - bytes.data());
    for (size_t i = 0; i < program.kernels.size(); i++) {
      const Kernel& kernel = program.kernels[i];
      if (!kernel.knows_stack) continue;
      auto need =
          static_cast<uint32_t>(deepest(*kernel.function, frames) + (unknown ? kUnknownFrame : 0));
      size_t at = start + i * sizeof(SoftgpuKernel) + offsetof(SoftgpuKernel, stack_bytes);
      memcpy(bytes.data() + at, &need, sizeof(need));
    }
  }
  return true;
}

std::unique_ptr<TargetMachine> make_machine(const Module& module, const std::string& cpu) {
  std::string error;
  const Target* target = TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (!target) return nullptr;
  std::string name = cpu == "native" ? sys::getHostCPUName().str() : cpu;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      module.getTargetTriple(), name, "", TargetOptions(), Reloc::PIC_));
}

}  // namespace

bool emit(Program& program, const std::string& cpu, const std::string& path, bool as_text) {
  Module& module = program.module;
  std::unique_ptr<TargetMachine> machine = make_machine(module, cpu);
  if (!machine) return false;
  module.setPICLevel(PICLevel::BigPIC);
  std::string name = machine->getTargetCPU().str();
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", name);
    function.removeFnAttr("target-features");
    function.removeFnAttr("tune-cpu");
    function.addFnAttr("warn-stack-size", "0");
  }
  optimise(module, *machine);
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (error) return false;
  if (as_text) {
    module.print(out, nullptr);
    return true;
  }
  std::map<const Function*, uint64_t> frames;
  module.getContext().setDiagnosticHandler(std::make_unique<StackSizes>(frames));
  SmallVector<char, 0> bytes;
  raw_svector_ostream memory(bytes);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, memory, nullptr, kObjectFile)) return false;
  passes.run(module);
  if (!store_stack_sizes(program, bytes, frames)) return false;
  out.write(bytes.data(), bytes.size());
  return true;
}

}  // namespace softgpu
