// needs: opencl opencl_headers
// Enqueues everything there is, from several threads on several queues, and counts it.
//   cl_storm [--threads N] [--rounds N] [--queues N] [--out-of-order] [--contexts N]
//            [--profiling] [--kernels-only] [--no-finish] [--kill]
// Prints {"kernels":..., "enqueues":..., "bytes":{...}} at the end. --no-finish leaves main while
// work may be pending; --kill ends with SIGKILL right after clFinish of each queue.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cl_common.h"

namespace {

constexpr size_t kBytes = 4096;
constexpr size_t kSide = 16;  // of an image, in pixels of 4 bytes
constexpr size_t kImageBytes = kSide * kSide * 4;

const char* const kSource = R"(
__kernel void storm_add(__global int* data, int value) { data[get_global_id(0)] += value; }
__kernel void storm_tile(__global int* data, __local int* tile) {
  tile[get_local_id(0)] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = tile[get_local_size(0) - 1 - get_local_id(0)];
}
__kernel void storm_one(__global int* data) { data[0] = 1; }
)";

struct Options {
  int threads = 1, rounds = 100, queues = 1, contexts = 1;
  bool out_of_order = false, profiling = false, kernels_only = false, no_finish = false;
  bool kill = false;
};

enum Kind {
  kKernel,
  kH2D,
  kD2H,
  kD2D,
  kH2H,
  kFill,
  kMap,
  kUnmap,
  kBarrier,
  kMigrate,
  kNative,
  kOther,
  kKinds
};
const char* const kNames[kKinds] = {"kernels",  "h2d",      "d2h",     "d2d",
                                    "h2h",      "fills",    "maps",    "unmaps",
                                    "barriers", "migrates", "natives", "others"};

struct Counts {
  unsigned long long ops[kKinds] = {}, bytes[kKinds] = {}, failed = 0;
  cl_ulong tile_bytes = 0;  // what the platform says of the local memory of storm_tile
  void add(Kind kind, size_t size = 0) {
    ++ops[kind];
    bytes[kind] += size;
  }
};

struct Context {
  cl_context context;
  cl_program program;
};

struct Machine {
  Options options;
  cl_device_id device;
  bool images, svm, native;
  std::vector<Context> contexts;
};

struct Worker {
  const Machine* machine;
  Context context;
  Counts counts;
  std::vector<cl_command_queue> left;  // queues that main must finish
};

// What one worker uses: its queues, and objects that only it touches.
struct Stage {
  cl_kernel add, tile, one;
  cl_mem a, b, image_a, image_b;
  char* svm_a;
  char* svm_b;
  std::vector<char> host;
  std::vector<cl_command_queue> queues;
};

void CL_CALLBACK native(void*) {}

Stage make_stage(const Worker& worker) {
  Stage stage;
  const Machine& machine = *worker.machine;
  cl_context context = worker.context.context;
  cl_int code;
  stage.add = make_kernel(worker.context.program, "storm_add");
  stage.tile = make_kernel(worker.context.program, "storm_tile");
  stage.one = make_kernel(worker.context.program, "storm_one");
  stage.host.resize(kBytes);
  stage.a = make_buffer(context, kBytes);
  stage.b = make_buffer(context, kBytes);
  const cl_int value = 1;
  CHECK(clSetKernelArg(stage.add, 0, sizeof(cl_mem), &stage.a));
  CHECK(clSetKernelArg(stage.add, 1, sizeof value, &value));
  CHECK(clSetKernelArg(stage.tile, 0, sizeof(cl_mem), &stage.b));
  CHECK(clSetKernelArg(stage.tile, 1, 8 * sizeof(cl_int), nullptr));
  CHECK(clSetKernelArg(stage.one, 0, sizeof(cl_mem), &stage.a));
  if (machine.images) {
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc shape = {};
    shape.image_type = CL_MEM_OBJECT_IMAGE2D;
    shape.image_width = kSide;
    shape.image_height = kSide;
    stage.image_a = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, nullptr, &code);
    CHECK_CODE(code, "clCreateImage");
    stage.image_b = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, nullptr, &code);
  }
  if (machine.svm) {
    stage.svm_a = static_cast<char*>(clSVMAlloc(context, CL_MEM_READ_WRITE, kBytes, 0));
    stage.svm_b = static_cast<char*>(clSVMAlloc(context, CL_MEM_READ_WRITE, kBytes, 0));
  }
  cl_command_queue_properties properties = 0;
  if (machine.options.out_of_order) properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  if (machine.options.profiling) properties |= CL_QUEUE_PROFILING_ENABLE;
  for (int i = 0; i < machine.options.queues; ++i) {
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    stage.queues.push_back(
        i % 2 == 0 ? clCreateCommandQueue(context, machine.device, properties, &code)
                   : clCreateCommandQueueWithProperties(context, machine.device, list, &code));
    CHECK_CODE(code, "clCreateCommandQueue");
  }
  return stage;
}

// Half of the enqueues want their event.
struct WantedEvent {
  cl_event event = nullptr;
  bool wanted;
  explicit WantedEvent(int round) : wanted(round % 2 == 0) {}
  cl_event* out() { return wanted ? &event : nullptr; }
  void done(bool wait) {
    if (event == nullptr) return;
    if (wait) CHECK(clWaitForEvents(1, &event));
    CHECK(clReleaseEvent(event));
    event = nullptr;
  }
};

void run_kernels(Stage& s, cl_command_queue q, int round, Counts& c) {
  const size_t global[3] = {64, 4, 2};
  const size_t local[3] = {8, 2, 1};
  WantedEvent e(round);
  CHECK(clEnqueueNDRangeKernel(q, s.add, 1, nullptr, global, nullptr, 0, nullptr, e.out()));
  c.add(kKernel);
  e.done(round % 3 == 0);
  CHECK(clEnqueueNDRangeKernel(q, s.tile, 1, nullptr, global, local, 0, nullptr, e.out()));
  c.add(kKernel);
  e.done(false);
  CHECK(clEnqueueNDRangeKernel(q, s.add, 3, nullptr, global, local, 0, nullptr, nullptr));
  c.add(kKernel);
  CHECK(clEnqueueTask(q, s.one, 0, nullptr, nullptr));
  c.add(kKernel);
}

void run_buffers(Stage& s, cl_command_queue q, int round, Counts& c) {
  char* host = s.host.data();
  const cl_bool blocking = round % 2 == 0 ? CL_TRUE : CL_FALSE;
  const size_t origin[3] = {0, 0, 0}, region[3] = {32, 4, 2};
  const int pattern = 7;
  WantedEvent e(round);
  CHECK(clEnqueueWriteBuffer(q, s.a, blocking, 0, 1024, host, 0, nullptr, e.out()));
  c.add(kH2D, 1024);
  e.done(false);
  CHECK(clEnqueueReadBuffer(q, s.a, blocking, 0, 512, host, 0, nullptr, e.out()));
  c.add(kD2H, 512);
  e.done(true);
  CHECK(clEnqueueCopyBuffer(q, s.a, s.b, 0, 0, 256, 0, nullptr, nullptr));
  c.add(kD2D, 256);
  CHECK(clEnqueueWriteBufferRect(q, s.a, blocking, origin, origin, region, 64, 256, 64, 256, host,
                                 0, nullptr, nullptr));
  c.add(kH2D, 256);
  CHECK(clEnqueueReadBufferRect(q, s.a, CL_TRUE, origin, origin, region, 64, 256, 64, 256, host, 0,
                                nullptr, nullptr));
  c.add(kD2H, 256);
  CHECK(clEnqueueCopyBufferRect(q, s.a, s.b, origin, origin, region, 64, 256, 64, 256, 0, nullptr,
                                nullptr));
  c.add(kD2D, 256);
  CHECK(clEnqueueFillBuffer(q, s.b, &pattern, sizeof pattern, 0, 128, 0, nullptr, nullptr));
  c.add(kFill, 128);
  cl_int code;
  void* mapped = clEnqueueMapBuffer(q, s.a, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 2048, 0,
                                    nullptr, nullptr, round % 2 == 0 ? &code : nullptr);
  if (mapped == nullptr) CHECK_CODE(-1, "clEnqueueMapBuffer");
  c.add(kMap, 2048);
  CHECK(clEnqueueUnmapMemObject(q, s.a, mapped, 0, nullptr, e.out()));
  c.add(kUnmap, 2048);
  e.done(true);
  CHECK(clEnqueueMigrateMemObjects(q, 1, &s.a, CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, nullptr));
  c.add(kMigrate, kBytes);
  CHECK(clFinish(q));
}

void run_images(Stage& s, cl_command_queue q, int round, Counts& c) {
  const size_t origin[3] = {0, 0, 0}, region[3] = {kSide, kSide, 1};
  const float color[4] = {1, 0, 0, 1};
  size_t pitch = 0;
  cl_int code;
  WantedEvent e(round);
  CHECK(clEnqueueWriteImage(q, s.image_a, CL_TRUE, origin, region, 0, 0, s.host.data(), 0, nullptr,
                            e.out()));
  c.add(kH2D, kImageBytes);
  e.done(false);
  CHECK(clEnqueueFillImage(q, s.image_b, color, origin, region, 0, nullptr, nullptr));
  c.add(kFill, kImageBytes);
  CHECK(clEnqueueCopyImage(q, s.image_a, s.image_b, origin, origin, region, 0, nullptr, nullptr));
  c.add(kD2D, kImageBytes);
  CHECK(clEnqueueCopyImageToBuffer(q, s.image_a, s.b, origin, region, 0, 0, nullptr, nullptr));
  c.add(kD2D, kImageBytes);
  CHECK(clEnqueueCopyBufferToImage(q, s.b, s.image_a, 0, origin, region, 0, nullptr, nullptr));
  c.add(kD2D, kImageBytes);
  CHECK(clEnqueueReadImage(q, s.image_b, CL_TRUE, origin, region, 0, 0, s.host.data(), 0, nullptr,
                           nullptr));
  c.add(kD2H, kImageBytes);
  void* mapped = clEnqueueMapImage(q, s.image_a, CL_TRUE, CL_MAP_READ, origin, region, &pitch,
                                   nullptr, 0, nullptr, nullptr, &code);
  CHECK_CODE(code, "clEnqueueMapImage");
  c.add(kMap, kImageBytes);
  CHECK(clEnqueueUnmapMemObject(q, s.image_a, mapped, 0, nullptr, nullptr));
  c.add(kUnmap, kImageBytes);
  CHECK(clFinish(q));
}

void run_svm(Stage& s, cl_context context, cl_command_queue q, int round, Counts& c) {
  const int pattern = 3;
  char* host = s.host.data();
  WantedEvent e(round);
  CHECK(clEnqueueSVMMemFill(q, s.svm_a, &pattern, sizeof pattern, 64, 0, nullptr, nullptr));
  c.add(kFill, 64);
  CHECK(clEnqueueSVMMemcpy(q, CL_FALSE, s.svm_b, s.svm_a, 512, 0, nullptr, e.out()));
  c.add(kD2D, 512);
  e.done(true);
  CHECK(clEnqueueSVMMemcpy(q, CL_TRUE, s.svm_a, host, 640, 0, nullptr, nullptr));
  c.add(kH2D, 640);
  CHECK(clEnqueueSVMMemcpy(q, CL_TRUE, host, s.svm_a + 16, 768, 0, nullptr, nullptr));
  c.add(kD2H, 768);
  CHECK(clEnqueueSVMMemcpy(q, CL_TRUE, host, host + 1024, 32, 0, nullptr, nullptr));
  c.add(kH2H, 32);
  CHECK(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_READ, s.svm_a, 1024, 0, nullptr, nullptr));
  c.add(kMap, 1024);
  CHECK(clEnqueueSVMUnmap(q, s.svm_a, 0, nullptr, nullptr));
  c.add(kUnmap, 1024);
  const void* pointers[] = {s.svm_a, s.svm_b};
  const size_t sizes[] = {128, 0};
  CHECK(clEnqueueSVMMigrateMem(q, 2, pointers, sizes, 0, 0, nullptr, nullptr));
  c.add(kMigrate, 128 + kBytes);
  void* gone = clSVMAlloc(context, CL_MEM_READ_WRITE, 96, 0);
  CHECK(clEnqueueSVMFree(q, 1, &gone, nullptr, nullptr, 0, nullptr, nullptr));
  c.add(kOther, 96);
  CHECK(clFinish(q));
}

void run_barriers(Stage& s, cl_command_queue q, int round, bool natives, Counts& c) {
  cl_event event;
  WantedEvent e(round);
  CHECK(clEnqueueMarkerWithWaitList(q, 0, nullptr, &event));
  CHECK(clEnqueueBarrierWithWaitList(q, 1, &event, e.out()));
  e.done(false);
  CHECK(clReleaseEvent(event));
  CHECK(clEnqueueMarker(q, &event));
  CHECK(clReleaseEvent(event));
  CHECK(clEnqueueBarrier(q));
  for (int i = 0; i < 4; ++i) c.add(kBarrier);
  if (natives) {
    int argument = 0;
    CHECK(clEnqueueNativeKernel(q, native, &argument, sizeof argument, 0, nullptr, nullptr, 0,
                                nullptr, nullptr));
    c.add(kNative);
  }
  // These fail, and must not be counted.
  const size_t too_many[3] = {1, 1, 1};
  if (clEnqueueNDRangeKernel(q, s.add, 9, nullptr, too_many, nullptr, 0, nullptr, nullptr) !=
          CL_SUCCESS &&
      clEnqueueReadBuffer(q, s.a, CL_TRUE, 0, kBytes * 2, s.host.data(), 0, nullptr, nullptr) !=
          CL_SUCCESS) {
    c.failed += 2;
  }
}

void* work(void* argument) {
  Worker& worker = *static_cast<Worker*>(argument);
  const Machine& machine = *worker.machine;
  Stage stage = make_stage(worker);
  CHECK(clGetKernelWorkGroupInfo(stage.tile, worker.machine->device, CL_KERNEL_LOCAL_MEM_SIZE,
                                 sizeof worker.counts.tile_bytes, &worker.counts.tile_bytes,
                                 nullptr));
  Counts& c = worker.counts;
  for (int round = 0; round < machine.options.rounds; ++round) {
    cl_command_queue q = stage.queues[static_cast<size_t>(round) % stage.queues.size()];
    run_kernels(stage, q, round, c);
    if (!machine.options.kernels_only) {
      run_buffers(stage, q, round, c);
      if (machine.images) run_images(stage, q, round, c);
      if (machine.svm) run_svm(stage, worker.context.context, q, round, c);
      run_barriers(stage, q, round, machine.native, c);
    }
    if (round % 16 == 0) CHECK(clFlush(q));
  }
  if (machine.options.no_finish || machine.options.kill) {
    worker.left = stage.queues;
    return nullptr;
  }
  for (cl_command_queue q : stage.queues) {
    CHECK(clFinish(q));
    CHECK(clReleaseCommandQueue(q));
  }
  if (machine.svm) {
    clSVMFree(worker.context.context, stage.svm_a);
    clSVMFree(worker.context.context, stage.svm_b);
  }
  if (machine.images) {
    clReleaseMemObject(stage.image_a);
    clReleaseMemObject(stage.image_b);
  }
  clReleaseMemObject(stage.a);
  clReleaseMemObject(stage.b);
  clReleaseKernel(stage.add);
  clReleaseKernel(stage.tile);
  clReleaseKernel(stage.one);
  return nullptr;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto number = [&] { return i + 1 < argc ? atoi(argv[++i]) : 0; };
    if (name == "--threads")
      options.threads = number();
    else if (name == "--rounds")
      options.rounds = number();
    else if (name == "--queues")
      options.queues = number();
    else if (name == "--contexts")
      options.contexts = number();
    else if (name == "--out-of-order")
      options.out_of_order = true;
    else if (name == "--profiling")
      options.profiling = true;
    else if (name == "--kernels-only")
      options.kernels_only = true;
    else if (name == "--no-finish")
      options.no_finish = true;
    else if (name == "--kill")
      options.kill = true;
    else
      CHECK_CODE(-1, argv[i]);
  }
  return options;
}

void print(const std::vector<Worker>& workers) {
  Counts sum;
  unsigned long long enqueues = 0;
  for (const Worker& worker : workers) {
    for (int i = 0; i < kKinds; ++i) {
      sum.ops[i] += worker.counts.ops[i];
      sum.bytes[i] += worker.counts.bytes[i];
      enqueues += worker.counts.ops[i];
    }
    sum.failed += worker.counts.failed;
    sum.tile_bytes = worker.counts.tile_bytes;
  }
  printf("{");
  for (int i = 0; i < kKinds; ++i) printf("\"%s\":%llu,", kNames[i], sum.ops[i]);
  printf("\"enqueues\":%llu,\"failed\":%llu,\"tile_bytes\":%llu,\"bytes\":{", enqueues, sum.failed,
         static_cast<unsigned long long>(sum.tile_bytes));
  for (int i = 0; i < kKinds; ++i) {
    printf("%s\"%s\":%llu", i == 0 ? "" : ",", kNames[i], sum.bytes[i]);
  }
  printf("}}\n");
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Machine machine = {parse(argc, argv), first_device(), false, false, false, {}};
  cl_bool images = CL_FALSE;
  cl_device_svm_capabilities svm = 0;
  cl_device_exec_capabilities execution = 0;
  clGetDeviceInfo(machine.device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, nullptr);
  clGetDeviceInfo(machine.device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, nullptr);
  clGetDeviceInfo(machine.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof execution, &execution,
                  nullptr);
  machine.images = images != CL_FALSE;
  machine.svm = (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
  machine.native = (execution & CL_EXEC_NATIVE_KERNEL) != 0;
  for (int i = 0; i < machine.options.contexts; ++i) {
    cl_context context = make_context(machine.device);
    machine.contexts.push_back({context, build(context, machine.device, kSource)});
  }
  std::vector<Worker> workers(static_cast<size_t>(machine.options.threads));
  std::vector<pthread_t> threads(workers.size());
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].machine = &machine;
    workers[i].context = machine.contexts[i % machine.contexts.size()];
    pthread_create(&threads[i], nullptr, work, &workers[i]);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  print(workers);
  if (machine.options.kill) {
    for (const Worker& worker : workers) {
      for (cl_command_queue q : worker.left) CHECK(clFinish(q));
    }
    kill(getpid(), SIGKILL);
  }
  if (machine.options.no_finish) return 0;
  for (const Context& context : machine.contexts) {
    clReleaseProgram(context.program);
    clReleaseContext(context.context);
  }
  return 0;
}
