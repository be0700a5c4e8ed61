// __shared__ variables get an offset in the work-group's LDS, followed by dynamic LDS; variables
// that the host can access by name are looked up where the runtime loaded them. A use of any of
// them becomes a call at the function's entry, which convert() turns into a support call. Other
// variables (constants, tables, statics) stay in the module.
#include <llvm/IR/Constants.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <algorithm>

#include "llvm.h"
#include "lower.h"

using namespace llvm;

namespace softgpu {

namespace {

constexpr unsigned kLds = 3;

bool is_dynamic_lds(const GlobalVariable& variable) {
  return variable.getAddressSpace() == kLds && variable.isDeclaration();
}

bool is_reached_by_name(const GlobalVariable& variable) {
  if (variable.getAddressSpace() == kLds || variable.hasLocalLinkage()) return false;
  if (begins(variable.getName(), "llvm.")) return false;
  return !variable.isConstant() || variable.isExternallyInitialized() || variable.isDeclaration();
}

bool uses_special(const Constant* constant) {
  if (auto* variable = dyn_cast<GlobalVariable>(constant))
    return variable->getAddressSpace() == kLds || is_reached_by_name(*variable);
  if (isa<GlobalValue>(constant)) return false;
  return any_of(constant->operands(),
                [](const Use& use) { return uses_special(cast<Constant>(use.get())); });
}

class Placer {
 public:
  explicit Placer(Program& program) : program_(program), module_(program.module) {}

  void run() {
    for (Function& function : module_)
      if (!function.isDeclaration()) users_of_lds(function);
    lay_out();
    for (Function& function : module_)
      if (!function.isDeclaration()) rewrite(function);
  }

 private:
  void users_of_lds(Function& function) {
    std::set<Constant*> constants;
    for (Instruction& instruction : instructions(function)) add_constants(instruction, constants);
    for (const Constant* constant : constants) {
      if (auto* callee = dyn_cast<Function>(constant)) references_[&function].insert(callee);
      auto* variable = dyn_cast<GlobalVariable>(constant);
      if (variable && variable->getAddressSpace() == kLds) lds_[&function].insert(variable);
    }
  }

  // Variables shared by kernels come first, at the same offset in all of them; those of a single
  // kernel follow, so that kernels do not pay for each other's.
  void lay_out() {
    std::map<const GlobalVariable*, std::vector<size_t>> kernels_of;
    for (size_t i = 0; i < program_.kernels.size(); i++)
      for (const GlobalVariable* variable : lds_of(program_.kernels[i].function))
        kernels_of[variable].push_back(i);
    uint64_t shared_end = 0;
    for (GlobalVariable& variable : module_.globals()) {
      auto at = kernels_of.find(&variable);
      if (at == kernels_of.end() || at->second.size() < 2) continue;
      shared_end = place(variable, shared_end);
      for (size_t kernel : at->second) program_.kernels[kernel].lds_bytes = shared_end;
    }
    std::vector<uint64_t> end(program_.kernels.size(), shared_end);
    for (GlobalVariable& variable : module_.globals()) {
      auto at = kernels_of.find(&variable);
      if (at == kernels_of.end() || at->second.size() != 1) continue;
      size_t kernel = at->second[0];
      end[kernel] = place(variable, end[kernel]);
      program_.kernels[kernel].lds_bytes = end[kernel];
    }
  }

  std::set<const GlobalVariable*> lds_of(const Function* kernel) {
    const auto references = [this](const Function* at) { return references_[at]; };
    std::set<const GlobalVariable*> found;
    for (const Function* function : reached_from(kernel, references))
      for (const GlobalVariable* variable : lds_[function])
        if (!is_dynamic_lds(*variable)) found.insert(variable);
    return found;
  }

  uint64_t place(GlobalVariable& variable, uint64_t at) {
    const DataLayout& layout = module_.getDataLayout();
    at = alignTo(at, std::max(layout.getPreferredAlign(&variable), Align(16)));
    offset_[&variable] = at;
    return at + layout.getTypeAllocSize(variable.getValueType());
  }

  uint32_t index_of(GlobalVariable& variable) {
    auto [at, is_new] = index_.emplace(&variable, program_.variables.size());
    if (is_new) program_.variables.push_back({variable.getName().str(), &variable});
    return at->second;
  }

  Value* address_of(GlobalVariable& variable, IRBuilder<>& builder) {
    Type* pointer = variable.getType();
    std::string suffix = "";
    auto call = [&](const char* name, Value* argument) {
      std::vector<Type*> types;
      std::vector<Value*> arguments;
      if (argument) types.push_back(argument->getType()), arguments.push_back(argument);
      auto callee = module_.getOrInsertFunction(name, FunctionType::get(pointer, types, false));
      return builder.CreateCall(callee, arguments);
    };
    if (is_dynamic_lds(variable)) return call("softgpu_dynamic_lds", nullptr);
    if (variable.getAddressSpace() == kLds)
      return call("softgpu_lds", builder.getInt64(offset_[&variable]));
    Value* flat = builder.CreateCall(
        module_.getOrInsertFunction("softgpu_variable", builder.getPtrTy(), builder.getInt32Ty()),
        {builder.getInt32(index_of(variable))});
    return builder.CreateAddrSpaceCast(flat, pointer);
  }

  Value* materialise(Constant* constant, IRBuilder<>& builder, std::map<Constant*, Value*>& made) {
    if (!uses_special(constant)) return constant;
    if (Value*& known = made[constant]) return known;
    if (auto* variable = dyn_cast<GlobalVariable>(constant))
      return made[constant] = address_of(*variable, builder);
    if (auto* expression = dyn_cast<ConstantExpr>(constant)) {
      std::vector<Value*> operands;
      for (Use& use : expression->operands())
        operands.push_back(materialise(cast<Constant>(use.get()), builder, made));
      Instruction* instruction = expression->getAsInstruction();
      for (unsigned i = 0; i < operands.size(); i++) instruction->setOperand(i, operands[i]);
      return made[constant] = builder.Insert(instruction);
    }
    Value* aggregate = PoisonValue::get(constant->getType());
    for (unsigned i = 0; i < constant->getNumOperands(); i++) {
      Value* element = materialise(cast<Constant>(constant->getOperand(i)), builder, made);
      aggregate = constant->getType()->isVectorTy()
                      ? builder.CreateInsertElement(aggregate, element, i)
                      : builder.CreateInsertValue(aggregate, element, i);
    }
    return made[constant] = aggregate;
  }

  void rewrite(Function& function) {
    std::vector<std::pair<Use*, Constant*>> uses;
    for (Instruction& instruction : instructions(function))
      for (Use& use : instruction.operands()) {
        auto* constant = dyn_cast<Constant>(use.get());
        if (constant && uses_special(constant)) uses.emplace_back(&use, constant);
      }
    IRBuilder<> builder(&*function.getEntryBlock().begin());
    std::map<Constant*, Value*> made;
    for (auto [use, constant] : uses) use->set(materialise(constant, builder, made));
  }

  Program& program_;
  Module& module_;
  std::map<const Function*, std::set<const GlobalVariable*>> lds_;
  std::map<const Function*, std::set<const Function*>> references_;
  std::map<const GlobalVariable*, uint64_t> offset_;
  std::map<const GlobalVariable*, uint32_t> index_;
};

}  // namespace

void place_variables(Program& program) { Placer(program).run(); }

}  // namespace softgpu
