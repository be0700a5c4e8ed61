#include "trace/category.h"

#include <strings.h>

#include "base/strings.h"

namespace sonde::trace {

namespace {

bool contains_ignoring_case(std::string_view text, std::string_view word) {
  for (size_t i = 0; i + word.size() <= text.size(); ++i) {
    if (strncasecmp(text.data() + i, word.data(), word.size()) == 0) return true;
  }
  return false;
}

}  // namespace

const char* category_name(Category category) {
  constexpr const char* kNames[kCategories] = {"compute", "communication", "copy", "memset",
                                               "other"};
  return kNames[static_cast<size_t>(category)];
}

bool is_xccl(std::string_view kernel) {
  return contains_ignoring_case(kernel, "nccl") || contains_ignoring_case(kernel, "rccl");
}

Category category_of_op(store::OpClass op_class, std::string_view name) {
  switch (op_class) {
    case store::OpClass::kCopy:
      return Category::kCopy;
    case store::OpClass::kFill:
      return Category::kMemset;
    case store::OpClass::kKernel:
      if (starts_with_any(name, {"__amd_rocclr_copy"})) return Category::kCopy;
      if (starts_with_any(name, {"__amd_rocclr_fill"})) return Category::kMemset;
      return is_communication(name) ? Category::kCommunication : Category::kCompute;
    default:
      return Category::kOther;
  }
}

namespace {

struct Word {
  std::string_view text;
  ApiKind kind;
};
// Kineto's categories; older versions write them with capitals.
constexpr Word kCategoryWords[] = {
    {"cpu_op", ApiKind::kOperator},
    {"Operator", ApiKind::kOperator},
    {"python_function", ApiKind::kPython},
    {"user_annotation", ApiKind::kMarker},
    {"gpu_user_annotation", ApiKind::kDeviceMarker},
    {"cuda_runtime", ApiKind::kRuntime},
    {"cuda_driver", ApiKind::kRuntime},
    {"Runtime", ApiKind::kRuntime},
    {"cuda_sync", ApiKind::kDeviceSync},
};
constexpr Word kDomainWords[] = {
    {"roctx", ApiKind::kMarker},   {"nvtx", ApiKind::kMarker},   {"itt", ApiKind::kMarker},
    {"sonde", ApiKind::kMarker},   {"python", ApiKind::kPython}, {"torch", ApiKind::kOperator},
    {"hip", ApiKind::kRuntime},    {"hsa", ApiKind::kRuntime},   {"cuda", ApiKind::kRuntime},
    {"opencl", ApiKind::kRuntime}, {"rccl", ApiKind::kRuntime},
};

// As torch names them: "aten::mm", and the nodes of its autograd, "AddmmBackward0".
bool is_operator_name(std::string_view name) {
  if (starts_with_any(name, {"aten::", "autograd::", "torch::", "c10d::", "prim::"})) return true;
  if (name == "detach" || name == "detach_") return true;
  constexpr std::string_view kNode = "Backward";
  const size_t end = name.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  return end < name.size() && end > kNode.size() && name.find(' ') == name.npos &&
         name.substr(end - kNode.size(), kNode.size()) == kNode;
}

}  // namespace

ApiKind kind_of_api(std::string_view category, std::string_view domain, std::string_view name) {
  if (name == "UserMarker") return ApiKind::kMarker;
  if (category == "cpu_instant_event") {
    return name == "[memory]" ? ApiKind::kMemory : ApiKind::kOther;
  }
  for (const Word& word : kCategoryWords) {
    if (word.text == category) return word.kind;
  }
  for (const Word& word : kDomainWords) {
    if (word.text == domain) return word.kind;
  }
  // torch before 2.0 may give no categories.
  return is_operator_name(name) ? ApiKind::kOperator : ApiKind::kOther;
}

bool is_sync_call(std::string_view name) {
  if (name == "clFinish" || name == "clWaitForEvents" || name.substr(0, 16) == "hsa_signal_wait_") {
    return true;
  }
  if (!starts_with_any(name, {"hip", "cuda", "cu"})) return false;
  if (name.find("Synchronize") != name.npos) return true;
  return starts_with_any(name, {"hipMemcpy", "cudaMemcpy", "cuMemcpy"}) &&
         name.find("Async") == name.npos;
}

bool is_record_call(std::string_view name) {
  return starts_with_any(name, {"hipEventRecord", "cudaEventRecord", "cuEventRecord"});
}

bool is_memory_call(std::string_view name) {
  return starts_with_any(name,
                         {"hipMalloc", "hipFree", "hipExtMalloc", "cudaMalloc", "cudaFree"}) &&
         name.find("Array") == name.npos && name.find("Host") == name.npos;
}

bool is_wait_call(std::string_view name) {
  return name.find("StreamWaitEvent") != name.npos || name.find("StreamWaitValue") != name.npos ||
         name == "clEnqueueBarrierWithWaitList";
}

}  // namespace sonde::trace
