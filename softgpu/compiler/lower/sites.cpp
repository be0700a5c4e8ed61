// Lanes of a wave run one after the other until each waits at a point where lanes meet. When none
// can continue, those at the first point in program order do: on the GPU the others would be
// waiting for them further on. So points are numbered in an order in which a loop's blocks are
// contiguous and precede what follows the loop. Nor may a lane get an iteration ahead of another
// one: in a loop whose points may be bypassed, all lanes meet once more at the end of the
// iteration.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "lower.h"

using namespace llvm;

namespace softgpu {

namespace {

class SiteNumbering {
 public:
  SiteNumbering(Program& program, Function& function, uint32_t& next)
      : program_(program), function_(function), next_(next) {
    dominators_.recalculate(function);
    loops_.analyze(dominators_);
  }

  void run() {
    if (!has_sites()) return;
    for (Loop* loop : loops_.getTopLevelLoops())
      simplifyLoop(loop, &dominators_, &loops_, nullptr, nullptr, nullptr, false);
    for (Loop* loop : loops_.getLoopsInPreorder())
      if (can_get_ahead(*loop)) converge(*loop);
    visit(nullptr, &function_.getEntryBlock());
    for (BasicBlock* block : order_)
      for (Instruction& instruction : *block)
        if (is_site(instruction)) number(instruction);
  }

 private:
  bool is_site(const Instruction& instruction) const {
    auto* call = dyn_cast<CallBase>(&instruction);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    return callee && is_another_tools(*callee, program_.support) &&
           support_of(*callee, program_.support).need == Need::kLane;
  }
  bool has_site(const BasicBlock& block) const {
    return any_of(block, [this](const Instruction& i) { return is_site(i); });
  }
  bool has_sites() const {
    return any_of(function_, [this](const BasicBlock& block) { return has_site(block); });
  }

  bool can_get_ahead(const Loop& loop) const {
    const BasicBlock* latch = loop.getLoopLatch();
    for (const BasicBlock* block : loop.blocks()) {
      if (!has_site(*block)) continue;
      if (loops_.getLoopFor(block) != &loop) return true;  // it may run a varying number of times
      if (!latch || !dominators_.dominates(block, latch)) return true;
    }
    return false;
  }

  void converge(const Loop& loop) {
    Module& module = program_.module;
    auto meet =
        module.getOrInsertFunction("softgpu_converge", Type::getVoidTy(module.getContext()));
    SmallVector<BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    for (BasicBlock* latch : latches)
      IRBuilder<>(latch->getTerminator()).CreateCall(meet)->setConvergent();
  }

  void number(Instruction& instruction) {
    LLVMContext& context = function_.getContext();
    auto* id = ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), next_++));
    instruction.setMetadata(kSite, MDNode::get(context, id));
  }

  // The loop directly inside `region` that contains the block; none if the block is the region's
  // own.
  Loop* child(const Loop* region, const BasicBlock* block) const {
    Loop* loop = loops_.getLoopFor(block);
    while (loop && loop != region && loop->getParentLoop() != region) loop = loop->getParentLoop();
    return loop == region ? nullptr : loop;
  }

  // Appends the region's blocks: its children in topological order, each loop as a whole.
  void visit(const Loop* region, BasicBlock* entry) {
    std::vector<BasicBlock*> post;
    std::set<BasicBlock*> seen;
    walk(region, entry, seen, post);
    for (auto node = post.rbegin(); node != post.rend(); ++node) {
      if (Loop* inner = child(region, *node))
        visit(inner, *node);
      else
        order_.push_back(*node);
    }
  }

  // Depth-first over blocks and loops of the region; a loop is represented by its header.
  void walk(const Loop* region, BasicBlock* node, std::set<BasicBlock*>& seen,
            std::vector<BasicBlock*>& post) {
    if (!seen.insert(node).second) return;
    auto follow = [&](BasicBlock* from) {
      for (BasicBlock* to : successors(from)) {
        if (region && (!region->contains(to) || region->getHeader() == to)) continue;
        const Loop* inner = child(region, to);
        walk(region, inner ? inner->getHeader() : to, seen, post);
      }
    };
    if (const Loop* inner = child(region, node)) {
      for (BasicBlock* block : inner->blocks()) follow(block);
    } else {
      follow(node);
    }
    post.push_back(node);
  }

  Program& program_;
  Function& function_;
  uint32_t& next_;
  DominatorTree dominators_;
  LoopInfo loops_;
  std::vector<BasicBlock*> order_;
};

}  // namespace

void number_sites(Program& program) {
  uint32_t next = 1;
  for (Function& function : program.module)
    if (!function.isDeclaration()) SiteNumbering(program, function, next).run();
}

}  // namespace softgpu
