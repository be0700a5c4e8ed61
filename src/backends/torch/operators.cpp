// libsonde-torch.so: operators and user scopes through at::RecordFunction.
//
// Built against one version of libtorch and loaded only into a program that runs that version
// (ensured by python/native.py), so this file is C++ with exceptions, like libtorch: none leaves a
// callback. Global callbacks run beside those of torch.profiler, which are thread-local; neither
// affects the other.
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <new>

#include "backends/torch/names.h"
#include "backends/torch/packing.h"
#include "base/errno_keeper.h"
#include "sonde/backend.h"

namespace {

using sonde::torch::Packing;

constexpr size_t kMostInputs = 64;
constexpr size_t kTypes = 64;  // values of c10::ScalarType
constexpr size_t kSequenceWords = 2;

const struct sonde_agent* g_agent;
uint32_t g_domain, g_user_category;
uint32_t g_scalar, g_scalar_list, g_tensor_list;  // Kineto's names for inputs, interned
uint64_t g_types[kTypes];  // names of element types, interned when first seen
bool g_is_attached;        // the process was attached to while it ran
at::CallbackHandle g_attached;

// What begin() leaves for end(). Allocated by malloc, so that nothing of libstdc++ is needed beyond
// what a call into libtorch needs anyway.
template <typename T>
struct Context : at::ObserverContext {
  static void operator delete(void* memory) { free(memory); }
  static std::unique_ptr<at::ObserverContext> make(size_t more, T** made) {
    void* memory = malloc(sizeof(T) + more);
    *made = memory != nullptr ? new (memory) T : nullptr;
    return std::unique_ptr<at::ObserverContext>(*made);
  }
};

struct Operator final : Context<Operator> {
  sonde_call call;
  uint32_t recording;
  Operator** thread;  // address of the thread's t_evaluating, which identifies the thread
  size_t words;
  uint64_t* arguments() { return reinterpret_cast<uint64_t*>(this + 1); }
};

// The autograd engine's call for the node that began last in this thread, while nothing is nested
// in it.
thread_local Operator* t_evaluating;

// A scope may end on another thread and need not nest.
struct UserScope final : Context<UserScope> {
  uint64_t range;
  uint32_t recording;
};

uint32_t type_id(const at::Tensor& tensor) {
  const auto type = static_cast<size_t>(tensor.scalar_type());
  if (type >= kTypes) return 0;
  uint32_t id =
      sonde::torch::id_in_this_recording(__atomic_load_n(&g_types[type], __ATOMIC_RELAXED));
  if (id == 0) {
    const auto name = tensor.dtype().name();
    id = g_agent->intern(name.data(), name.size());
    __atomic_store_n(&g_types[type], sonde::torch::in_this_recording(id), __ATOMIC_RELAXED);
  }
  return id;
}

// A tensor implemented in Python would run Python code to determine its size.
bool size_is_known(const at::Tensor& tensor) {
  const auto keys = tensor.key_set();
  return !keys.has(c10::DispatchKey::Python) && !keys.has(c10::DispatchKey::NestedTensor);
}

void pack_dims(Packing& dims, const at::Tensor& tensor) {
  if (!tensor.defined() || !size_is_known(tensor)) return dims.list(0);
  const auto sizes = tensor.sizes();
  dims.list(sizes.size());
  for (const int64_t size : sizes) dims.number(static_cast<uint64_t>(size));
}

void pack_list(Packing& dims, c10::ArrayRef<c10::IValue> tensors) {
  dims.list(tensors.size());
  for (const auto& tensor : tensors) {
    if (dims.full()) return;
    pack_dims(dims, tensor.toTensor());
  }
}

void pack_input(Packing& dims, Packing& types, const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    types.number(tensor.defined() ? type_id(tensor) : 0);
    return pack_dims(dims, tensor);
  }
  if (value.isTensorList()) {
    types.number(g_tensor_list);
    const size_t before = dims.length();
    pack_list(dims, value.toListRef());
    if (dims.full()) {
      dims.rewind(before);
      dims.list(0);
    }
    return;
  }
  const bool list = value.isIntList() || value.isDoubleList() || value.isBoolList();
  types.number(value.isScalar() ? g_scalar : list ? g_scalar_list : 0);
  dims.list(0);
}

void pack_inputs(Packing& dims, Packing& types, const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  if (inputs.empty() || inputs.size() > kMostInputs) return;
  try {
    dims.list(inputs.size());
    types.list(inputs.size());
    for (const auto& input : inputs) pack_input(dims, types, input);
  } catch (...) {  // a foreign tensor type that cannot report its size
    dims.rewind(0);
    types.rewind(0);
  }
  if (dims.full()) dims.rewind(0);
  if (types.full()) types.rewind(0);
}

bool evaluates_node(const char* name) {
  constexpr char kPrefix[] = "autograd::engine::evaluate_function: ";
  return strncmp(name, kPrefix, sizeof kPrefix - 1) == 0;
}

// Only the node's own call has the sequence number that links it to its forward operator. Like
// torch.profiler, we give the same number to the engine's call around it.
void add_sequence(Operator* to, const at::RecordFunction& function) {
  uint64_t* end = to->arguments() + to->words;
  end[0] = static_cast<uint64_t>(function.seqNr());
  end[1] = function.forwardThreadId();
  to->words += kSequenceWords;
}

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction& function) {
  const uint32_t id = sonde::torch::operator_id(g_agent, function.name());
  if (id == 0) {
    g_agent->dropped("torch operators", 1);
    return nullptr;
  }
  Packing dims, types;
  pack_inputs(dims, types, function);
  uint64_t words[SONDE_ARGS_MAX_WORDS];
  uint64_t* end = types.write(dims.write(words));
  Operator* made = nullptr;
  const auto count = static_cast<size_t>(end - words);
  auto context = Context<Operator>::make((count + kSequenceWords) * sizeof *words, &made);
  if (made == nullptr) return nullptr;
  memcpy(made->arguments(), words, count * sizeof *words);
  made->words = count;
  made->recording = sonde::torch::this_recording();
  made->thread = &t_evaluating;
  const bool has_sequence = function.seqNr() >= 0;
  if (has_sequence) add_sequence(made, function);
  if (has_sequence && t_evaluating != nullptr &&
      function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    add_sequence(t_evaluating, function);
  }
  t_evaluating = !has_sequence && evaluates_node(function.name()) ? made : nullptr;
  made->call = g_agent->call_begin(id, 0);
  return context;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  if (g_agent->recording() == 0) return nullptr;
  const sonde::ErrnoKeeper keep;
  if (function.scope() != at::RecordScope::USER_SCOPE) return begin_operator(function);
  UserScope* made = nullptr;
  auto context = Context<UserScope>::make(0, &made);
  if (made != nullptr) {
    made->recording = sonde::torch::this_recording();
    made->range = g_agent->range_start(g_domain, g_user_category, function.name());
  }
  return context;
}

// An operator that began in one recording may end in another one, or in none.
bool is_of_this_recording(uint32_t recording) {
  return recording == sonde::torch::this_recording() &&
         (!g_is_attached || g_agent->recording() != 0);
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;
  const sonde::ErrnoKeeper keep;
  if (function.scope() == at::RecordScope::USER_SCOPE) {
    const auto* scope = static_cast<UserScope*>(context);
    if (is_of_this_recording(scope->recording)) g_agent->range_stop(scope->range);
    return;
  }
  auto* started = static_cast<Operator*>(context);
  if (t_evaluating == started) t_evaluating = nullptr;
  if (!is_of_this_recording(started->recording)) return;
  if (started->thread != &t_evaluating) return g_agent->dropped("torch operators", 1);
  g_agent->call_end(&started->call, 0, started->arguments(), started->words);
}

uint32_t intern(const char* text) { return g_agent->intern(text, strlen(text)); }

bool add_callback(const struct sonde_agent* agent) {
  g_agent = agent;
  g_domain = intern("torch");
  g_user_category = intern("user_annotation");
  g_scalar = intern("Scalar");
  g_scalar_list = intern("ScalarList");
  g_tensor_list = intern("TensorList");
  try {
    g_attached = at::addGlobalCallback(at::RecordFunctionCallback(begin, end).needsInputs(true));
  } catch (...) {
    return false;
  }
  return true;
}

}  // namespace

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

// Called once, after `import torch`. Returns 0 if this process is not recorded.
SONDE_EXPORT int sonde_torch_start(void) {
  if (g_agent != nullptr) return 1;
  const struct sonde_agent* agent = sonde_find_agent();
  return agent != nullptr && add_callback(agent) ? 1 : 0;
}

// Called repeatedly in a process that is attached to (rocm/late). Returns 0 if the process is
// already recorded, or if libtorch does not accept the callback.
SONDE_EXPORT int sonde_torch_attach(const struct sonde_agent* agent) {
  if (g_agent != nullptr && !g_is_attached) return 0;
  g_is_attached = true;
  sonde::torch::begin_recording();
  return add_callback(agent) ? 1 : 0;
}

SONDE_EXPORT void sonde_torch_detach(void) {
  try {
    at::removeCallback(g_attached);
  } catch (...) {
  }
}
