// The drain and the recovery against the real agent, in child processes of the test's own: what the
// children count in shared memory must be in the file.
#include "record/drain.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "base/time.h"
#include "record/record.h"
#include "record/session_dir.h"
#include "sonde/backend.h"
#include "store/database.h"
#include "store/writer.h"
#include "wire/decoder.h"

namespace sonde::agent {
bool attach_process(const char* session);
}
extern "C" const struct sonde_agent* sonde_agent_v2(void);

namespace sonde::record {
namespace {

namespace fs = std::filesystem;
using Agent = const struct sonde_agent*;

// Counters that outlive the child that counts.
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
  // Runs `work` in a child that is recorded.
  pid_t start(const std::function<void(Agent)>& work) {
    const pid_t child = fork();
    if (child != 0) return child;
    control_.reset();  // or it would hold the lock as well
    if (!agent::attach_process(session().c_str())) _exit(9);
    work(sonde_agent_v2());
    _exit(0);
  }
  void wait_for(pid_t child) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  // Threads that make marks with their number for text until they have made `count`.
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

TEST_F(DrainTest, ReadsWhileTheProgramWrites) {
  const int64_t before = monotonic_now_ns();
  const pid_t child = start(marks(4, 60'000, 2000));
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    drain_->poll();
    ASSERT_TRUE(drain_->commit(true));
    usleep(2000);
  }
  end("exit 0");
  for (int t = 0; t < 4; ++t) EXPECT_EQ(rows("t" + std::to_string(t)), 60'000);
  EXPECT_EQ(lost(), 0);
  EXPECT_EQ(value("SELECT count(*) FROM rocpd_api WHERE start < " + std::to_string(before) +
                  " OR end > " + std::to_string(monotonic_now_ns())),
            0);
  EXPECT_EQ((*control_)->allocated_bytes, 0u);
  EXPECT_TRUE(wire::list_spools(session()).empty());
}

// Each call is of a function of its own with a long name, so that definitions fill a chunk every
// hundred calls: an event must never be read before the newest chunk of definitions. Another folder
// with many files makes time pass between listing this one and reading it.
TEST_F(DrainTest, NamesAreThereForEventsThatAreJustMade) {
  constexpr int kCalls = 10'000;
  const std::string crowd = session() + "/p1-7fffffffffffffff/";
  fs::create_directory(crowd);
  for (int i = 0; i < 3000; ++i) std::ofstream(crowd + "r1-" + std::to_string(i));
  const pid_t child = start([](Agent agent) {
    std::string name(2000, 'n');
    for (int i = 0; i < kCalls; ++i) {
      name.replace(0, 5, std::to_string(10'000 + i));
      const uint32_t function = agent->define_function("d", "c", name.c_str(), "");
      sonde_call call = agent->call_begin(function, 0);
      agent->call_end(&call, 0, nullptr, 0);
    }
  });
  while (waitpid(child, nullptr, WNOHANG) == 0) drain_->poll();
  end();
  EXPECT_EQ(value("SELECT count(*) FROM api WHERE length(apiName) = 2000"), kCalls);
}

TEST_F(DrainTest, ChunksGoRoundOrAreLetGo) {
  for (const bool slow : {false, true}) {
    fresh();
    // The child waits after each 5,000 marks until they are drained, or fills its chunks at once.
    const pid_t child = start([&](Agent agent) {
      for (int64_t i = 1; i <= 400'000; ++i) {
        agent->mark(0, 0, "round");
        progress_->marks[0] = i;
        while (!slow && i - progress_->marks[1] >= 5000) usleep(100);
      }
    });
    while (slow && progress_->marks[0] < 390'000) usleep(1000);
    uint64_t most = 0;
    while (waitpid(child, nullptr, WNOHANG) == 0) {
      const int64_t made = progress_->marks[0];
      drain_->poll();
      ASSERT_TRUE(drain_->commit(true));
      progress_->marks[1] = made;
      most = std::max(most, drain_->spool_bytes());
    }
    end();
    EXPECT_EQ(rows("round"), 400'000);
    EXPECT_EQ(lost(), 0);
    EXPECT_EQ((*control_)->allocated_bytes, 0u);
    if (!slow) {
      EXPECT_LT(most, 10 * wire::kChunkBytes);
    }
  }
}

TEST_F(DrainTest, AKilledProgramLosesNothingItHadMade) {
  for (int round = 0; round < 20; ++round) {
    fresh();
    const pid_t child = start(marks(3, int64_t{1} << 40, 1000));
    const int64_t end_at = monotonic_now_ns() + 1'000'000 * static_cast<int64_t>(random_() % 40);
    while (monotonic_now_ns() < end_at || progress_->marks[0] == 0) {
      if (round % 2 == 0) drain_->poll();
      if (round % 4 == 0) {
        ASSERT_TRUE(drain_->commit(true));
      }
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    end("signal 9");
    for (int t = 0; t < 3; ++t) {
      const int64_t made = rows("t" + std::to_string(t));
      EXPECT_GE(made, progress_->marks[t]) << round;
      EXPECT_LE(made, progress_->marks[t] + 1) << round;
    }
    EXPECT_EQ(lost(), 0) << round;
  }
}

TEST_F(DrainTest, WhatAKilledProgramWasDoingIsNoted) {
  const pid_t child = start([&](Agent agent) {
    agent->range_push(0, 0, "outer");
    agent->range_push(0, 0, "inner");
    agent->range_start(0, 0, "started");
    for (int i = 0; i < 30'000; ++i) agent->mark(0, 0, "filler");
    progress_->marks[0] = 1;
    pause();
  });
  while (progress_->marks[0] == 0) usleep(1000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  end("signal 9");
  for (const char* text : {"outer", "inner", "started"}) EXPECT_EQ(rows(text), 1);
  EXPECT_EQ(value("SELECT count(*) FROM sonde_unfinished"), 3);
}

TEST_F(DrainTest, RecoveryGoesOnWhereTheRecorderWasKilled) {
  for (int round = 0; round < 12; ++round) {
    fresh();
    const int64_t before = monotonic_now_ns();
    const int64_t count = 5'000 + static_cast<int64_t>(random_() % 40'000);
    const pid_t child = start(marks(2, count, 3000));
    // Recorders that are killed at some moment, one after the other.
    for (int recorder = round % 4; recorder > 0; --recorder) {
      for (auto polls = random_() % 8; polls > 0; --polls) {
        drain_->poll();
        if (random_() % 2 == 0) {
          ASSERT_TRUE(drain_->commit(random_() % 2 == 0));
        }
        usleep(static_cast<useconds_t>(random_() % 5000));
      }
      crash();
      begin(store::Writer::Mode::kAppend);
    }
    wait_for(child);
    close();
    if (round % 5 == 4) fs::remove(trace());  // killed before it had made one
    const auto outcome = recover(session(), "");
    ASSERT_TRUE(outcome) << outcome.error().to_line();
    if (round % 5 != 4 || round % 4 == 0) {
      for (const char* text : {"t0", "t1"}) EXPECT_EQ(rows(text), count) << round;
    }
    EXPECT_EQ(lost(), 0) << round;
    EXPECT_EQ(value("SELECT count(*) FROM rocpd_api WHERE start < " + std::to_string(before) +
                    " OR end > " + std::to_string(monotonic_now_ns())),
              0)
        << round;
    EXPECT_FALSE(fs::exists(session()));
  }
}

TEST_F(DrainTest, DropsAreCountedExactly) {
  for (const bool drained : {false, true}) {
    fresh(5 * wire::kChunkBytes);
    const pid_t child = start(marks(3, 40'000));
    while (waitpid(child, nullptr, WNOHANG) == 0) {
      if (drained) {
        drain_->poll();
        ASSERT_TRUE(drain_->commit(true));
      }
      usleep(10'000);
    }
    end();
    const int64_t made = value("SELECT count(*) FROM rocpd_api");
    EXPECT_TRUE(drained || lost() > 0);
    EXPECT_EQ(made + lost(), 3 * 40'000);
  }
}

TEST_F(DrainTest, WithoutAReaderAProgramKeepsToItsRoom) {
  fresh(uint64_t{1} << 30, 2 << 20);
  const pid_t child = start(marks(2, int64_t{1} << 40, 2000));
  while (progress_->marks[0] == 0 || progress_->marks[1] == 0) usleep(1000);
  drain_->poll();
  EXPECT_EQ((*control_)->orphaned, 0u);
  close();
  // What closing let the program make, which takes as long as the machine is busy, is not of the
  // room. Each thread may have taken one more chunk before it noticed.
  const uint64_t before = bytes_on_disk();
  usleep(800'000);  // more than 2 MiB are made meanwhile
  EXPECT_LE(bytes_on_disk(), before + (2u << 20) + 2 * wire::kMaxChunkBytes);
  progress_->stop = true;
  wait_for(child);
  const auto outcome = recover(session(), "");
  ASSERT_TRUE(outcome) << outcome.error().to_line();
  EXPECT_GT(lost(), 0);
  EXPECT_EQ(rows("t0") + rows("t1") + lost(), progress_->marks[0] + progress_->marks[1]);
  EXPECT_EQ(value("SELECT count(*) FROM sonde_drop WHERE reason <> 'recorder gone and the room for "
                  "that full'"),
            0);
}

TEST_F(DrainTest, OfAFinishedTraceOnlyTheSessionIsLeftToRemove) {
  const pid_t child = start(marks(1, 100));
  wait_for(child);
  end();
  close();  // as a recorder that is killed before it has removed the session
  ASSERT_TRUE(fs::exists(session() + "/control"));
  const auto outcome = recover(session(), "");
  ASSERT_TRUE(outcome) << outcome.error().to_line();
  EXPECT_EQ(outcome->apis, 100u);
  EXPECT_EQ(rows("t0"), 100);
  EXPECT_EQ(value("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), 1);
  EXPECT_FALSE(fs::exists(session()));
}

// ---- damaged files ----

struct Damage {
  const char* what;
  const char* file;
  std::function<void(const std::string& path)> done;
  bool loses_chunk;  // the events of that file are gone, those of the others are not
  bool is_counted;
};

void flip_bit(const std::string& path, uint64_t byte) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  char c = 0;
  file.seekg(static_cast<std::streamoff>(byte)).read(&c, 1);
  c = static_cast<char>(c ^ 4);
  file.seekp(static_cast<std::streamoff>(byte)).write(&c, 1);
}

int64_t marks_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const auto bytes = fs::file_size(path);
  std::vector<uint64_t> words(bytes / 8);
  in.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(bytes));
  const auto& header = *reinterpret_cast<const wire::ChunkHeader*>(words.data());
  wire::Decoder decoder(
      std::as_bytes(std::span(words).subspan(wire::kHeaderBytes / 8, header.committed / 8)));
  int64_t marks = 0;
  while (const auto record = decoder.next()) marks += record->type() == wire::RecordType::kMark;
  return marks;
}

TEST_F(DrainTest, DamagedFilesAreCountedAndHarmNothingElse) {
  constexpr int kMade = 80'000;  // the second chunk is not the last, however large it is
  const auto cut = [](uint64_t size) {
    return [size](const std::string& path) { fs::resize_file(path, size); };
  };
  const auto flip = [](uint64_t byte) {
    return [byte](const std::string& path) { flip_bit(path, byte); };
  };
  const auto write = [](const std::string& text) {
    return [text](const std::string& path) { std::ofstream(path) << text; };
  };
  const Damage damages[] = {
      {"nothing", "r1-1", [](const std::string&) {}, false, false},
      {"cut in the payload", "r1-1", cut(100'000), true, true},
      {"cut in the header", "r1-1", cut(5000), true, true},
      {"cut in the identity", "r1-1", cut(40), true, true},
      {"empty", "r1-1", cut(0), true, true},
      {"a bit of the payload", "r1-1", flip(wire::kHeaderBytes + 50'000), true, true},
      {"a bit of the identity", "r1-1", flip(offsetof(wire::ChunkStatus, spool)), true, true},
      {"a bit of the state", "r1-1", flip(offsetof(wire::ChunkStatus, payload_sum)), true, true},
      {"a bit of the magic", "r1-1", flip(0), true, true},
      {"a foreign file", "r1-1", write("hello"), true, true},
      {"a long foreign file", "r1-1", write(std::string(wire::kChunkBytes, 'x')), true, true},
      {"a chunk of another ring", "r1-1",
       [](const std::string& path) {
         fs::copy_file(fs::path(path).parent_path() / "r1-0", path,
                       fs::copy_options::overwrite_existing);
       },
       true, true},
      {"definitions with a flipped bit", "r0-0", flip(wire::kHeaderBytes + 24), false, false},
      {"definitions of an unknown form", "r0-0",
       [](const std::string& path) {
         std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
         file.seekp(wire::kHeaderBytes).put(99);
       },
       false, true},
      {"definitions with a damaged header", "r0-0", flip(8), false, true},
      {"no definitions", "r0-0", [](const std::string& path) { fs::remove(path); }, false, true},
      {"empty definitions", "r0-0", cut(0), false, true},
      {"a chunk that was being made", "r1-77", write(""), false, false},
      {"a chunk that was being filled with zeros", "r1-77", write(std::string(8192, '\0')), false,
       false},
      {"a file of another name", "r1-x", write("hello"), false, false},
  };
  for (const auto& damage : damages) {
    fresh();
    crash();
    const pid_t other = start(marks(1, 1000));
    wait_for(other);
    const pid_t child = start([](Agent agent) {
      for (int i = 0; i < kMade; ++i) agent->mark(0, 0, "mine");
    });
    wait_for(child);
    const std::string path = chunk(child, damage.file);
    const int64_t gone = damage.loses_chunk ? marks_in(path) : 0;
    ASSERT_TRUE(!damage.loses_chunk || gone > 1000);
    damage.done(path);
    close();
    const auto outcome = recover(session(), "");
    ASSERT_TRUE(outcome) << damage.what;
    const std::string pid = std::to_string(child);
    EXPECT_EQ(value("SELECT count(*) FROM rocpd_api WHERE pid = " + pid), kMade - gone)
        << damage.what;
    EXPECT_EQ(rows("t0"), 1000) << damage.what;
    EXPECT_EQ(lost() > 0, damage.is_counted) << damage.what << ": " << lost();
    EXPECT_EQ(value("SELECT count(*) FROM sonde_process"), 2) << damage.what;
  }
}

TEST_F(DrainTest, AnyFlippedBitIsSafe) {
  for (int round = 0; round < 40; ++round) {
    fresh();
    crash();
    const pid_t child = start([](Agent agent) {
      agent->range_push(0, 0, "open");
      const uint32_t function = agent->define_function("d", "c", "f", "a:s b:u");
      for (int i = 0; i < 300; ++i) {
        sonde_call call = agent->call_begin(function, 1);
        sonde_args args = {};
        sonde_arg_text(&args, "text");
        sonde_arg_u64(&args, static_cast<uint64_t>(i));
        agent->call_end(&call, i % 3, args.words, args.count);
        const sonde_op op = {.correlation = call.correlation, .start = 1, .end = 2};
        agent->op(&op);
      }
    });
    wait_for(child);
    for (const char* name : {"r0-0", "r1-0"}) {
      const std::string path = chunk(child, name);
      for (int flips = 0; flips < 4; ++flips) {
        flip_bit(path, round % 2 == 0 ? random_() % 1024 : wire::kHeaderBytes + random_() % 4096);
      }
    }
    close();
    EXPECT_TRUE(recover(session(), "")) << round;
  }
}

}  // namespace
}  // namespace sonde::record
