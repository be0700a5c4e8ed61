// Threads: one leads, that is, polls all queues and executes short packets. A queue whose next
// packet takes long keeps the leader, which first passes the lead to another thread. So nothing
// that is ready waits for a wake-up, and a long kernel delays only its own queue.
#include "device/device.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "device/aql.h"
#include "device/doorbells.h"
#include "device/sdma.h"

namespace softgpu {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kSpinNs = 200'000;       // how long to poll without sleeping after the last work
constexpr int64_t kWakeNs = 80'000;        // how late a sleep may end
constexpr int64_t kBlockedNapNs = 50'000;  // between checks of memory that some other agent changes
constexpr int64_t kLongBlockedNs = 20'000'000, kLongBlockedNapNs = 150'000;
constexpr int kStepsAtOnce = 64;  // of one queue, before it is the others' turn

using QueuePtr = std::shared_ptr<Queue>;

// The result of polling all queues.
struct Pass {
  bool progress = false, blocked = false;
  int64_t until_ns = kNever;
  QueuePtr long_work;  // still owned
};

// If all cores are busy, a thread that wakes up or has yielded runs again after a time that depends
// on its slice: usually 3 ms; this requests the shortest slice. Linux before 6.12 ignores it.
void ask_for_short_slices() {
  struct {
    uint32_t size = 48, policy = SCHED_OTHER;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime_ns = 100'000, deadline_ns = 0, period_ns = 0;
  } attributes;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

struct Device::Impl {
  Impl(const Config& device_config, Host& host);
  ~Impl();

  void start_thread();
  void thread_main();
  QueuePtr lead();
  Pass poll(const std::vector<QueuePtr>& queues);
  void poll_queue(const QueuePtr& queue, Pass& pass);
  void run_long(Queue& queue);
  std::vector<QueuePtr> queues_now();

  const Config config;
  Notices notices;
  Oracle oracle;
  FaultScript faults;
  Executor executor;
  isa::Engine engine;
  isa::WaveLog waves;
  isa::AppendFile instructions;
  std::unique_ptr<isa::Check> check;
  Services services;
  std::vector<std::unique_ptr<Gpu>> gpus;
  Doorbells doorbells;

  std::mutex queues_mutex;
  std::vector<QueuePtr> queues;
  std::atomic<uint64_t> version{1};  // of the list of queues

  std::mutex leadership;
  std::atomic<int> waiting{0};  // threads that are ready to lead
  std::atomic<bool> stop{false};
  std::mutex threads_mutex;
  std::vector<std::thread> threads;
};

Device::Impl::Impl(const Config& device_config, Host& host)
    : config(device_config),
      oracle(config, notices),
      faults(config.faults),
      executor(config.threads),
      engine(config.coverage_path.empty() ? nullptr
                                          : std::make_unique<isa::Coverage>(config.coverage_path)),
      services{host, executor, engine, config, oracle, faults, notices} {
  const auto complain = [this](const std::string& path) {
    notices.once("cannot write " + path + ": nothing is written about waves");
  };
  if (!config.waves_path.empty()) {
    waves.open(config.waves_path, config.sample_every) ? void(services.waves = &waves)
                                                       : complain(config.waves_path);
  }
  if (!config.instructions_path.empty()) {
    instructions.open(config.instructions_path, isa::kTraceHeader)
        ? void(services.instructions = &instructions)
        : complain(config.instructions_path);
  }
  if (config.check_memory || config.check_races) {
    check = std::make_unique<isa::Check>(config.check_memory ? host.allocations() : nullptr,
                                         config.check_races);
    services.check = check.get();
  }
  for (const GpuConfig& gpu : config.gpus) gpus.push_back(std::make_unique<Gpu>(gpu));
}

Device::Impl::~Impl() {
  stop = true;
  doorbells.wake();
  for (;;) {
    std::vector<std::thread> ended;
    {
      std::lock_guard lock(threads_mutex);
      ended.swap(threads);
    }
    if (ended.empty()) break;
    for (std::thread& thread : ended) thread.join();
  }
}

// The program's signals are blocked in this thread, except those that it raises itself.
void Device::Impl::start_thread() {
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&blocked, own);
  std::lock_guard lock(threads_mutex);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  threads.emplace_back([this] { thread_main(); });
  pthread_setname_np(threads.back().native_handle(), "softgpu");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Device::Impl::thread_main() {
  ask_for_short_slices();
  for (;;) {
    ++waiting;
    std::unique_lock lead_lock(leadership);
    --waiting;
    QueuePtr queue = stop ? nullptr : lead();
    if (!queue) return;
    if (waiting == 0) start_thread();
    lead_lock.unlock();
    run_long(*queue);
  }
}

// Runs until there is long work, which is returned, or until the end.
QueuePtr Device::Impl::lead() {
  uint64_t seen = 0;
  std::vector<QueuePtr> mine;
  int64_t last_work_ns = sonde::monotonic_now_ns();
  while (!stop) {
    if (uint64_t now = version; now != seen) {
      mine = queues_now();
      seen = now;
    }
    Pass pass = poll(mine);
    int64_t now_ns = sonde::monotonic_now_ns();
    if (pass.progress || pass.long_work) {
      doorbells.disarm();
      last_work_ns = now_ns;
      if (pass.long_work) return pass.long_work;
    } else if (now_ns - last_work_ns < kSpinNs || pass.until_ns - now_ns < kWakeNs) {
      doorbells.disarm();
      sched_yield();
    } else if (!doorbells.armed()) {
      doorbells.arm();
    } else {
      int64_t idle_ns = now_ns - last_work_ns;
      int64_t sleep_ns = pass.until_ns == kNever ? kNever : pass.until_ns - now_ns - kWakeNs;
      if (pass.blocked) {
        sleep_ns = std::min(sleep_ns, idle_ns < kLongBlockedNs ? kBlockedNapNs : kLongBlockedNapNs);
      }
      // Whoever rang waits for disarm(), but the packet is there: begin it first.
      if (doorbells.wait(sleep_ns, idle_ns)) last_work_ns = sonde::monotonic_now_ns();
    }
  }
  return nullptr;
}

Pass Device::Impl::poll(const std::vector<QueuePtr>& all) {
  Pass pass;
  for (const QueuePtr& queue : all) {
    if (!queue->try_own()) continue;
    poll_queue(queue, pass);
    if (pass.long_work) break;
    queue->release();
  }
  return pass;
}

void Device::Impl::poll_queue(const QueuePtr& queue, Pass& pass) {
  for (int i = 0; i < kStepsAtOnce; ++i) {
    Step step = queue->step();
    switch (step.kind) {
      case Step::kProgress:
        pass.progress = true;
        continue;
      case Step::kLong:
        pass.long_work = queue;
        return;
      case Step::kBlocked:
        pass.blocked = true;
        return;
      case Step::kWaiting:
        pass.until_ns = std::min(pass.until_ns, step.until_ns);
        return;
      case Step::kIdle:
        return;
    }
  }
}

void Device::Impl::run_long(Queue& queue) {
  // For a shorter wait, handing over the queue does not pay off.
  constexpr int64_t kShortNs = 50'000;
  Step step{Step::kLong};
  while (step.kind != Step::kIdle && step.kind != Step::kBlocked) {
    if (step.kind == Step::kLong) queue.run_long();
    if (step.kind == Step::kWaiting) {
      if (step.until_ns - sonde::monotonic_now_ns() > kShortNs) break;
      sched_yield();
    }
    step = queue.step();
  }
  queue.release();
  doorbells.wake();
}

std::vector<QueuePtr> Device::Impl::queues_now() {
  std::lock_guard lock(queues_mutex);
  return queues;
}

Device::Device(const Config& config, Host& host) : impl_(std::make_unique<Impl>(config, host)) {}
Device::~Device() = default;

void Device::add_queue(const QueueSpec& spec) {
  Impl& impl = *impl_;
  Gpu& gpu = *impl.gpus.at(spec.gpu);
  QueuePtr queue;
  if (spec.kind == QueueKind::kAql) {
    queue = std::make_shared<AqlQueue>(spec, impl.services, gpu);
  } else {
    queue = std::make_shared<SdmaQueue>(spec, impl.services, gpu);
  }
  impl.doorbells.gpu_in_use(spec.gpu);
  bool first = false;
  {
    std::lock_guard lock(impl.queues_mutex);
    impl.queues.push_back(std::move(queue));
    first = impl.version.fetch_add(1) == 1;
  }
  if (first) impl.start_thread();
  impl.doorbells.wake();
}

void Device::remove_queue(uint32_t id) {
  Impl& impl = *impl_;
  QueuePtr queue;
  {
    std::lock_guard lock(impl.queues_mutex);
    auto is_it = [id](const QueuePtr& candidate) { return candidate->id() == id; };
    auto found = std::find_if(impl.queues.begin(), impl.queues.end(), is_it);
    if (found == impl.queues.end()) return;
    queue = *found;
    impl.queues.erase(found);
    ++impl.version;
  }
  queue->stop();
  // Owned forever: threads that still have it in a list will not run it.
  for (int tries = 0; !queue->try_own(); ++tries) {
    tries < 1000 ? std::this_thread::yield()
                 : std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::shared_ptr<isa::WaveHold> Device::waves_of(uint32_t id) const {
  for (const QueuePtr& queue : impl_->queues_now()) {
    if (queue->id() == id) return {queue, &queue->waves()};
  }
  return nullptr;
}

void Device::doorbells_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) {
  impl_->doorbells.watch(gpu, address, bytes);
}

Load Device::load(uint32_t gpu) const {
  return impl_->gpus.at(gpu)->load.read(sonde::monotonic_now_ns());
}

}  // namespace softgpu
