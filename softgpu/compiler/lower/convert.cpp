// Turns the device module into a host module. Functions are cloned with the work item as an
// additional first argument and without address spaces; then each call is brought into its host
// form.
#include <llvm/IR/Constants.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>
#include <algorithm>

#include "llvm.h"
#include "lower.h"

using namespace llvm;

namespace softgpu {

namespace {

constexpr unsigned kConstantKind = 4;  // memory that a kernel cannot change

class FlatTypes : public ValueMapTypeRemapper {
 public:
  Type* remapType(Type* type) override {
    if (Type*& known = known_[type]) return known;
    Type* flat = make(type);
    return known_[type] = flat;
  }

 private:
  Type* make(Type* type) {
    if (isa<PointerType>(type)) return PointerType::get(type->getContext(), 0);
    if (auto* array = dyn_cast<ArrayType>(type))
      return ArrayType::get(remapType(array->getElementType()), array->getNumElements());
    if (auto* vector = dyn_cast<FixedVectorType>(type))
      return FixedVectorType::get(remapType(vector->getElementType()), vector->getNumElements());
    if (auto* function = dyn_cast<FunctionType>(type)) {
      std::vector<Type*> parameters;
      for (Type* parameter : function->params()) parameters.push_back(remapType(parameter));
      return FunctionType::get(remapType(function->getReturnType()), parameters,
                               function->isVarArg());
    }
    auto* record = dyn_cast<StructType>(type);
    if (!record || record->isOpaque()) return type;
    std::vector<Type*> elements;
    for (Type* element : record->elements()) elements.push_back(remapType(element));
    if (std::equal(elements.begin(), elements.end(), record->element_begin())) return type;
    return StructType::get(type->getContext(), elements, record->isPacked());
  }

  std::map<Type*, Type*> known_;
};

// A cast between address spaces is a no-op on the host.
class KindCasts : public ValueMaterializer {
 public:
  KindCasts(ValueToValueMapTy& map, FlatTypes& types) : map_(map), types_(types) {}
  Value* materialize(Value* value) override {
    auto* expression = dyn_cast<ConstantExpr>(value);
    if (!expression || expression->getOpcode() != Instruction::AddrSpaceCast) return nullptr;
    return MapValue(expression->getOperand(0), map_, RF_None, &types_, this);
  }

 private:
  ValueToValueMapTy& map_;
  FlatTypes& types_;
};

AttributeMask memory_attributes() {
  AttributeMask mask;
  for (auto kind : {Attribute::ReadNone, Attribute::ReadOnly, Attribute::WriteOnly,
                    Attribute::Speculatable, Attribute::NoSync, Attribute::NoFree,
                    Attribute::NoRecurse, Attribute::WillReturn, Attribute::NoCallback})
    mask.addAttribute(kind);
  add_memory_kinds(mask);
  return mask;
}

class Converter {
 public:
  explicit Converter(Program& program)
      : program_(program),
        module_(program.module),
        context_(program.module.getContext()),
        casts_(map_, types_) {}

  void run(const ModuleTriple& triple, const std::string& layout) {
    std::vector<Function*> old_functions;
    for (Function& function : module_) old_functions.push_back(&function);
    std::vector<GlobalVariable*> old_variables;
    for (GlobalVariable& variable : module_.globals()) old_variables.push_back(&variable);
    for (GlobalVariable* variable : old_variables) declare(*variable);
    for (Function* function : old_functions) declare(*function);
    for (GlobalVariable* variable : old_variables) initialise(*variable);
    for (Function* function : old_functions)
      if (!function->isDeclaration()) clone(*function);
    module_.setTargetTriple(triple);
    module_.setDataLayout(layout);
    for (Function* function : old_functions)
      if (!function->isDeclaration()) finish(*cast<Function>(map_[function]));
    for (Kernel& kernel : program_.kernels) kernel.function = cast<Function>(map_[kernel.function]);
    for (Variable& variable : program_.variables)
      variable.copy = dyn_cast_or_null<GlobalVariable>(map_.lookup(variable.copy));
    for (Function* function : old_functions)
      if (is_replaced(*function)) function->dropAllReferences();
    for (Function* function : old_functions)
      if (is_replaced(*function)) remove(*function);
    for (GlobalVariable* variable : old_variables) remove(*variable);
  }

 private:
  bool is_replaced(Function& function) {
    auto at = map_.find(&function);
    return at != map_.end() && at->second != &function;
  }

  template <class T>
  void remove(T& value) {
    value.replaceAllUsesWith(PoisonValue::get(value.getType()));
    value.eraseFromParent();
  }

  void declare(GlobalVariable& variable) {
    if (begins(variable.getName(), "llvm.") || !variable.hasInitializer()) return;
    if (variable.getAddressSpace() == 3) return;
    auto* copy = new GlobalVariable(
        module_, types_.remapType(variable.getValueType()),
        variable.isConstant() && !variable.isExternallyInitialized(), GlobalValue::InternalLinkage,
        nullptr, variable.getName() + ".host", nullptr, GlobalValue::NotThreadLocal, 0u);
    copy->setAlignment(variable.getAlign());
    map_[&variable] = copy;
  }

  void initialise(GlobalVariable& variable) {
    if (!map_.count(&variable)) return;
    cast<GlobalVariable>(map_[&variable])
        ->setInitializer(MapValue(variable.getInitializer(), map_, RF_None, &types_, &casts_));
  }

  void declare(Function& old) {
    auto* type = cast<FunctionType>(types_.remapType(old.getFunctionType()));
    if (old.isDeclaration()) {
      if (!old.isIntrinsic() || is_another_tools(old, program_.support)) return;
      SmallVector<Type*, 4> overloads;
      if (!Intrinsic::getIntrinsicSignature(&old, overloads)) return;
      for (Type*& overload : overloads) overload = types_.remapType(overload);
      Function* flat = intrinsic(module_, old.getIntrinsicID(), overloads);
      if (flat != &old) map_[&old] = flat;
      return;
    }
    std::vector<Type*> parameters{PointerType::get(context_, 0)};
    parameters.insert(parameters.end(), type->param_begin(), type->param_end());
    auto* host = Function::Create(FunctionType::get(type->getReturnType(), parameters, false),
                                  GlobalValue::InternalLinkage, old.getName() + ".host", module_);
    for (unsigned i = 0; i < old.arg_size(); i++) map_[old.getArg(i)] = host->getArg(i + 1);
    map_[&old] = host;
  }

  void clone(Function& old) {
    auto* host = cast<Function>(map_[&old]);
    for (Instruction& instruction : instructions(old))
      if (auto* load = dyn_cast<LoadInst>(&instruction))
        if (load->getPointerAddressSpace() == kConstantKind)
          load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context_, {}));
    SmallVector<ReturnInst*, 8> returns;
    bool no_inline =
        old.hasFnAttribute(Attribute::NoInline) && !old.hasFnAttribute(Attribute::OptimizeNone);
    bool always_inline = old.hasFnAttribute(Attribute::AlwaysInline);
    CloneFunctionInto(host, &old, map_, CloneFunctionChangeType::LocalChangesOnly, returns, "",
                      nullptr, &types_, &casts_);
    // The function's memory effects change: it reads the work item, and may wait.
    AttributeList attributes = host->getAttributes();
    AttrBuilder kept(context_);
    kept.addAttribute(Attribute::NoUnwind);
    if (no_inline) kept.addAttribute(Attribute::NoInline);
    if (always_inline) kept.addAttribute(Attribute::AlwaysInline);
    SmallVector<AttributeSet, 8> parameters;
    for (unsigned i = 0; i < host->arg_size(); i++)
      parameters.push_back(attributes.getParamAttrs(i).removeAttribute(context_, Attribute::ByRef));
    host->setAttributes(AttributeList::get(context_, AttributeSet::get(context_, kept),
                                           attributes.getRetAttrs(), parameters));
    host->setCallingConv(CallingConv::C);
    host->setLinkage(GlobalValue::InternalLinkage);
    host->setVisibility(GlobalValue::DefaultVisibility);
    host->setDSOLocal(true);
    host->setComdat(nullptr);
    host->setSection("");
  }

  // Brings the instructions of a cloned function into their host form.
  void finish(Function& host) {
    std::vector<Instruction*> all;
    for (Instruction& instruction : instructions(host)) all.push_back(&instruction);
    for (Instruction* instruction : all) {
      if (auto* cast = dyn_cast<AddrSpaceCastInst>(instruction)) {
        cast->replaceAllUsesWith(cast->getOperand(0));
        cast->eraseFromParent();
      } else if (auto* call = dyn_cast<CallInst>(instruction)) {
        finish_call(*call, host.getArg(0));
      } else if (auto* operation = dyn_cast<BinaryOperator>(instruction)) {
        guard_division(*operation);
      } else {
        widen_scope(*instruction);
      }
    }
  }

  void finish_call(CallInst& call, Value* item) {
    if (call.isInlineAsm()) {
      // Contains no instructions, or the kernel would have been rejected.
      if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(call.getArgOperand(0));
      call.eraseFromParent();
      return;
    }
    // Not getCalledFunction(): the call's type has lost its address spaces, the callee's has not.
    auto* callee = dyn_cast<Function>(call.getCalledOperand());
    if (callee && is_another_tools(*callee, program_.support)) {
      replace_by_support(call, *callee, item);
    } else if (!callee || !callee->isIntrinsic()) {
      pass_item(call, item);
    }
  }

  void pass_item(CallInst& call, Value* item) {
    std::vector<Type*> types{item->getType()};
    std::vector<Value*> arguments{item};
    AttributeList old = call.getAttributes();
    SmallVector<AttributeSet, 8> attributes{AttributeSet()};
    for (unsigned i = 0; i < call.arg_size(); i++) {
      types.push_back(call.getArgOperand(i)->getType());
      arguments.push_back(call.getArgOperand(i));
      attributes.push_back(old.getParamAttrs(i));
    }
    IRBuilder<> builder(&call);
    auto* type = FunctionType::get(call.getType(), types, false);
    CallInst* fresh = builder.CreateCall(type, call.getCalledOperand(), arguments);
    fresh->setAttributes(AttributeList::get(
        context_, old.getFnAttrs().removeAttributes(context_, memory_attributes()),
        old.getRetAttrs(), attributes));
    fresh->takeName(&call);
    call.replaceAllUsesWith(fresh);
    call.eraseFromParent();
  }

  Value* convert_to(IRBuilder<>& builder, Value* value, Type* type) {
    if (value->getType() == type) return value;
    if (value->getType()->isIntegerTy() && type->isIntegerTy())
      return builder.CreateZExtOrTrunc(value, type);
    return builder.CreateBitOrPointerCast(value, type);
  }

  // A vector that is too long for registers is passed by address, and C's function changes it
  // there.
  Value* place_of(Value* vector, CallInst& call, IRBuilder<>& builder) {
    IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
    Value* place = entry.CreateAlloca(vector->getType());
    builder.CreateStore(vector, place);
    return place;
  }

  // `changed`: where the result is, if the function does not return it.
  CallInst* call_support(const Support& support, CallInst& call, Value* item, Value*& changed) {
    FunctionType* type = support.function->getFunctionType();
    IRBuilder<> builder(&call);
    std::vector<Value*> arguments;
    if (support.need != Need::kNothing) arguments.push_back(item);
    if (support.need == Need::kLane) {
      auto* site = mdconst::extract<ConstantInt>(call.getMetadata(kSite)->getOperand(0));
      arguments.push_back(site);
    }
    for (Value* argument : call.args()) {
      if (arguments.size() == type->getNumParams()) break;
      Type* wanted = type->getParamType(arguments.size());
      if (argument->getType()->isVectorTy() && wanted->isPointerTy()) {
        changed = place_of(argument, call, builder);
        arguments.push_back(changed);
      } else {
        arguments.push_back(convert_to(builder, argument, wanted));
      }
    }
    auto callee = module_.getOrInsertFunction(support.function->getName(), type);
    CallInst* fresh = builder.CreateCall(callee, arguments);
    if (support.need == Need::kLane || support.need == Need::kWait) fresh->setConvergent();
    return fresh;
  }

  void replace_by_support(CallInst& call, const Function& callee, Value* item) {
    IRBuilder<> builder(&call);
    std::string key = support_key(callee);
    Value* result;
    Value* changed = nullptr;
    if (auto* record = dyn_cast<StructType>(call.getType())) {
      result = PoisonValue::get(record);
      for (unsigned i = 0; i < record->getNumElements(); i++) {
        Support one = find_support(program_.support, key + "_r" + std::to_string(i));
        Value* element = call_support(one, call, item, changed);
        element = convert_to(builder, element, record->getElementType(i));
        result = builder.CreateInsertValue(result, element, i);
      }
    } else {
      result = call_support(find_support(program_.support, key), call, item, changed);
      if (changed) result = builder.CreateLoad(call.getType(), changed);
      if (!call.getType()->isVoidTy()) result = convert_to(builder, result, call.getType());
    }
    if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(result);
    call.eraseFromParent();
  }

  // An integer division by zero has a result on a GPU, but raises a signal on the host.
  void guard_division(BinaryOperator& operation) {
    auto opcode = operation.getOpcode();
    bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
    if (!is_signed && opcode != Instruction::UDiv && opcode != Instruction::URem) return;
    Value* divisor = operation.getOperand(1);
    if (isa<Constant>(divisor)) return;
    Type* type = divisor->getType();
    IRBuilder<> builder(&operation);
    Value* bad = builder.CreateICmpEQ(divisor, Constant::getNullValue(type));
    if (is_signed) {
      unsigned bits = type->getScalarSizeInBits();
      Value* lowest = ConstantInt::get(type, APInt::getSignedMinValue(bits));
      Value* is_lowest = builder.CreateICmpEQ(operation.getOperand(0), lowest);
      Value* is_minus_one = builder.CreateICmpEQ(divisor, Constant::getAllOnesValue(type));
      bad = builder.CreateOr(bad, builder.CreateAnd(is_lowest, is_minus_one));
    }
    operation.setOperand(1, builder.CreateSelect(bad, ConstantInt::get(type, 1), divisor));
  }

  // GPU synchronisation scopes differ from the host's. A work-group runs on one thread, so its own
  // fences only have to stop the compiler.
  void widen_scope(Instruction& instruction) {
    if (auto* load = dyn_cast<LoadInst>(&instruction)) load->setSyncScopeID(SyncScope::System);
    if (auto* store = dyn_cast<StoreInst>(&instruction)) store->setSyncScopeID(SyncScope::System);
    if (auto* fence = dyn_cast<FenceInst>(&instruction)) {
      SmallVector<StringRef, 8> names;
      context_.getSyncScopeNames(names);
      StringRef name = names[fence->getSyncScopeID()];
      bool within_group = begins(name, "workgroup") || begins(name, "wavefront");
      fence->setSyncScopeID(within_group ? SyncScope::SingleThread : SyncScope::System);
    }
    if (auto* rmw = dyn_cast<AtomicRMWInst>(&instruction)) rmw->setSyncScopeID(SyncScope::System);
    if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
      exchange->setSyncScopeID(SyncScope::System);
  }

  Program& program_;
  Module& module_;
  LLVMContext& context_;
  ValueToValueMapTy map_;
  FlatTypes types_;
  KindCasts casts_;
};

}  // namespace

void convert(Program& program, const Module& host) {
  Converter(program).run(host.getTargetTriple(), host.getDataLayoutStr());
}

}  // namespace softgpu
