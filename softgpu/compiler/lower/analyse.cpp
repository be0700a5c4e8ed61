// Analyses what each kernel reaches: whether all of it can be lowered, whether its items wait for
// each other, and whether its stack size is known.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Regex.h>
#include <llvm/Support/raw_ostream.h>

#include "llvm.h"
#include "lower.h"

using namespace llvm;

namespace softgpu {

namespace {

struct Facts {
  std::set<std::string> obstacles;
  std::set<Function*> references;  // with a body: called, or their address is taken
  bool waits = false;
  bool calls_pointer = false;
  bool dynamic_stack = false;
};

// Inline assembly without instructions: an optimisation barrier, which returns its operand, if any.
bool is_only_a_comment(const CallBase& call) {
  StringRef text = cast<InlineAsm>(call.getCalledOperand())->getAsmString();
  text = text.ltrim();
  if (!text.empty() && (text[0] != ';' || text.contains('\n'))) return false;
  if (call.getType()->isVoidTy()) return true;
  return call.arg_size() == 1 && call.getArgOperand(0)->getType() == call.getType();
}

void look_at_call(CallBase& call, const Module& support, Facts& facts) {
  if (auto* text = dyn_cast<InlineAsm>(call.getCalledOperand())) {
    if (!is_only_a_comment(call))
      facts.obstacles.insert(("inline assembly '" + Twine(text->getAsmString()) + "'").str());
    return;
  }
  Function* callee = call.getCalledFunction();
  if (!callee) {
    facts.calls_pointer = true;
    return;
  }
  if (isa<InvokeInst>(call) || isa<CallBrInst>(call)) facts.obstacles.insert("exceptions");
  if (callee->getIntrinsicID() == Intrinsic::read_register ||
      callee->getIntrinsicID() == Intrinsic::read_volatile_register)
    facts.obstacles.insert("a register read by name");
  if (!is_another_tools(*callee, support)) return;
  Support found = support_of(*callee, support);
  if (!found.function) facts.obstacles.insert(callee->getName().str());
  if (found.need == Need::kWait || found.need == Need::kLane) facts.waits = true;
}

Facts facts_of(Function& function, const Module& support) {
  Facts facts;
  std::set<Constant*> constants;
  for (Instruction& instruction : instructions(function)) {
    if (auto* call = dyn_cast<CallBase>(&instruction)) look_at_call(*call, support, facts);
    if (auto* alloca = dyn_cast<AllocaInst>(&instruction))
      facts.dynamic_stack |= !alloca->isStaticAlloca();
    add_constants(instruction, constants);
  }
  for (Constant* constant : constants) {
    auto* callee = dyn_cast<Function>(constant);
    if (callee && !callee->isDeclaration()) facts.references.insert(callee);
  }
  return facts;
}

std::set<Function*> reached(const std::map<Function*, Facts>& facts, Function* start) {
  return reached_from(
      start, [&](Function* at) -> const std::set<Function*>& { return facts.at(at).references; });
}

// The functions on a cycle of references.
std::set<Function*> recursive(const std::map<Function*, Facts>& facts) {
  std::set<Function*> found;
  for (const auto& [start, unused] : facts)
    for (Function* each : reached(facts, start))
      if (facts.at(each).references.count(start)) found.insert(start);
  return found;
}

// The layout of the kernarg segment, by the rules of the AMD GPU ABI.
void lay_out_arguments(Kernel& kernel, const DataLayout& layout) {
  uint64_t offset = 0;
  for (Argument& argument : kernel.function->args()) {
    Type* type = argument.hasByRefAttr() ? argument.getParamByRefType() : argument.getType();
    MaybeAlign given = argument.hasByRefAttr() ? argument.getParamAlign() : MaybeAlign();
    offset = alignTo(offset, given ? *given : layout.getABITypeAlign(type));
    kernel.arguments.push_back({offset, argument.hasByRefAttr()});
    offset += layout.getTypeAllocSize(type);
  }
  kernel.implicit_offset = alignTo(offset, 8);
}

uint32_t wave_size_of(const Function& function) {
  StringRef features = function.getFnAttribute("target-features").getValueAsString();
  if (features.contains("+wavefrontsize32")) return 32;
  if (features.contains("+wavefrontsize64")) return 64;
  StringRef cpu = function.getFnAttribute("target-cpu").getValueAsString();
  return begins(cpu, "gfx10") || begins(cpu, "gfx11") ? 32 : 64;
}

// A function that waits must be inlined into its kernel: the order of meeting points is known
// within one function only.
void inline_what_waits(const std::map<Function*, Facts>& facts, const std::set<Function*>& cyclic) {
  for (const auto& [function, unused] : facts) {
    const auto waits = [&](Function* each) { return facts.at(each).waits; };
    if (cyclic.count(function) || !any_of(reached(facts, function), waits)) continue;
    function->removeFnAttr(Attribute::NoInline);
    function->removeFnAttr(Attribute::OptimizeNone);
    if (function->getCallingConv() != CallingConv::AMDGPU_KERNEL)
      function->addFnAttr(Attribute::AlwaysInline);
  }
}

void reject(const Kernel& kernel, const std::set<std::string>& obstacles) {
  std::string list;
  for (const std::string& obstacle : obstacles) list += (list.empty() ? "" : ", ") + obstacle;
  errs() << "softgpu-hipcc: warning: kernel " << kernel.name << " uses " << list
         << ", which host code cannot do; softgpu runs its machine code\n";
}

}  // namespace

std::string support_key(const Function& callee) {
  std::string name = callee.getName().str();
  if (callee.isIntrinsic()) {
    name = name.substr(5);
    name = Regex("\\.p[0-9]+").sub("", name);
  }
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

void add_constants(User& user, std::set<Constant*>& found) {
  for (Use& use : user.operands()) {
    auto* constant = dyn_cast<Constant>(use.get());
    if (constant && found.insert(constant).second && !isa<Function>(constant))
      add_constants(*constant, found);
  }
}

Support find_support(const Module& support, const std::string& key) {
  const std::pair<const char*, Need> kinds[] = {{"pure_", Need::kNothing},
                                                {"item_", Need::kItem},
                                                {"wait_", Need::kWait},
                                                {"lane_", Need::kLane}};
  for (auto [prefix, need] : kinds)
    if (Function* function = support.getFunction(prefix + key)) return {function, need};
  return {};
}

Support support_of(const Function& callee, const Module& support) {
  Support found = find_support(support, support_key(callee));
  return found.function ? found : find_support(support, support_key(callee) + "_r0");
}

bool is_another_tools(const Function& callee, const Module& support) {
  if (!callee.isDeclaration()) return false;
  if (!callee.isIntrinsic() || begins(callee.getName(), "llvm.amdgcn.")) return true;
  return support_of(callee, support).function != nullptr;
}

void find_kernels(Program& program) {
  std::map<Function*, Facts> facts;
  for (Function& function : program.module)
    if (!function.isDeclaration()) facts.emplace(&function, facts_of(function, program.support));
  std::set<Function*> cyclic = recursive(facts);

  for (Function& function : program.module) {
    if (function.isDeclaration() || function.getCallingConv() != CallingConv::AMDGPU_KERNEL)
      continue;
    Kernel kernel;
    kernel.function = &function;
    kernel.name = function.getName().str();
    kernel.wave_size = wave_size_of(function);
    kernel.knows_stack = true;
    lay_out_arguments(kernel, program.module.getDataLayout());
    std::set<std::string> obstacles;
    for (Function* at : reached(facts, &function)) {
      const Facts& own = facts.at(at);
      obstacles.insert(own.obstacles.begin(), own.obstacles.end());
      kernel.waits |= own.waits;
      kernel.watches |= at->hasFnAttribute(kWatches);
      kernel.knows_stack &= !own.calls_pointer && !own.dynamic_stack && !cyclic.count(at);
    }
    if (obstacles.empty())
      program.kernels.push_back(kernel);
    else
      reject(kernel, obstacles);
  }
  inline_what_waits(facts, cyclic);
}

}  // namespace softgpu
