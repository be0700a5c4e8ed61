// LLVM 15 to 21 under one set of names, where they differ.
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

// As a module names its target: a text up to LLVM 20.
using ModuleTriple = std::decay_t<decltype(std::declval<llvm::Module>().getTargetTriple())>;

#if LLVM_VERSION_MAJOR >= 18
constexpr auto kObjectFile = llvm::CodeGenFileType::ObjectFile;
#else
constexpr auto kObjectFile = llvm::CGFT_ObjectFile;
#endif

// The analyses that passes ask for; those of modules are what is handed on.
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

// What a function or a call says of the memory that it touches.
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
