#include "store/writer.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <new>
#include <thread>

#include "store/fixtures_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;

Writer open_writer(const std::string& path, Writer::Mode mode) {
  return value_of(Writer::open(path, mode));
}

class WriterTest : public ::testing::Test {
 protected:
  // What a reader sees of the file after a writer has written `rows` and finished it.
  template <typename Rows>
  Reader written(Writer::Mode mode, Rows rows) {
    {
      Writer writer = open_writer(path_, mode);
      rows(writer);
      expect_ok(writer.finish());
    }
    return open_reader(path_);
  }

  testing::TemporaryDirectory directory_;
  std::string path_ = directory_ / "trace.rpd";
};

TEST_F(WriterTest, EveryColumnComesBack) {
  Reader reader = written(Writer::Mode::kCreate, [](Writer& writer) {
    const int64_t call = writer.string("hipMemcpy");
    const int64_t api = writer.api({11, 12, 100, 200, call, writer.string("category"),
                                    writer.string("domain"), writer.ustring("dst=\"a\"\nb")});
    const int64_t op = writer.op({3, 0x7f0000000001, 5, 300, 400, writer.string("kernel"),
                                  writer.string("KernelExecution")});
    EXPECT_EQ(api, 1);
    EXPECT_EQ(op, 1);
    EXPECT_EQ(writer.rows(), 2u);
    writer.api_op(api, op);
    writer.op_detail(
        {op, 7, api, 250, 260, int64_t{5} << 40, {64, 32, 16}, {8, 4, 2}, 512, 16, -5});
    writer.kernel_api({api, 0xabc, {1, 2, 3}, {4, 5, 6}, 7, 8, writer.string("kernel")});
    writer.copy_api(
        {api, 0, 0xdeadbeef, 0xffffffffffffffff, int64_t{20} << 30, 1, 2, 3, 4, 5, true, false});
    writer.monitor({"gpu", "sclk", "1700", 3, 100, 200});
    writer.counter(op, writer.string("SQ_WAVES"), 2.5);
    writer.metadata("sonde::version", "1");
    writer.metadata("sonde::version", "2");
  });
  EXPECT_EQ(reader.flavour(), Flavour::kV3);
  EXPECT_TRUE(reader.made_by_sonde());
  EXPECT_EQ(rows(reader, "SELECT * FROM api"),
            Lines{"1|11|12|100|200|domain|category|hipMemcpy|dst=\"a\"\nb"});
  EXPECT_EQ(rows(reader, "SELECT * FROM op"),
            Lines{"1|3|139637976727553|5|300|400|kernel|KernelExecution"});
  EXPECT_EQ(rows(reader, "SELECT * FROM v_api_op"), Lines{"1|1"});
  EXPECT_EQ(rows(reader, "SELECT * FROM v_op_detail"),
            Lines{"1|7|1|250|260|5497558138880|64|32|16|8|4|2|512|16|-5"});
  EXPECT_EQ(rows(reader, "SELECT * FROM rocpd_kernelapi"), Lines{"1|0xabc|1|2|3|4|5|6|7|8|5"});
  EXPECT_EQ(rows(reader, "SELECT * FROM rocpd_copyapi"),
            Lines{"1|0x0|21474836480|1|2|3|0xdeadbeef|0xffffffffffffffff|4|5|1|0"});
  EXPECT_EQ(rows(reader, "SELECT * FROM v_monitor"), Lines{"1|gpu|3|sclk|100|200|1700"});
  EXPECT_EQ(rows(reader,
                 "SELECT c.op_id, s.string, c.value FROM rocpd_counter c, v_string s "
                 "WHERE s.id = c.name_id"),
            Lines{"1|SQ_WAVES|2.5"});
  EXPECT_EQ(rows(reader, "SELECT value FROM rocpd_metadata WHERE tag = 'sonde::version'"),
            Lines{"2"});
}

// Two launches of one graph; notes of HSA's, and one of the program's with such a key.
TEST_F(WriterTest, WhatFollowsFromOtherRowsIsDerived) {
  Reader reader = written(Writer::Mode::kCreate, [](Writer& writer) {
    const int64_t launch = writer.string("hipGraphLaunch");
    for (int i = 0; i < 2; ++i) {
      const int64_t api = writer.api(
          {11, 12, 100, 200, launch, 0, 0, writer.ustring("graphExec = 0xabc | stream = 0x1")});
      const auto op = [&](int64_t start) {
        writer.api_op(api, writer.op({0, 1, 0, start, start + 1, writer.string("k"), 0}));
      };
      op(500);
      op(400);
    }
    const int64_t other = writer.api({11, 12, 100, 200, writer.string("hipLaunchKernel"), 0, 0,
                                      writer.ustring("graphExec = 0xdef | stream = 0x1")});
    writer.api_op(other, writer.op({0, 1, 0, 600, 601, writer.string("k"), 0}));
    expect_ok(writer.finish());
    expect_ok(writer.database().exec(
        "INSERT INTO sonde_note VALUES (1, 'hsa.kernel', 'mine'), (1, 'hsa.kernel', "
        "'{\"name\":\"k\",\"object\":\"0x10\",\"vgprs\":8,\"accumulation_vgprs\":4,\"sgprs\":16,"
        "\"group_segment_bytes\":1,\"private_segment_bytes\":2,\"kernarg_bytes\":3,\"gpu\":0}'), "
        "(1, 'hsa.code_object', "
        "'{\"uri\":\"file:///a\",\"load_base\":\"0x20\",\"load_size\":5,\"delta\":-6}')"));
    // Finished again, they are derived anew, and not twice.
  });
  EXPECT_EQ(rows(reader, "SELECT * FROM sonde_graph_op ORDER BY op_id"),
            (Lines{"1|1|0xabc|1", "2|1|0xabc|0", "3|2|0xabc|1", "4|2|0xabc|0"}));
  EXPECT_EQ(rows(reader, "SELECT * FROM sonde_kernel_code"), Lines{"1|0|k|0x10|8|4|16|1|2|3"});
  EXPECT_EQ(rows(reader, "SELECT * FROM sonde_code_object"), Lines{"1|file:///a|0x20|5|-6"});
}

TEST_F(WriterTest, DefaultsAreTheEmptyStringAndNull) {
  Reader reader = written(Writer::Mode::kCreate, [](Writer& writer) {
    EXPECT_EQ(writer.string(""), 1);
    EXPECT_EQ(writer.ustring(""), 1);
    writer.api({1, 1, 1, 2, writer.string("f"), 0, 0, 0});
    writer.op({0, 0, 0, 1, 2, 0, writer.string("CopyHostToDevice")});
    OpDetailRow detail;
    detail.op_id = 1;
    writer.op_detail(detail);
  });
  EXPECT_EQ(rows(reader, "SELECT domain, category, apiName, args FROM api"), Lines{"||f|"});
  EXPECT_EQ(rows(reader, "SELECT description FROM op"), Lines{""});
  EXPECT_EQ(rows(reader, "SELECT * FROM v_op_detail"), Lines{"1|0|-|-|-|-|-|-|-|-|-|-|-|-|0"});
}

TEST_F(WriterTest, TextsShareARowAndArgumentsDoNot) {
  constexpr int kTexts = 5000;
  Reader reader = written(Writer::Mode::kCreate, [](Writer& writer) {
    std::vector<int64_t> ids;
    for (int i = 0; i < kTexts; ++i) ids.push_back(writer.string("text " + std::to_string(i)));
    for (int i = 0; i < kTexts; ++i) {
      EXPECT_EQ(writer.string("text " + std::to_string(i)), ids[static_cast<size_t>(i)]);
    }
    const std::string with_nul("a\0b", 3);
    EXPECT_NE(writer.string(with_nul), writer.string("a"));
    EXPECT_NE(writer.ustring("same"), writer.ustring("same"));
  });
  EXPECT_EQ(number(reader, "SELECT count(*) FROM v_string"), kTexts + 3);
  EXPECT_EQ(number(reader, "SELECT count(DISTINCT string) FROM v_string"), kTexts + 3);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM v_ustring WHERE string = 'same'"), 2);
}

// Counts on both sides of the 128 rows that go in with one statement.
TEST_F(WriterTest, AnyNumberOfRowsGoesIn) {
  for (const int count : {0, 1, 127, 128, 129, 255, 256, 1000}) {
    const std::string path = directory_ / std::to_string(count);
    {
      Writer writer = open_writer(path, Writer::Mode::kCreate);
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(writer.api({1, 2, i, i + 1, 1, 0, 0, writer.ustring("n=" + std::to_string(i))}),
                  i + 1);
      }
      expect_ok(writer.commit());
    }
    Reader reader = open_reader(path);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_api"), count);
    EXPECT_EQ(
        number(reader, "SELECT count(*) FROM api WHERE args = 'n=' || (id - 1) AND start = id - 1"),
        count);
  }
}

TEST_F(WriterTest, SecondLaunchOfACallIsNoError) {
  Reader reader = written(Writer::Mode::kCreate, [](Writer& writer) {
    for (int i = 0; i < 100; ++i) {
      writer.kernel_api({1 + i / 2, 0, {i, 1, 1}, {1, 1, 1}, 0, 0, 1});
      writer.copy_api({1 + i / 2, 0, 0, 0, i});
    }
  });
  EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_kernelapi"), 50);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_copyapi"), 50);
  EXPECT_EQ(number(reader, "SELECT gridX FROM rocpd_kernelapi WHERE api_ptr_id = 50"), 98);
}

TEST_F(WriterTest, ExistingFilesAreSafe) {
  testing::write_bytes(path_, "precious");
  const auto writer = Writer::open(path_, Writer::Mode::kCreate);
  ASSERT_FALSE(writer.ok());
  EXPECT_TRUE(has(writer.error().to_line(), path_ + ": already exists"));
  EXPECT_EQ(testing::read_bytes(path_), "precious");
}

TEST_F(WriterTest, AppendGoesOn) {
  written(Writer::Mode::kCreate, [](Writer& writer) {
    for (int i = 0; i < 70; ++i) {
      const int64_t api =
          writer.api({1, 1, i, i, writer.string("first"), 0, 0, writer.ustring("a")});
      writer.api_op(api, writer.op({0, 0, 0, i, i, 0, writer.string("Task")}));
    }
  });
  Reader reader = written(Writer::Mode::kAppend, [](Writer& writer) {
    EXPECT_EQ(writer.string(""), 1);
    EXPECT_EQ(writer.string("first"), 2);
    EXPECT_EQ(writer.string("second"), 4);
    const int64_t api =
        writer.api({2, 2, 0, 1, writer.string("second"), 0, 0, writer.ustring("b")});
    EXPECT_EQ(api, 71);
    writer.api_op(api, writer.op({0, 0, 0, 1, 2, 0, writer.string("Task")}));
  });
  EXPECT_EQ(rows(reader, "SELECT apiName, args, count(*) FROM api GROUP BY 1 ORDER BY 1"),
            (Lines{"first|a|70", "second|b|1"}));
  EXPECT_EQ(number(reader, "SELECT count(*) FROM v_api_op WHERE api_id = op_id"), 71);
  EXPECT_EQ(rows(reader, "SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"),
            Lines{"2"});
  EXPECT_EQ(number(reader,
                   "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND "
                   "name GLOB 'rocpd_*'"),
            2);
}

TEST_F(WriterTest, AppendRefusesFilesOfOthers) {
  const std::string foreign = testing::make_example(directory_, Flavour::kV3);
  const std::string before = testing::read_bytes(foreign);
  const auto writer = Writer::open(foreign, Writer::Mode::kAppend);
  ASSERT_FALSE(writer.ok());
  EXPECT_TRUE(has(writer.error().to_line(), "sonde upgrade"));
  EXPECT_EQ(testing::read_bytes(foreign), before);
  EXPECT_FALSE(Writer::open(directory_ / "none.rpd", Writer::Mode::kAppend).ok());
}

TEST_F(WriterTest, FinishLeavesOneFile) {
  Writer writer = open_writer(path_, Writer::Mode::kCreate);
  writer.api({1, 1, 1, 1, 1, 0, 0, 0});
  expect_ok(writer.finish());
  EXPECT_FALSE(std::filesystem::exists(path_ + "-journal"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  writer.api({1, 1, 2, 2, 1, 0, 0, 0});
  expect_ok(writer.finish());
  Reader reader = open_reader(path_);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_api"), 2);
}

TEST_F(WriterTest, WithoutCommitNothingIsKept) {
  {
    Writer writer = open_writer(path_, Writer::Mode::kCreate);
    for (int i = 0; i < 1000; ++i) writer.api({1, 1, i, i, 1, 0, 0, 0});
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + "-journal"));
  Reader reader = open_reader(path_);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_api"), 0);
}

TEST_F(WriterTest, ReadersSeeTheLastCommit) {
  Writer writer = open_writer(path_, Writer::Mode::kCreate);
  for (int i = 0; i < 100; ++i) writer.api({1, 1, i, i, writer.string("f"), 0, 0, 0});
  expect_ok(writer.commit());
  for (int i = 0; i < 100; ++i) writer.api({1, 1, i, i, 1, 0, 0, 0});
  Reader reader = open_reader(path_);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_api"), 100);
  expect_ok(writer.commit());
  EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_api"), 200);
  EXPECT_EQ(number(reader, "SELECT calls FROM sonde_api_top WHERE name = 'f'"), 100);
}

// A reader in the middle of a query holds the commit up; nothing is lost.
TEST_F(WriterTest, BusyCommitCanBeRepeated) {
  Writer writer = open_writer(path_, Writer::Mode::kCreate);
  writer.api({1, 1, 1, 1, 1, 0, 0, 0});
  expect_ok(writer.commit());
  writer.api({1, 1, 2, 2, 1, 0, 0, 0});
  expect_ok(writer.database().exec("PRAGMA busy_timeout=20"));
  {
    Reader reader = open_reader(path_);
    auto query = value_of(reader.database().prepare("SELECT * FROM rocpd_string"));
    ASSERT_TRUE(query.step().ok());
    const auto status = writer.commit();
    ASSERT_FALSE(status.ok());
    EXPECT_TRUE(is_busy(status.error())) << status.error().to_line();
  }
  expect_ok(writer.commit());
  Reader reader = open_reader(path_);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM rocpd_api"), 2);
}

TEST_F(WriterTest, FirstErrorStays) {
  Writer writer = open_writer(path_, Writer::Mode::kCreate);
  expect_ok(writer.database().exec("DROP TABLE rocpd_monitor"));
  writer.monitor({"gpu", "sclk", "1", 0, 0, 0});
  const auto first = writer.commit();
  ASSERT_FALSE(first.ok());
  EXPECT_TRUE(has(first.error().to_line(), "rocpd_monitor"));
  EXPECT_FALSE(writer.commit().ok());
  EXPECT_FALSE(writer.finish().ok());
}

TEST_F(WriterTest, FullDiskKeepsTheLastCommit) {
  {
    Writer writer = open_writer(path_, Writer::Mode::kCreate);
    for (int i = 0; i < 1000; ++i) writer.api({1, 1, i, i, 1, 0, 0, 0});
    expect_ok(writer.commit());
    expect_ok(writer.database().exec("PRAGMA max_page_count=120"));
    for (int i = 0; i < 100000; ++i) writer.api({2, 2, i, i, 1, 0, 0, writer.ustring("argument")});
    const auto status = writer.commit();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().to_line().rfind(path_ + ": the disk is full", 0), 0u);
    for (int i = 0; i < 1000; ++i) writer.api({3, 3, i, i, 1, 0, 0, 0});
    EXPECT_FALSE(writer.commit().ok());
  }
  Reader reader = open_reader(path_);
  EXPECT_EQ(rows(reader, "SELECT pid, count(*) FROM rocpd_api GROUP BY 1"), Lines{"1|1000"});
  EXPECT_EQ(rows(reader, "PRAGMA integrity_check"), Lines{"ok"});
}

TEST_F(WriterTest, OnlyOneWriter) {
  Writer writer = open_writer(path_, Writer::Mode::kCreate);
  auto other = value_of(Database::open(path_, Database::Mode::kReadWrite));
  expect_ok(other.exec("PRAGMA busy_timeout=0"));
  const auto status = other.exec("DELETE FROM rocpd_string");
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(is_busy(status.error()));
}

// The child writes batches of 500 rows and says after each commit how many there are.
[[noreturn]] void write_until_killed(const std::string& path, std::atomic<int64_t>* committed) {
  auto opened = Writer::open(path, Writer::Mode::kCreate);
  if (!opened) ::_exit(1);
  Writer writer = std::move(opened).value();
  for (int64_t total = 0;;) {
    for (int i = 0; i < 500; ++i) {
      writer.api(
          {1, 1, total, total, writer.string("call"), 0, 0, writer.ustring("argument text")});
      ++total;
    }
    if (!writer.commit()) ::_exit(2);
    committed->store(total);
  }
}

TEST_F(WriterTest, KillAtAnyTimeKeepsTheLastCommit) {
  void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  for (int round = 0; round < 8; ++round) {
    const std::string path = directory_ / ("killed" + std::to_string(round) + ".rpd");
    auto* committed = new (shared) std::atomic<int64_t>(0);
    const pid_t child = ::fork();
    if (child == 0) write_until_killed(path, committed);
    while (committed->load() < 2000 + round * 700) std::this_thread::yield();
    ::usleep(static_cast<useconds_t>(round * 137));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const int64_t promised = committed->load();
    Reader reader = open_reader(path);
    const int64_t found = number(reader, "SELECT count(*) FROM api");
    // The kill can fall between the commit and the note of it.
    EXPECT_TRUE(found == promised || found == promised + 500) << found << " for " << promised;
    EXPECT_EQ(rows(reader, "PRAGMA integrity_check"), Lines{"ok"});
  }
  ::munmap(shared, 4096);
}

// With a tiny cache the rows of the open transaction are in the file already, so that a reader has
// to undo them.
[[noreturn]] void die_in_a_spilled_transaction(const std::string& path) {
  auto opened = Writer::open(path, Writer::Mode::kCreate);
  if (!opened) ::_exit(1);
  Writer writer = std::move(opened).value();
  for (int i = 0; i < 5000; ++i) writer.api({1, 1, i, i, writer.string("kept"), 0, 0, 0});
  if (!writer.commit() || !writer.database().exec("PRAGMA cache_size=10")) ::_exit(2);
  for (int i = 0; i < 50000; ++i) writer.api({2, 2, i, i, writer.string("lost"), 0, 0, 0});
  ::raise(SIGKILL);
  ::_exit(3);
}

class KilledWriterTest : public WriterTest {
 protected:
  void SetUp() override {
    const pid_t child = ::fork();
    if (child == 0) die_in_a_spilled_transaction(path_);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    ASSERT_GT(std::filesystem::file_size(path_ + "-journal"), 0u);
    ASSERT_GT(std::filesystem::file_size(path_), 1000000u);
  }
};

TEST_F(KilledWriterTest, ReaderShowsTheLastCommitAndTouchesNothing) {
  const std::string before = testing::read_bytes(path_);
  const std::string journal = testing::read_bytes(path_ + "-journal");
  {
    Reader reader = open_reader(path_);
    EXPECT_EQ(reader.path(), path_);
    EXPECT_EQ(rows(reader, "SELECT apiName, count(*) FROM api GROUP BY 1"), Lines{"kept|5000"});
    EXPECT_EQ(rows(reader, "PRAGMA integrity_check"), Lines{"ok"});
  }
  EXPECT_EQ(testing::read_bytes(path_), before);
  EXPECT_EQ(testing::read_bytes(path_ + "-journal"), journal);
}

TEST_F(KilledWriterTest, ReaderFollowsASymbolicLink) {
  const std::string link = directory_ / "link.rpd";
  std::filesystem::create_symlink(path_, link);
  Reader reader = open_reader(link);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM api"), 5000);
}

TEST_F(KilledWriterTest, ReaderWorksWhereItMayNotWrite) {
  std::filesystem::permissions(path_, std::filesystem::perms(0444));
  std::filesystem::permissions(path_ + "-journal", std::filesystem::perms(0444));
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0555));
  const pid_t child = ::fork();
  if (child == 0) {
    // Root may write everywhere.
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(10);
    auto reader = Reader::open(path_);
    if (!reader) ::_exit(11);
    ::_exit(number(reader->database(), "SELECT count(*) FROM api") == 5000 ? 0 : 12);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(KilledWriterTest, AppendRollsBackAndGoesOn) {
  Reader reader = written(Writer::Mode::kAppend, [](Writer& writer) {
    EXPECT_EQ(writer.api({3, 3, 1, 1, writer.string("after"), 0, 0, 0}), 5001);
  });
  EXPECT_EQ(rows(reader, "SELECT apiName, count(*) FROM api GROUP BY 1 ORDER BY 1"),
            (Lines{"after|1", "kept|5000"}));
}

TEST_F(KilledWriterTest, JournalThatNamesAnotherFileIsRefused) {
  // The end of a journal that belongs to a transaction over several files: name, length, checksum,
  // magic. SQLite would look at that file and delete it.
  const std::string victim = directory_ / "victim";
  testing::write_bytes(victim, "precious");
  std::string journal = testing::read_bytes(path_ + "-journal");
  uint32_t sum = 0;
  for (const char c : victim) sum += static_cast<unsigned char>(c);
  const auto big_endian = [&journal](uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) journal += static_cast<char>(value >> shift);
  };
  journal.append(4, '\0');
  journal += victim;
  big_endian(static_cast<uint32_t>(victim.size()));
  big_endian(sum);
  journal.append("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  testing::write_bytes(path_ + "-journal", journal);
  const auto reader = Reader::open(path_);
  ASSERT_FALSE(reader.ok());
  EXPECT_TRUE(has(reader.error().to_line(), path_ + ": its journal"));
  EXPECT_EQ(testing::read_bytes(victim), "precious");
}

}  // namespace
}  // namespace sonde::store
