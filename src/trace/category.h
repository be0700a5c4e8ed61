// What operations and calls count as. All tables of names are here: extend them, and every analysis
// follows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/op_class.h"

namespace sonde::trace {

// What the time of an operation counts as, in the order of priority: time in which several run
// counts as the first of them.
enum class Category : uint8_t { kCompute, kCommunication, kCopy, kMemset, kOther };
constexpr size_t kCategories = 5;
const char* category_name(Category category);  // "communication"

// Kernels of communication libraries are communication, and the kernels that AMD's runtime copies
// and fills with are copies and memsets. Barriers, host functions and unknown types are other.
Category category_of_op(store::OpClass op_class, std::string_view name);

// By the words of communication.txt and of the user's file (communication.cpp): kernels of NCCL,
// RCCL, MSCCL++, NVSHMEM, rocSHMEM, DeepEP and others, and the fused all-reduce kernels of
// inference servers.
bool is_communication(std::string_view kernel);

// Which kernels communicate, as a list of words; communication.txt says what its rows mean.
class CommunicationWords {
 public:
  // Adds the rows of a text; returns those that are not valid.
  std::vector<std::string> add(std::string_view text);
  bool match(std::string_view kernel) const;

 private:
  enum class Where : uint8_t { kAnywhere, kOwn, kNot };
  struct Word {
    Where where;
    std::string text;
  };
  std::vector<Word> words_;
};
// "void ns::kernel<int>(float*)" -> "nskernel": of the name what is the kernel's own, in small
// letters and digits.
std::string own_name(std::string_view kernel);

// The plain convention of other tools: nccl or rccl anywhere in the name.
bool is_xccl(std::string_view kernel);

// What a call is. Parents first where two of them begin and end together.
enum class ApiKind : uint8_t {
  kMarker,        // a range or mark the program made: roctx, nvtx, itt, record_function
  kPython,        // a Python frame
  kOperator,      // of a framework: aten::mm
  kRuntime,       // a call into HIP, HSA, CUDA, OpenCL, RCCL: what launches operations
  kMemory,        // a moment at which memory was allocated or freed
  kDeviceSync,    // how a device saw a wait; on no thread of the program
  kDeviceMarker,  // a marker projected onto a device; on no thread of the program
  kOther,
};
// Rows of the devices lie beside the calls, but no thread spent their time.
constexpr bool is_on_a_thread(ApiKind kind) {
  return kind != ApiKind::kDeviceMarker && kind != ApiKind::kDeviceSync;
}
constexpr uint32_t bit_of(ApiKind kind) { return 1u << static_cast<uint32_t>(kind); }

// `category` is the file's own word for the kind of event, "" where it has none.
ApiKind kind_of_api(std::string_view category, std::string_view domain, std::string_view name);

// A call that waits for a device: hipDeviceSynchronize, cudaStreamSynchronize, clFinish ...
bool is_sync_call(std::string_view name);
// A call that notes a place in a queue, for others to wait for: hipEventRecord ...
bool is_record_call(std::string_view name);
// A call that allocates or frees memory of a device: hipMalloc, cudaFreeAsync ...
bool is_memory_call(std::string_view name);
// A call that makes a queue wait for another one: hipStreamWaitEvent ...
bool is_wait_call(std::string_view name);

}  // namespace sonde::trace
