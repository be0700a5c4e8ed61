// Damaged files of a session: their loss is counted, and nothing else is lost.
#include <fstream>

#include "record/drain_test_support.h"
#include "wire/decoder.h"

namespace sonde::record {
namespace {

struct Damage {
  const char* what;
  const char* file;
  std::function<void(const std::string& path)> done;
  bool loses_chunk;  // the events of that file are lost, and no others
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

std::vector<Damage> damages() {
  const auto cut = [](uint64_t size) {
    return [size](const std::string& path) { fs::resize_file(path, size); };
  };
  const auto flip = [](uint64_t byte) {
    return [byte](const std::string& path) { flip_bit(path, byte); };
  };
  const auto write = [](const std::string& text) {
    return [text](const std::string& path) { std::ofstream(path) << text; };
  };
  return {
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
}

TEST_F(DrainTest, DamagedFilesAreCountedAndHarmNothingElse) {
  // So many that the second chunk is not the last, however large it is.
  constexpr int kMade = 80'000;
  for (const auto& damage : damages()) {
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
