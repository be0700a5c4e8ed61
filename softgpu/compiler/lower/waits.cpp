// Loops that wait for another work item: they read the same memory until it changes. On a GPU the
// other items run meanwhile; on the host they run when the waiting item yields, at the end of each
// iteration.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "lower.h"

using namespace llvm;

namespace softgpu {

namespace {

// Whether the instruction reads memory that only others change. A counter that the loop itself
// advances, or an exchange with the value read before, makes progress without them.
bool watches(const Instruction& instruction, const Loop& loop) {
  if (auto* load = dyn_cast<LoadInst>(&instruction))
    return (load->isAtomic() || load->isVolatile()) &&
           loop.isLoopInvariant(load->getPointerOperand());
  if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return loop.isLoopInvariant(exchange->getPointerOperand()) &&
           loop.isLoopInvariant(exchange->getCompareOperand());
  auto* rmw = dyn_cast<AtomicRMWInst>(&instruction);
  if (!rmw || !loop.isLoopInvariant(rmw->getPointerOperand())) return false;
  auto* constant = dyn_cast<ConstantInt>(rmw->getValOperand());
  bool counts =
      rmw->getOperation() == AtomicRMWInst::Add || rmw->getOperation() == AtomicRMWInst::Sub;
  return loop.isLoopInvariant(rmw->getValOperand()) && !(counts && constant && !constant->isZero());
}

// Whether the loop's exit depends on the value.
bool decides_exit(const Instruction& start, const Loop& loop) {
  const auto users_in_loop = [&](const Instruction* at) {
    std::vector<const Instruction*> found;
    for (const User* user : at->users())
      if (loop.contains(cast<Instruction>(user))) found.push_back(cast<Instruction>(user));
    return found;
  };
  return any_of(reached_from(&start, users_in_loop), [&](const Instruction* at) {
    return at->isTerminator() && loop.isLoopExiting(at->getParent());
  });
}

// Whether the memory may belong to other groups.
bool may_be_of_others(const Instruction& instruction) {
  constexpr unsigned kLds = 3;
  const Value* pointer = getPointerOperand(&instruction);
  return !pointer || pointer->getType()->getPointerAddressSpace() != kLds;
}

struct Waits {
  bool at_all = false, for_others = false;
};

Waits waits(const Loop& loop) {
  Waits found;
  for (const BasicBlock* block : loop.blocks()) {
    for (const Instruction& instruction : *block) {
      if (!watches(instruction, loop) || !decides_exit(instruction, loop)) continue;
      found.at_all = true;
      found.for_others |= may_be_of_others(instruction);
    }
  }
  return found;
}

}  // namespace

void let_others_run(Program& program) {
  LLVMContext& context = program.module.getContext();
  for (Function& function : program.module) {
    if (function.isDeclaration()) continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Loop* loop : loops.getLoopsInPreorder()) {
      const Waits found = waits(*loop);
      if (found.for_others) function.addFnAttr(kWatches);
      if (!found.at_all) continue;
      auto yield = program.module.getOrInsertFunction("softgpu_yield", Type::getVoidTy(context));
      SmallVector<BasicBlock*, 4> latches;
      loop->getLoopLatches(latches);
      for (BasicBlock* latch : latches) IRBuilder<>(latch->getTerminator()).CreateCall(yield);
    }
  }
}

}  // namespace softgpu
