// softgpu-lower: turns LLVM bitcode of a HIP source's device side into a host object file with its
// kernels, which it registers. Run by softgpu-hipcc.
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include "llvm.h"
#include "lower.h"

using namespace llvm;

namespace {

int fail(const Twine& message) {
  errs() << "softgpu-lower: " << message << "\n";
  return 1;
}

void run_passes(Module& module, ModulePassManager passes) {
  PassBuilder builder;
  softgpu::Analyses analyses(builder);
  passes.run(module, analyses.modules);
}

void drop_unused(Module& module, const std::set<const GlobalValue*>& keep) {
  for (const char* list : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable* variable = module.getGlobalVariable(list)) variable->eraseFromParent();
  internalizeModule(module, [&](const GlobalValue& value) { return keep.count(&value) != 0; });
  ModulePassManager passes;
  passes.addPass(GlobalDCEPass());
  run_passes(module, std::move(passes));
}

// Code that was compiled without optimisation keeps variables in memory, which hides what a loop
// waits for.
void promote_variables(Module& module) {
  for (Function& function : module) {
    if (!function.hasFnAttribute(Attribute::OptimizeNone)) continue;
    function.removeFnAttr(Attribute::OptimizeNone);
    function.removeFnAttr(Attribute::NoInline);
  }
  ModulePassManager passes;
  passes.addPass(createModuleToFunctionPassAdaptor(softgpu::scalar_replacement()));
  run_passes(module, std::move(passes));
}

void inline_marked(Module& module) {
  ModulePassManager passes;
  passes.addPass(AlwaysInlinerPass());
  run_passes(module, std::move(passes));
}

void replace_aliases(Module& module) {
  for (GlobalAlias& alias : make_early_inc_range(module.aliases())) {
    alias.replaceAllUsesWith(alias.getAliasee());
    alias.eraseFromParent();
  }
}

// The exec mask is a register of the GPU; here reading it is a meeting of lanes.
void replace_mask_reads(Module& module) {
  for (Function& function : module) {
    if (function.getIntrinsicID() != Intrinsic::read_register) continue;
    for (User* user : make_early_inc_range(function.users())) {
      auto* call = cast<CallInst>(user);
      auto* name = cast<MDNode>(cast<MetadataAsValue>(call->getArgOperand(0))->getMetadata());
      StringRef text = cast<MDString>(name->getOperand(0))->getString();
      if (!softgpu::begins(text, "exec")) continue;
      auto mask = module.getOrInsertFunction(("softgpu_" + text).str(), call->getType());
      CallInst* fresh = IRBuilder<>(call).CreateCall(mask);
      fresh->setConvergent();
      call->replaceAllUsesWith(fresh);
      call->eraseFromParent();
    }
  }
}

bool is_sound(const Module& module, const char* step) {
  if (!verifyModule(module, &errs())) return true;
  fail(Twine("the module is broken after ") + step);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("<device bitcode>"));
  cl::opt<std::string> output("o", cl::Required, cl::desc("object file"));
  cl::opt<std::string> library("support", cl::Required, cl::desc("bitcode of support/"));
  cl::opt<std::string> cpu("march", cl::init("x86-64"), cl::desc("host CPU, or native"));
  cl::opt<bool> as_text("S", cl::desc("write the host IR as text"));
  cl::ParseCommandLineOptions(argc, argv, "Lowers GPU kernels to host code for softgpu\n");
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();

  LLVMContext context;
  SMDiagnostic error;
  std::unique_ptr<Module> module = parseIRFile(input, error, context);
  if (!module) return fail(input + ": " + error.getMessage());
  std::unique_ptr<Module> support = parseIRFile(library, error, context);
  if (!support) return fail(library + ": " + error.getMessage());
  StripDebugInfo(*module);
  replace_aliases(*module);
  replace_mask_reads(*module);
  promote_variables(*module);

  softgpu::Program program{*module, *support, {}, {}};
  softgpu::let_others_run(program);
  softgpu::find_kernels(program);
  inline_marked(*module);
  std::set<const GlobalValue*> keep;
  for (const softgpu::Kernel& kernel : program.kernels) keep.insert(kernel.function);
  // A variable's linkage decides whether the host can access it, so variables keep theirs.
  for (const GlobalVariable& variable : module->globals())
    if (!variable.use_empty()) keep.insert(&variable);
  drop_unused(*module, keep);
  softgpu::place_variables(program);
  softgpu::number_sites(program);
  if (!is_sound(*module, "the device's steps")) return 1;
  softgpu::convert(program, *support);
  module->getOrInsertFunction("softgpu_run_group", Type::getVoidTy(context),
                              PointerType::get(context, 0));
  module->getOrInsertFunction("item_amdgcn_kernarg_segment_ptr", PointerType::get(context, 0),
                              PointerType::get(context, 0));
  if (Linker::linkModules(*module, std::move(support), Linker::LinkOnlyNeeded)) return 1;
  softgpu::add_entries(program);
  softgpu::add_registration(program);
  if (!is_sound(*module, "lowering")) return 1;
  drop_unused(*module, {});
  if (!softgpu::emit(program, cpu, output, as_text)) return fail("cannot write " + output);
  return 0;
}
