// A debugger's KFD calls, between two processes. Runs under the launcher, on two gfx90a and a
// gfx906.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/kfd_ioctl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "driver/kfd_abi.h"

namespace {

using softgpu::kfd::DebugOp;
using softgpu::kfd::DebugTrap;
using softgpu::kfd::Exception;
using softgpu::kfd::mask_of;

constexpr auto kTrap = _IOWR('K', 0x26, DebugTrap);
constexpr auto kRuntime = _IOWR('K', 0x25, softgpu::kfd::RuntimeEnable);
constexpr uint64_t kDebugData = 0x1234;

alignas(
    4096) uint8_t memory[4 * 4096];  // of the debugged process: a ring, its pointers, a save area

uint32_t first_gpu() {
  uint32_t id = 0;
  std::ifstream("/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id") >> id;
  return id;
}

void wait_for(int fd) {
  char byte = 0;
  if (read(fd, &byte, 1) != 1) _exit(9);
}
void tell(int fd) {
  if (write(fd, "x", 1) != 1) _exit(9);
}

// A program with a runtime and a queue, which executes the commands it receives.
int debugged(int in, int out) {
  wait_for(in);
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  softgpu::kfd::RuntimeEnable enable{.r_debug = kDebugData, .mode = 1, .capabilities = 0};
  if (ioctl(kfd, kRuntime, &enable) != 0) return 1;
  kfd_ioctl_create_queue_args queue{};
  queue.gpu_id = first_gpu();
  queue.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
  queue.ring_base_address = reinterpret_cast<uint64_t>(memory);
  queue.ring_size = 4096;
  queue.write_pointer_address = reinterpret_cast<uint64_t>(memory + 4096 + 1024);
  queue.read_pointer_address = reinterpret_cast<uint64_t>(memory + 4096 + 1088);
  queue.ctx_save_restore_address = reinterpret_cast<uint64_t>(memory + 8192);
  queue.ctx_save_restore_size = 8192;
  queue.ctl_stack_size = 4096;
  std::memset(memory + 8192, 0xff, 4096);
  if (ioctl(kfd, AMDKFD_IOC_CREATE_QUEUE, &queue) != 0) return 2;
  tell(out);
  wait_for(in);
  uint32_t header[5];
  std::memcpy(header, memory + 8192, sizeof header);
  if (header[0] != 4096 || header[1] != 0 || header[3] != 0) return 3;  // no waves
  if (header[4] != ~0u) return 4;                                       // the runtime's part
  kfd_ioctl_destroy_queue_args destroyed{.queue_id = queue.queue_id, .pad = 0};
  if (ioctl(kfd, AMDKFD_IOC_DESTROY_QUEUE, &destroyed) != 0) return 5;
  tell(out);
  wait_for(in);
  return 0;
}

class DebuggerTest : public testing::Test {
 protected:
  DebuggerTest() {
    EXPECT_EQ(pipe(down_), 0);
    EXPECT_EQ(pipe(up_), 0);
    EXPECT_EQ(pipe2(notifier_, O_CLOEXEC | O_NONBLOCK), 0);
    child_ = fork();
    if (child_ == 0) _exit(debugged(down_[0], up_[1]));
    kfd_ = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  }
  ~DebuggerTest() override {
    int status = 0;
    waitpid(child_, &status, 0);
    EXPECT_EQ(status, 0);
    for (const int fd : {down_[0], down_[1], up_[0], up_[1], notifier_[0], notifier_[1], kfd_}) {
      close(fd);
    }
  }
  DebugTrap request(DebugOp op) const {
    DebugTrap trap{};
    trap.pid = static_cast<uint32_t>(child_);
    trap.op = static_cast<uint32_t>(op);
    return trap;
  }
  // The call's result, or its negative errno.
  int call(DebugTrap& trap) const {
    const int result = ioctl(kfd_, kTrap, &trap);
    return result < 0 ? -errno : result;
  }
  bool notified() const {
    pollfd waiting{notifier_[0], POLLIN, 0};
    char byte = 0;
    return poll(&waiting, 1, 10'000) == 1 && read(notifier_[0], &byte, 1) == 1;
  }
  int enable() {
    DebugTrap trap = request(DebugOp::kEnable);
    trap.enable.exceptions = ~uint64_t{0};
    trap.enable.runtime_info = reinterpret_cast<uint64_t>(&info_);
    trap.enable.runtime_info_bytes = sizeof info_;
    trap.enable.fd = static_cast<uint32_t>(notifier_[1]);
    return call(trap);
  }
  int take_queues(softgpu::kfd::QueueSnapshot* queues, uint32_t room, uint64_t clear,
                  uint32_t& count) {
    DebugTrap trap = request(DebugOp::kQueueSnapshot);
    trap.snapshot.exceptions = clear;
    trap.snapshot.buffer = reinterpret_cast<uint64_t>(queues);
    trap.snapshot.count = room;
    trap.snapshot.entry_bytes = sizeof *queues;
    const int result = call(trap);
    count = trap.snapshot.count;
    return result;
  }
  int change(DebugOp op, uint32_t& id) {
    DebugTrap trap = request(op);
    if (op == DebugOp::kSuspendQueues) {
      trap.suspend.ids = reinterpret_cast<uint64_t>(&id);
      trap.suspend.count = 1;
    } else {
      trap.resume.ids = reinterpret_cast<uint64_t>(&id);
      trap.resume.count = 1;
    }
    return call(trap);
  }

  int down_[2], up_[2], notifier_[2];
  pid_t child_ = 0;
  int kfd_ = -1;
  softgpu::kfd::RuntimeInfo info_{};
};

TEST_F(DebuggerTest, SeesTheRuntimeAndTheQueuesOfAProcessThatItTraces) {
  EXPECT_LT(enable(), 0);  // it is not tracing the process
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child_, nullptr, nullptr), 0);
  ASSERT_EQ(enable(), 0);
  EXPECT_EQ(info_.state, 0u);
  EXPECT_EQ(enable(), -EINVAL);
  uint32_t no_queue = 0;
  EXPECT_EQ(change(DebugOp::kSuspendQueues, no_queue), -EACCES);  // there is no runtime yet

  tell(down_[1]);
  ASSERT_TRUE(notified());
  DebugTrap event = request(DebugOp::kQueryEvent);
  ASSERT_EQ(call(event), 0);
  EXPECT_EQ(event.event.exceptions, mask_of(Exception::kProcessRuntime));
  DebugTrap info = request(DebugOp::kQueryExceptionInfo);
  info.query_info.info = reinterpret_cast<uint64_t>(&info_);
  info.query_info.info_bytes = sizeof info_;
  info.query_info.exception = static_cast<uint32_t>(Exception::kProcessRuntime);
  info.query_info.clear = 1;
  ASSERT_EQ(call(info), 0);
  EXPECT_EQ(info_.r_debug, kDebugData);
  EXPECT_EQ(info_.state, 1u);
  DebugTrap go_on = request(DebugOp::kSendRuntimeEvent);
  go_on.event.exceptions = mask_of(Exception::kProcessRuntime);
  ASSERT_EQ(call(go_on), 0);
  wait_for(up_[0]);  // the queue exists

  event.event.exceptions = 0;
  ASSERT_EQ(call(event), 0);
  EXPECT_EQ(event.event.exceptions, mask_of(Exception::kQueueNew));
  softgpu::kfd::QueueSnapshot queue{};
  uint32_t count = 0, id = event.event.queue_id;
  ASSERT_EQ(take_queues(&queue, 0, ~uint64_t{0}, count), 0);
  EXPECT_EQ(count, 1u);  // their number
  EXPECT_EQ(change(DebugOp::kSuspendQueues, id), 0);
  EXPECT_EQ(id >> 31, 1u);  // no snapshot has contained it yet
  ASSERT_EQ(take_queues(&queue, 1, mask_of(Exception::kQueueNew), count), 0);
  EXPECT_EQ(queue.exceptions, mask_of(Exception::kQueueNew));
  EXPECT_EQ(queue.gpu_id, first_gpu());
  EXPECT_EQ(queue.type, uint32_t{KFD_IOC_QUEUE_TYPE_COMPUTE_AQL});
  EXPECT_EQ(queue.ring_bytes, 4096u);
  EXPECT_EQ(queue.save_area_bytes, 8192u);
  id = queue.queue_id;
  EXPECT_EQ(change(DebugOp::kSuspendQueues, id), 1);
  EXPECT_EQ(id, queue.queue_id);
  EXPECT_EQ(change(DebugOp::kResumeQueues, id), 1);
  event.event.exceptions = 0;
  EXPECT_EQ(call(event), -EAGAIN);

  tell(down_[1]);
  wait_for(up_[0]);  // it has destroyed its queue
  ASSERT_EQ(take_queues(&queue, 1, 0, count), 0);
  EXPECT_EQ(count, 0u);
  DebugTrap disable = request(DebugOp::kDisable);
  EXPECT_EQ(call(disable), 0);
  EXPECT_EQ(call(disable), -EINVAL);
  tell(down_[1]);
}

TEST_F(DebuggerTest, SeesTheGpusAndHasTheirWatches) {
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child_, nullptr, nullptr), 0);
  ASSERT_EQ(enable(), 0);
  softgpu::kfd::DeviceSnapshot gpus[3] = {};
  DebugTrap snapshot = request(DebugOp::kDeviceSnapshot);
  snapshot.snapshot.buffer = reinterpret_cast<uint64_t>(gpus);
  snapshot.snapshot.count = 3;
  snapshot.snapshot.entry_bytes = sizeof gpus[0];
  ASSERT_EQ(call(snapshot), 0);
  EXPECT_EQ(snapshot.snapshot.count, 3u);
  EXPECT_EQ(gpus[0].gpu_id, first_gpu());
  EXPECT_EQ(gpus[1].gfx_target_version, 90010u);
  EXPECT_EQ(gpus[2].gfx_target_version, 90006u);
  EXPECT_NE(gpus[2].capability & 1u << 15, 0u);
  EXPECT_EQ(gpus[0].simd_count, 440u);
  DebugTrap disable = request(DebugOp::kDisable);
  EXPECT_EQ(call(disable), 0);
  for (int i = 0; i < 2; ++i) tell(down_[1]);  // no queue is suspended any more
  // The queue was destroyed without having been suspended, so the debugged process finds no header.
  int status = 0;
  waitpid(child_, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  child_ = fork();
  if (child_ == 0) _exit(0);
}

}  // namespace
