// Shared by tests of the drain and of the recovery: a session whose programs are child processes
// that use the real agent, and count in shared memory what they record.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "record/drain.h"
#include "record/record.h"
#include "record/session_dir.h"
#include "sonde/backend.h"
#include "store/database.h"
#include "store/writer.h"

namespace sonde::agent {
bool attach_process(const char* session);
}
extern "C" const struct sonde_agent* sonde_agent_v2(void);

namespace sonde::record {

namespace fs = std::filesystem;
using Agent = const struct sonde_agent*;

// Counters that outlive the child.
struct Progress {
  std::atomic<int64_t> marks[8];
  std::atomic<bool> stop;
};

class DrainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* base = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    folder_ = std::string(base) + "/sonde-drain-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    void* memory =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    progress_ = new (memory) Progress();
    fresh();
  }
  void TearDown() override {
    close();
    munmap(progress_, sizeof(Progress));
    fs::remove_all(folder_);
  }
  void fresh(uint64_t limit = uint64_t{1} << 30, uint64_t orphan = uint64_t{1} << 30) {
    close();
    fs::remove_all(session());
    fs::remove(trace());
    fs::create_directory(session());
    for (auto& count : progress_->marks) count = 0;
    progress_->stop = false;
    auto control = wire::Control::create(
        session(), {.limit_bytes = limit, .orphan_bytes = orphan, .clock = wire::best_clock()});
    ASSERT_TRUE(control);
    control_ = std::make_unique<wire::Control>(std::move(control).value());
    ASSERT_TRUE(write_output_name(session(), trace()));
    begin(store::Writer::Mode::kCreate);
  }
  void begin(store::Writer::Mode mode) {
    auto writer = store::Writer::open(trace(), mode);
    ASSERT_TRUE(writer) << writer.error().to_line();
    writer_ = std::make_unique<store::Writer>(std::move(writer).value());
    auto ingest = store::Ingest::open(*writer_, (*control_)->id, session());
    ASSERT_TRUE(ingest);
    ingest_ = std::make_unique<store::Ingest>(std::move(ingest).value());
    drain_ = std::make_unique<Drain>(session(), *control_, *ingest_);
  }
  void crash() {
    drain_.reset();
    ingest_.reset();
    writer_.reset();
  }
  void close() {
    crash();
    control_.reset();
  }
  std::string session() const { return folder_ + "/session"; }
  std::string trace() const { return folder_ + "/t.rpd"; }
  uint64_t bytes_on_disk() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(session())) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }
  // Runs `work` in a recorded child.
  pid_t start(const std::function<void(Agent)>& work) {
    const pid_t child = fork();
    if (child != 0) return child;
    control_.reset();  // otherwise it would hold the lock as well
    if (!agent::attach_process(session().c_str())) _exit(9);
    work(sonde_agent_v2());
    _exit(0);
  }
  void wait_for(pid_t child) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  // Threads that make marks with their number as text, until they have made `count`.
  std::function<void(Agent)> marks(int threads, int64_t count, int pause_every = 0) {
    return [=, this](Agent agent) {
      std::vector<std::thread> running;
      for (int t = 0; t < threads; ++t) {
        running.emplace_back([=, this] {
          const std::string text = "t" + std::to_string(t);
          for (int64_t i = 1; i <= count && !progress_->stop; ++i) {
            agent->mark(0, 0, text.c_str());
            progress_->marks[t] = i;
            if (pause_every != 0 && i % pause_every == 0) usleep(200);
          }
        });
      }
      for (auto& thread : running) thread.join();
    };
  }
  void end(const char* how = "ended") {
    drain_->list_new();
    for (const auto& live : drain_->live()) {
      ASSERT_TRUE(drain_->finish_process(live.spool, how));
    }
    const auto status = drain_->finish();
    ASSERT_TRUE(status) << status.error().to_line();
    crash();
  }
  int64_t value(const std::string& sql) {
    auto database = store::Database::open(trace(), store::Database::Mode::kReadOnly);
    if (!database) return -1;
    const auto result = database->integer(sql, -2);
    return result ? *result : -3;
  }
  int64_t rows(const std::string& text) {
    return value("SELECT count(*) FROM api WHERE args = '" + text + "'");
  }
  int64_t lost() { return value("SELECT coalesce(sum(count), 0) FROM sonde_drop"); }
  std::string chunk(pid_t pid, const std::string& name) {
    for (const auto& folder : wire::list_spools(session())) {
      if (folder.pid == static_cast<uint32_t>(pid)) return folder.path + "/" + name;
    }
    return {};
  }
  std::string folder_;
  Progress* progress_ = nullptr;
  std::unique_ptr<wire::Control> control_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Ingest> ingest_;
  std::unique_ptr<Drain> drain_;
  std::mt19937 random_{7};
};

}  // namespace sonde::record
