// The steps of softgpu-lower, in order. Each works on the whole module of one HIP source: the
// kernels and device functions as clang and the device libraries give them for an AMD GPU.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class Function;
class GlobalVariable;
class LLVMContext;
class Module;
class raw_pwrite_stream;
}  // namespace llvm

namespace softgpu {

enum class Need { kNothing, kItem, kWait, kLane };

// A function of the support library that stands in for an intrinsic.
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

struct KernelArgument {
  uint64_t offset = 0;    // in the kernarg segment
  bool in_place = false;  // an aggregate: the kernel gets its address
};

struct Kernel {
  llvm::Function* function = nullptr;  // the device's, later the host's
  std::string name;
  std::vector<KernelArgument> arguments;
  uint64_t implicit_offset = 0;
  uint64_t lds_bytes = 0;
  uint32_t wave_size = 64;
  bool waits = false;        // items wait for each other
  bool watches = false;      // items wait for memory that other groups may change
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

// waits.cpp: loops that wait for other items let them run. Functions where these may be of other
// groups have the attribute kWatches.
constexpr char kWatches[] = "softgpu-watches";
void let_others_run(Program& program);
// analyse.cpp: finds the kernels, drops (with a warning on stderr) those that need what cannot be
// lowered, and with them all that only they use.
void find_kernels(Program& program);
// variables.cpp: __shared__ and __device__ variables become addresses asked of the work item.
void place_variables(Program& program);
// sites.cpp: numbers the places where lanes meet, in the order in which diverged lanes get there.
void number_sites(Program& program);
constexpr char kSite[] = "softgpu.site";
// convert.cpp: every function gets the work item as first argument, pointers lose their kinds,
// intrinsics become support functions. The module is one for the target of `host` afterwards.
void convert(Program& program, const llvm::Module& host);
// entries.cpp: what the executor calls, and the table that registers it.
void add_entries(Program& program);
void add_registration(Program& program);
constexpr char kKernelSection[] = "softgpu_kernels";
// emit.cpp: optimises and writes an object file.
bool emit(Program& program, const std::string& cpu, const std::string& path, bool as_text);

}  // namespace softgpu
