// The steps of softgpu-lower, in order. Each works on the whole module of one HIP source: its
// kernels and device functions, as clang and the device libraries produce them for an AMD GPU.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class Constant;
class Function;
class GlobalVariable;
class LLVMContext;
class Module;
class User;
class raw_pwrite_stream;
}  // namespace llvm

namespace softgpu {

enum class Need { kNothing, kItem, kWait, kLane };

// A support library function that implements an intrinsic.
struct Support {
  llvm::Function* function = nullptr;
  Need need = Need::kNothing;
};
Support find_support(const llvm::Module& support, const std::string& key);
// "llvm.amdgcn.atomic.inc.i32.p1" -> "amdgcn_atomic_inc_i32"
std::string support_key(const llvm::Function& callee);
// Whether calls of it are replaced (or have to be): target intrinsics and functions without a body.
bool is_another_tools(const llvm::Function& callee, const llvm::Module& support);
// The support function, or the first of several that return one element each.
Support support_of(const llvm::Function& callee, const llvm::Module& support);

// `start` and all that is reached from it; next(node) are those that a node leads to.
template <class Node, class Next>
std::set<Node*> reached_from(Node* start, const Next& next) {
  std::set<Node*> seen{start};
  std::vector<Node*> todo{start};
  while (!todo.empty()) {
    Node* at = todo.back();
    todo.pop_back();
    for (Node* other : next(at))
      if (seen.insert(other).second) todo.push_back(other);
  }
  return seen;
}

// Adds the constants that an instruction or a constant is made of, but not those of functions.
void add_constants(llvm::User& user, std::set<llvm::Constant*>& found);

struct KernelArgument {
  uint64_t offset = 0;    // in the kernarg segment
  bool in_place = false;  // an aggregate: the kernel gets its address
};

struct Kernel {
  llvm::Function* function = nullptr;  // the device's; later the host's
  std::string name;
  std::vector<KernelArgument> arguments;
  uint64_t implicit_offset = 0;
  uint64_t lds_bytes = 0;
  uint32_t wave_size = 64;
  bool waits = false;        // its items wait for each other
  bool watches = false;      // its items wait for memory that other groups may change
  bool knows_stack = false;  // no recursion, no calls through pointers
};

struct Variable {
  std::string name;
  llvm::GlobalVariable* copy = nullptr;
};

struct Program {
  llvm::Module& module;
  const llvm::Module& support;
  std::vector<Kernel> kernels;
  std::vector<Variable> variables;
};

// waits.cpp: loops that wait for other items let those run. Functions in which these may belong to
// other groups get the attribute kWatches.
constexpr char kWatches[] = "softgpu-watches";
void let_others_run(Program& program);
// analyse.cpp: finds the kernels; drops those that need something that cannot be lowered (with a
// warning on stderr), and everything that only they use.
void find_kernels(Program& program);
// variables.cpp: the addresses of __shared__ and __device__ variables come from the work item.
void place_variables(Program& program);
// sites.cpp: numbers the points where lanes meet, in the order in which diverged lanes reach them.
void number_sites(Program& program);
constexpr char kSite[] = "softgpu.site";
// convert.cpp: every function gets the work item as first argument, pointers lose their address
// spaces, intrinsics become support functions. Afterwards the module has the target of `host`.
void convert(Program& program, const llvm::Module& host);
// entries.cpp: adds the functions that the executor calls, and the table that registers them.
void add_entries(Program& program);
void add_registration(Program& program);
constexpr char kKernelSection[] = "softgpu_kernels";
// emit.cpp: optimises and writes an object file.
bool emit(Program& program, const std::string& cpu, const std::string& path, bool as_text);

}  // namespace softgpu
