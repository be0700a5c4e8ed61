// The functions of a kernel that the executor calls, and the constructor that registers them.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "../../compute/kernel_abi.h"
#include "lower.h"

using namespace llvm;

namespace softgpu {

namespace {

// void item(SoftgpuItem*): loads the arguments from the kernarg segment and runs the kernel.
Function* make_item(Program& program, const Kernel& kernel) {
  Module& module = program.module;
  LLVMContext& context = module.getContext();
  auto* pointer = PointerType::get(context, 0);
  auto* item = Function::Create(FunctionType::get(Type::getVoidTy(context), {pointer}, false),
                                GlobalValue::InternalLinkage, kernel.name + ".item", module);
  item->addFnAttr(Attribute::NoUnwind);
  IRBuilder<> builder(BasicBlock::Create(context, "", item));
  auto kernarg_of = module.getOrInsertFunction("item_amdgcn_kernarg_segment_ptr",
                                               FunctionType::get(pointer, {pointer}, false));
  Value* kernarg = builder.CreateCall(kernarg_of, {item->getArg(0)});
  std::vector<Value*> arguments{item->getArg(0)};
  for (unsigned i = 0; i < kernel.arguments.size(); i++) {
    auto [offset, in_place] = kernel.arguments[i];
    Value* at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), kernarg, offset);
    Type* type = kernel.function->getArg(i + 1)->getType();
    if (in_place) {
      arguments.push_back(at);
      continue;
    }
    LoadInst* load = builder.CreateAlignedLoad(type, at, MaybeAlign(MinAlign(16, offset)));
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));
    arguments.push_back(load);
  }
  CallInst* call = builder.CreateCall(kernel.function, arguments);
  call->addFnAttr(Attribute::AlwaysInline);
  builder.CreateRetVoid();
  return item;
}

// A copy of the support library's loop over all items, with this kernel's item.
Function* make_group(Program& program, const Kernel& kernel, Function* item) {
  Function* pattern = program.module.getFunction("softgpu_run_group");
  ValueToValueMapTy map;
  Function* group = CloneFunction(pattern, map);
  group->setName(kernel.name + ".group");
  group->setLinkage(GlobalValue::InternalLinkage);
  Function* placeholder = program.module.getFunction("softgpu_item");
  for (User* user : make_early_inc_range(placeholder->users())) {
    auto* call = dyn_cast<CallInst>(user);
    if (call && call->getFunction() == group) {
      call->setCalledFunction(item);
      call->addFnAttr(Attribute::AlwaysInline);
    }
  }
  return group;
}

Constant* text(Module& module, const std::string& value) {
  Constant* data = ConstantDataArray::getString(module.getContext(), value);
  auto* variable = new GlobalVariable(module, data->getType(), true, GlobalValue::PrivateLinkage,
                                      data, "softgpu.text");
  return variable;
}

GlobalVariable* table(Module& module, ArrayRef<Constant*> rows, StructType* row, const char* name) {
  auto* type = ArrayType::get(row, rows.size());
  auto* variable =
      new GlobalVariable(module, type, false, GlobalValue::InternalLinkage,
                         ConstantArray::get(type, rows), std::string("softgpu.") + name);
  variable->setAlignment(Align(8));
  return variable;
}

// void f() { if (auto g = dlsym(RTLD_DEFAULT, name)) g(&module); }
Function* make_notifier(Module& module, const char* name, Constant* description) {
  LLVMContext& context = module.getContext();
  auto* pointer = PointerType::get(context, 0);
  auto* nothing = Type::getVoidTy(context);
  auto* function = Function::Create(FunctionType::get(nothing, false), GlobalValue::InternalLinkage,
                                    std::string(name) + ".call", module);
  IRBuilder<> builder(BasicBlock::Create(context, "", function));
  auto* call = BasicBlock::Create(context, "", function);
  auto* end = BasicBlock::Create(context, "", function);
  auto dlsym = module.getOrInsertFunction("dlsym", pointer, pointer, pointer);
  Constant* everywhere = ConstantPointerNull::get(pointer);  // RTLD_DEFAULT
  Value* target = builder.CreateCall(dlsym, {everywhere, text(module, name)});
  builder.CreateCondBr(builder.CreateIsNotNull(target), call, end);
  builder.SetInsertPoint(call);
  builder.CreateCall(FunctionType::get(nothing, {pointer}, false), target, {description});
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
  return function;
}

}  // namespace

void add_entries(Program& program) {
  for (Kernel& kernel : program.kernels) {
    Function* item = make_item(program, kernel);
    kernel.function->setName(kernel.name + ".body");
    kernel.function = kernel.waits ? item : make_group(program, kernel, item);
  }
}

void add_registration(Program& program) {
  Module& module = program.module;
  LLVMContext& context = module.getContext();
  auto* pointer = PointerType::get(context, 0);
  auto* number = Type::getInt32Ty(context);
  Constant* null = ConstantPointerNull::get(pointer);
  auto value = [&](uint64_t v) { return ConstantInt::get(number, v); };

  auto* kernel_type = StructType::get(
      context, {pointer, pointer, pointer, number, number, number, number, number, number});
  if (module.getDataLayout().getTypeAllocSize(kernel_type) != sizeof(SoftgpuKernel))
    report_fatal_error("kernel_abi.h and the kernel table differ");
  std::vector<Constant*> kernels;
  for (const Kernel& kernel : program.kernels) {
    Constant* group = kernel.waits ? null : kernel.function;
    Constant* item = kernel.waits ? kernel.function : null;
    kernels.push_back(ConstantStruct::get(
        kernel_type, {text(module, kernel.name), group, item, value(kernel.lds_bytes),
                      value(kernel.implicit_offset), value(0), value(kernel.wave_size),
                      value(kernel.watches), value(0)}));
  }
  GlobalVariable* kernel_table = table(module, kernels, kernel_type, "kernels");
  kernel_table->setSection(kKernelSection);  // emit() fills in the stack sizes

  auto* variable_type = StructType::get(context, {pointer, pointer});
  std::vector<Constant*> variables;
  for (const Variable& variable : program.variables)
    variables.push_back(ConstantStruct::get(
        variable_type, {text(module, variable.name), variable.copy ? variable.copy : null}));
  GlobalVariable* variable_table = table(module, variables, variable_type, "variables");

  auto* module_type =
      StructType::get(context, {number, number, pointer, number, number, pointer, pointer});
  Constant* description =
      ConstantStruct::get(module_type, {value(SOFTGPU_ABI), value(kernels.size()), kernel_table,
                                        value(variables.size()), value(0), variable_table, null});
  auto* variable = new GlobalVariable(module, module_type, false, GlobalValue::InternalLinkage,
                                      description, "softgpu.module");
  appendToGlobalCtors(module, make_notifier(module, "softgpu_register_module", variable), 65535);
  appendToGlobalDtors(module, make_notifier(module, "softgpu_unregister_module", variable), 65535);
}

}  // namespace softgpu
