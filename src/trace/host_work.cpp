#include "trace/host_work.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"

namespace sonde::trace {
namespace {

constexpr std::string_view kIdentifier =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool has(std::string_view name, std::string_view word) { return name.find(word) != name.npos; }

struct PythonFrame {
  std::string_view path, function;
};

// "/usr/lib/python3.11/queue.py(154): get" is get of /usr/lib/python3.11/queue.
std::optional<PythonFrame> parse_frame(std::string_view name) {
  const size_t line = name.find(".py(");
  const size_t end = name.find("): ", line);
  if (end == name.npos) return std::nullopt;
  return PythonFrame{name.substr(0, line), name.substr(end + 3)};
}

// Calls of the operating system's libraries, as Nsight Systems records them. Calls that read files
// are not among them: they do work.
bool is_blocking_call(std::string_view name) {
  constexpr std::string_view kCalls[] = {"epoll_wait",
                                         "epoll_pwait",
                                         "poll",
                                         "ppoll",
                                         "select",
                                         "pselect",
                                         "accept",
                                         "accept4",
                                         "recv",
                                         "recvfrom",
                                         "recvmsg",
                                         "sem_wait",
                                         "sem_timedwait",
                                         "sem_clockwait",
                                         "pthread_join",
                                         "sleep",
                                         "usleep",
                                         "nanosleep",
                                         "clock_nanosleep",
                                         "wait",
                                         "wait4",
                                         "waitpid",
                                         "pthread_barrier_wait"};
  return name.starts_with("pthread_cond_")
             ? name.find("wait") != name.npos
             : std::find(std::begin(kCalls), std::end(kCalls), name) != std::end(kCalls);
}

// Collectives and transfers of the host, which wait for other ranks: PyTorch's gloo:all_reduce, and
// MPI's calls but for those that return at once (MPI_Iallreduce) and for those about files.
bool waits_for_ranks(std::string_view name) {
  if (starts_with_any(name, {"gloo:", "mpi:", "ucc:"})) return true;
  if (!name.starts_with("MPI_")) return false;
  const std::string_view call = name.substr(4);
  return call != "Reduce_local" &&
         starts_with_any(call, {"Allreduce", "Allgather", "Alltoall", "Barrier", "Bcast", "Reduce",
                                "Gather", "Scatter", "Scan", "Exscan", "Neighbor_", "Wait", "Probe",
                                "Recv", "Send", "Ssend"});
}

// Python's names: functions of its own, "<built-in method acquire of _thread.lock object at
// 0x7f...>", and of its library where those are not recorded, "/usr/lib/python3.11/queue.py(154):
// get".
bool is_blocking_frame(std::string_view name) {
  if (name.starts_with("<")) {
    return starts_with_any(
        name,
        {"<built-in function sleep>", "<built-in function select>", "<built-in function waitpid>",
         "<built-in method poll of select.", "<built-in method control of select.",
         "<built-in method acquire of _thread.", "<built-in method get of _queue.SimpleQueue",
         "<built-in method recv", "<built-in method _accept of socket",
         "<method 'poll' of 'select.", "<method 'control' of 'select.",
         "<method 'acquire' of '_thread.", "<method 'get' of '_queue.SimpleQueue'", "<method 'recv",
         "<method '_accept' of '_socket."});
  }
  const auto frame = parse_frame(name);
  if (!frame) return false;
  const std::string_view file = frame->path.substr(frame->path.find_last_of("/\\") + 1);
  constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
      {"selectors", "select"}, {"threading", "wait"},
      {"threading", "join"},   {"threading", "_wait_for_tstate_lock"},
      {"queue", "get"},        {"queue", "put"},
      {"connection", "_recv"}, {"connection", "wait"},
      {"socket", "accept"},    {"socket", "readinto"},
      {"subprocess", "wait"},  {"subprocess", "communicate"}};
  const std::pair of{file, frame->function};
  return std::find(std::begin(kFunctions), std::end(kFunctions), of) != std::end(kFunctions);
}

// The compilers of torch.compile and Triton. What only runs compiled code has other names, in part
// of the same files: "Torch-Compiled Region: 0/0", "triton/runtime/jit.py(600): run".
bool is_compiler(std::string_view name) {
  if (name.ends_with(" (dynamo_timed)")) return true;  // torch's own ranges
  const auto frame = parse_frame(name);
  if (!frame) return false;
  constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
      {"torch/_dynamo/convert_frame", ""},  // any of it
      {"torch/_inductor/compile_fx", "compile"},
      {"torch/_inductor/async_compile", ""},
      {"torch/_inductor/runtime/triton_heuristics", "precompile"},
      {"triton/compiler/compiler", "compile"}};
  return std::any_of(std::begin(kFunctions), std::end(kFunctions), [&](const auto& one) {
    if (!frame->path.ends_with(one.first) || !has(frame->function, one.second)) return false;
    const size_t begin = frame->path.size() - one.first.size();
    return begin == 0 || frame->path[begin - 1] == '/';
  });
}

HostWork work_of_call(std::string_view name) {
  if (is_sync_call(name)) return HostWork::kWaiting;
  if (is_blocking_call(name)) return HostWork::kBlocked;
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
  constexpr const char* kNames[kHostWorks] = {
      "data loading", "garbage collection", "compiling", "loading modules",
      "freeing",      "allocating",         "waiting",   "blocked",
      "call",         "operator",           "Python",    "range",
      "no call"};
  return kNames[static_cast<size_t>(work)];
}

const char* purpose_name(HostWork work) {
  switch (purpose_of(work)) {
    case HostWork::kCompiling:
      return "compiling or loading modules";
    case HostWork::kFree:
      return "freeing or allocating";
    default:
      return host_work_name(work);
  }
}

bool is_part_of(HostWork inner, std::string_view inner_name, HostWork outer) {
  const bool reads = inner == HostWork::kPython && inner_name.starts_with("<") &&
                     inner_name.find("read") != inner_name.npos;
  return has_a_purpose(outer) || (outer == HostWork::kBlocked && reads);
}

// "dataloader_statistics" is about one, and "bench_dataloader.py" may do anything.
bool is_data_loader(std::string_view name) {
  for (const std::string_view word : {"DataLoader", "dataloader"}) {
    for (size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
      const bool begins = at == 0 || kIdentifier.find(name[at - 1]) == kIdentifier.npos;
      if (word.front() == 'd' && !begins) continue;
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
  if (waits_for_ranks(name)) return HostWork::kBlocked;
  switch (kind) {
    case ApiKind::kRuntime:
      return work_of_call(name);
    case ApiKind::kOperator:
      return is_compiler(name) ? HostWork::kCompiling : HostWork::kOperator;
    case ApiKind::kPython:
      if (is_compiler(name)) return HostWork::kCompiling;
      return is_blocking_frame(name) ? HostWork::kBlocked : HostWork::kPython;
    case ApiKind::kMarker:
      return is_compiler(name) ? HostWork::kCompiling : HostWork::kRange;
    default:
      return is_blocking_call(name) ? HostWork::kBlocked : HostWork::kCall;
  }
}

}  // namespace sonde::trace
