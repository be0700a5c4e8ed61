// Common names for what differs between LLVM 15 and 21.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Transforms/Scalar/SROA.h>

#if LLVM_VERSION_MAJOR >= 16
#include <llvm/IR/AttributeMask.h>
#endif
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Host.h>
#else
#include <llvm/Support/Host.h>
#endif

namespace softgpu {

inline bool begins(llvm::StringRef text, llvm::StringRef prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The type in which a module has its target: a string up to LLVM 20.
using ModuleTriple = std::decay_t<decltype(std::declval<llvm::Module>().getTargetTriple())>;

#if LLVM_VERSION_MAJOR >= 18
constexpr auto kObjectFile = llvm::CodeGenFileType::ObjectFile;
#else
constexpr auto kObjectFile = llvm::CGFT_ObjectFile;
#endif

// The analyses that passes use; module passes get the rest through `modules`.
struct Analyses {
  explicit Analyses(llvm::PassBuilder& builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

inline llvm::SROAPass scalar_replacement() {
#if LLVM_VERSION_MAJOR >= 16
  return llvm::SROAPass(llvm::SROAOptions::ModifyCFG);
#else
  return {};
#endif
}

inline llvm::Function* intrinsic(llvm::Module& module, llvm::Intrinsic::ID id,
                                 llvm::ArrayRef<llvm::Type*> overloads) {
#if LLVM_VERSION_MAJOR >= 20
  return llvm::Intrinsic::getOrInsertDeclaration(&module, id, overloads);
#else
  return llvm::Intrinsic::getDeclaration(&module, id, overloads);
#endif
}

// The attributes that describe a function's or call's memory effects.
inline void add_memory_kinds(llvm::AttributeMask& mask) {
#if LLVM_VERSION_MAJOR >= 16
  mask.addAttribute(llvm::Attribute::Memory);
#else
  mask.addAttribute(llvm::Attribute::ArgMemOnly);
  mask.addAttribute(llvm::Attribute::InaccessibleMemOnly);
  mask.addAttribute(llvm::Attribute::InaccessibleMemOrArgMemOnly);
#endif
}

}  // namespace softgpu
