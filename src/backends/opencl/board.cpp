#include "backends/opencl/board.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/opencl/handle_map.h"
#include "backends/opencl/hooks.h"
#include "backends/opencl/kernels.h"
#include "backends/opencl/queues.h"
#include "base/time.h"
#include "wire/board.h"
#include "wire/cl_board.h"

namespace sonde::opencl {
namespace {

using wire::ClArgument;

// The last value that clSetKernelArg() was given.
struct Given {
  uint32_t bytes;
  bool is_null;  // the value: local memory, or a null pointer to a buffer
  uint64_t word;
};
struct Arguments {
  Given given[wire::kClArguments];
  uint32_t count;
};

wire::ClBoard* g_board;
pid_t g_pid;
HandleMap<Arguments> g_arguments;
HandleMap<size_t> g_buffers;  // sizes in bytes, by handle

void describe_argument(cl_kernel kernel, cl_uint index, const Given& given, ClArgument* to) {
  cl_kernel_arg_address_qualifier where = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  *to = {};
  to->bytes = given.bytes;
  to->word = given.word;
  const bool known = next().clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                               sizeof where, &where, nullptr) == CL_SUCCESS;
  if (known) {
    next().clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_NAME, sizeof to->name, to->name,
                              nullptr);
    next().clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof to->type, to->type,
                              nullptr);
  }
  size_t bytes = 0;
  // Argument information exists only if the kernel was built with -cl-kernel-arg-info.
  const bool may_be_buffer = given.bytes == sizeof(cl_mem) &&
                             (!known || where != CL_KERNEL_ARG_ADDRESS_PRIVATE) &&
                             g_buffers.get(reinterpret_cast<const void*>(given.word), &bytes);
  const bool may_be_local = !known || where == CL_KERNEL_ARG_ADDRESS_LOCAL;
  to->kind = given.is_null && may_be_local                     ? wire::kClLocal
             : may_be_buffer                                   ? wire::kClBuffer
             : known && where == CL_KERNEL_ARG_ADDRESS_PRIVATE ? wire::kClValue
                                                               : wire::kClUnknown;
  to->buffer_bytes = bytes;
}

}  // namespace

void open_board() {
  const char* session = getenv("SONDE_SESSION");
  if (session == nullptr || getenv(wire::kBoardHolds) == nullptr) return;
  char path[512];
  const int64_t begun_ns = monotonic_now_ns();
  const int used = snprintf(path, sizeof path, "%s/boards/%d-%lx.cl", session, getpid(), begun_ns);
  if (used < 0 || static_cast<size_t>(used) >= sizeof path) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  void* memory = MAP_FAILED;
  // Allocate first: storing to a page for which a full disk has no block would kill the program.
  if (fallocate(fd, 0, 0, sizeof(wire::ClBoard)) == 0) {
    memory = mmap(nullptr, sizeof(wire::ClBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) {
    unlink(path);
    return;
  }
  g_board = static_cast<wire::ClBoard*>(memory);
  g_board->bytes = sizeof(wire::ClBoard);
  g_board->pid = static_cast<uint32_t>(getpid());
  g_board->begun_ns = begun_ns;
  g_pid = getpid();
  __atomic_store_n(&g_board->magic, wire::kClBoardMagic, __ATOMIC_RELEASE);
}

bool has_board() { return g_board != nullptr && g_pid == getpid(); }

void after_clCreateBuffer(cl_mem buffer, cl_context, cl_mem_flags, size_t bytes, void*, cl_int*) {
  if (buffer != nullptr && has_board()) g_buffers.put(buffer, bytes);
}

void after_clCreateBufferWithProperties(cl_mem buffer, cl_context, const cl_mem_properties*,
                                        cl_mem_flags, size_t bytes, void*, cl_int*) {
  if (buffer != nullptr && has_board()) g_buffers.put(buffer, bytes);
}

void note_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void* value) {
  if (!has_board() || index >= wire::kClArguments) return;
  Arguments arguments = {};
  g_arguments.get(kernel, &arguments);
  Given& given = arguments.given[index];
  given = {static_cast<uint32_t>(bytes), value == nullptr, 0};
  if (value != nullptr) memcpy(&given.word, value, bytes < 8 ? bytes : 8);
  if (index >= arguments.count) arguments.count = index + 1;
  g_arguments.put(kernel, arguments);
}

void begin_arguments(cl_kernel kernel, cl_kernel of) {
  if (!has_board()) return;
  Arguments arguments = {};
  const bool has = of != nullptr && g_arguments.get(of, &arguments);
  if (has) {
    g_arguments.put(kernel, arguments);
  } else {
    g_arguments.take(kernel, &arguments);
  }
}

uint64_t note_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t* global, const size_t* local) {
  if (!has_board()) return 0;
  const uint64_t number = __atomic_fetch_add(&g_board->next, 1, __ATOMIC_RELAXED);
  wire::ClLaunch& entry = g_board->launches[number % wire::kClLaunches];
  __atomic_store_n(&entry.number, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  entry.launched_ns = monotonic_now_ns();
  entry.ended_ns = 0;
  entry.queue = word(queue);
  for (cl_uint i = 0; i < 3; ++i) {
    entry.grid[i] = global != nullptr && i < dimensions ? global[i] : 1;
    const auto size = local != nullptr && i < dimensions ? static_cast<uint32_t>(local[i]) : 1;
    entry.group[i] = local != nullptr ? size : 0;
  }
  snprintf(entry.kernel, sizeof entry.kernel, "%s", find_kernel(kernel, queue).text);
  cl_device_id device = nullptr;
  entry.device[0] = '\0';
  if (next().clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr) ==
      CL_SUCCESS) {
    next().clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof entry.device, entry.device, nullptr);
  }
  Arguments arguments = {};
  g_arguments.get(kernel, &arguments);
  entry.argument_count = arguments.count;
  for (uint32_t i = 0; i < arguments.count; ++i) {
    describe_argument(kernel, i, arguments.given[i], &entry.arguments[i]);
  }
  __atomic_store_n(&entry.number, number + 1, __ATOMIC_RELEASE);
  return number + 1;
}

void note_launch_over(uint64_t number_plus_1) {
  if (number_plus_1 == 0 || !has_board()) return;
  wire::ClLaunch& entry = g_board->launches[(number_plus_1 - 1) % wire::kClLaunches];
  if (entry.number == number_plus_1) entry.ended_ns = monotonic_now_ns();
}

}  // namespace sonde::opencl
