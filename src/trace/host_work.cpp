#include "trace/host_work.h"

#include "base/strings.h"

namespace sonde::trace {
namespace {

constexpr std::string_view kIdentifier =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool has(std::string_view name, std::string_view word) { return name.find(word) != name.npos; }

HostWork work_of_call(std::string_view name) {
  if (is_sync_call(name)) return HostWork::kWaiting;
  if (starts_with_any(name, {"hiprtcCompile", "nvrtcCompile", "clBuildProgram", "clCompileProgram",
                             "clLinkProgram"})) {
    return HostWork::kCompiling;
  }
  if (starts_with_any(name, {"hipModuleLoad", "cuModuleLoad", "cudaModuleLoad", "hipLibraryLoad",
                             "cuLibraryLoad", "cudaLibraryLoad", "hipModuleUnload",
                             "cuModuleUnload", "hsa_executable_", "hsa_code_object_"})) {
    return HostWork::kModuleLoad;
  }
  if (starts_with_any(name, {"hipFree", "hipHostFree", "cudaFree", "cuMemFree",
                             "hsa_amd_memory_pool_free", "clReleaseMemObject"})) {
    return HostWork::kFree;
  }
  if (is_memory_call(name) ||
      starts_with_any(name, {"hipHostMalloc", "hipHostRegister", "cudaHost", "cudaMallocHost",
                             "cuMemAlloc", "cuMemHost", "hsa_amd_memory_pool_allocate",
                             "clCreateBuffer", "clCreateImage", "clSVMAlloc"})) {
    return HostWork::kAllocation;
  }
  return HostWork::kCall;
}

}  // namespace

const char* host_work_name(HostWork work) {
  constexpr const char* kNames[kHostWorks] = {"data loading", "garbage collection",
                                              "compiling",    "loading modules",
                                              "freeing",      "allocating",
                                              "waiting",      "call",
                                              "operator",     "Python",
                                              "range",        "no call"};
  return kNames[static_cast<size_t>(work)];
}

// "dataloader_statistics" is about one.
bool is_data_loader(std::string_view name) {
  for (const std::string_view word : {"DataLoader", "dataloader"}) {
    for (size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
      std::string_view rest = name.substr(at + word.size());
      rest = rest.substr(0, rest.find_first_not_of(kIdentifier));
      for (const std::string_view end :
           {"", "Iter", "_iter", "_next", "_fetch", "_wait", "_worker"}) {
        if (rest == end) return true;
      }
    }
  }
  return false;
}

bool is_collector(std::string_view name) {
  // "<built-in method collect of X object>" is of a class, which gc is not.
  return name == "Python GC" || has(name, "<built-in function collect>");
}

HostWork host_work_of(ApiKind kind, std::string_view name) {
  if (is_data_loader(name)) return HostWork::kDataLoading;
  if (is_collector(name)) return HostWork::kCollection;
  switch (kind) {
    case ApiKind::kRuntime:
      return work_of_call(name);
    case ApiKind::kOperator:
      return HostWork::kOperator;
    case ApiKind::kPython:
      return HostWork::kPython;
    case ApiKind::kMarker:
      return HostWork::kRange;
    default:
      return HostWork::kCall;
  }
}

}  // namespace sonde::trace
