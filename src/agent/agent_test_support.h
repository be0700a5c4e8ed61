// For tests of the agent: it records this process into a session directory of the test's own, and
// what it wrote is read back with the decoder.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "sonde/backend.h"
#include "sonde/sonde.h"
#include "wire/decoder.h"
#include "wire/session.h"

namespace sonde::agent {
bool attach_process(const char* session);
}
extern "C" const struct sonde_agent* sonde_agent_v2(void);
extern "C" const struct sonde_functions* sonde_functions_v1(void);
extern "C" const void* sonde_agent_v1(void);

namespace sonde {

struct SeenCall {
  uint32_t function;
  uint64_t begin, end;
  std::vector<uint64_t> arguments;
  bool operator==(const SeenCall&) const = default;
};

struct Seen {
  std::vector<SeenCall> calls;
  std::map<uint32_t, std::string> strings;
  std::map<std::string, int> ranges, marks;
  std::map<uint32_t, std::vector<std::pair<int, std::string>>> threads;  // names, with flags
  std::map<std::string, std::pair<uint64_t, uint64_t>> times;  // of the last range of a text
  std::map<std::string, int> functions;
  int ops = 0, counters = 0, starts = 0, stops = 0, processes = 0, malformed = 0, damaged = 0;
  uint64_t largest_chunk = 0;
  std::vector<std::string> open, diagnostics;
  std::vector<uint32_t> open_calls;
  std::vector<std::pair<bool, uint64_t>> correlated;  // samples (true) and calls, in their order
  std::vector<uint32_t> ids;                          // of definitions, in their order
  int unknown_marks = 0;                              // whose text is not defined before them
};

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(in ? static_cast<size_t>(in.tellg()) : 0);
  in.seekg(0).read(reinterpret_cast<char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

inline void see(const wire::Record& record, Seen& seen) {
  const auto defined = seen.strings.find(record.header->id);
  const bool is_known = record.has_text || defined != seen.strings.end();
  const std::string text(record.has_text ? record.text : is_known ? defined->second : "");
  switch (record.type()) {
    case wire::RecordType::kString:
      seen.strings[record.header->id] = record.text;
      break;
    case wire::RecordType::kProcess:
      ++seen.processes;
      break;
    case wire::RecordType::kThread:
      seen.threads[record.header->id].emplace_back(record.header->flags, record.text);
      break;
    case wire::RecordType::kRange:
      EXPECT_LE(record.as<wire::SpanRecord>().begin, record.as<wire::SpanRecord>().end);
      ++seen.ranges[text];
      seen.times[text] = {record.as<wire::SpanRecord>().begin, record.as<wire::SpanRecord>().end};
      break;
    case wire::RecordType::kMark:
      ++seen.marks[text];
      seen.unknown_marks += is_known ? 0 : 1;
      break;
    case wire::RecordType::kLaunchStack:
      seen.correlated.emplace_back(true, record.as<wire::LaunchStackRecord>().correlation);
      break;
    case wire::RecordType::kCall:
      if ((record.header->flags & wire::kHasCorrelation) != 0) {
        seen.correlated.emplace_back(false, record.extra<wire::SpanRecord>(0));
      }
      seen.calls.push_back({record.header->id,
                            record.as<wire::SpanRecord>().begin,
                            record.as<wire::SpanRecord>().end,
                            {record.arguments.begin(), record.arguments.end()}});
      break;
    case wire::RecordType::kOp:
      ++seen.ops;
      break;
    case wire::RecordType::kDiagnostic:
      seen.diagnostics.push_back(text);
      break;
    case wire::RecordType::kCounter:
      ++seen.counters;
      break;
    case wire::RecordType::kRangeStart:
      ++seen.starts;
      break;
    case wire::RecordType::kRangeStop:
      ++seen.stops;
      break;
    default:
      break;
  }
}

inline void read_chunk(const std::string& path, Seen& seen) {
  const auto bytes = read_file(path);
  ASSERT_GE(bytes.size(), wire::kChunkBytes);
  const auto& header = *reinterpret_cast<const wire::ChunkHeader*>(bytes.data());
  EXPECT_EQ(bytes.size(), header.chunk_bytes);
  seen.largest_chunk = std::max(seen.largest_chunk, uint64_t{header.chunk_bytes});
  if (wire::judge_header(header) != wire::HeaderVerdict::kGood) {
    ++seen.damaged;
    return;
  }
  if (header.state == wire::ChunkState::kSealed) {
    EXPECT_EQ(header.payload_sum,
              wire::checksum(bytes.data() + wire::kHeaderBytes, header.committed));
  }
  wire::Decoder decoder({bytes.data() + wire::kHeaderBytes, header.committed});
  while (const auto record = decoder.next()) {
    see(*record, seen);
    const bool is_definition = header.ring == 0 && record->type() != wire::RecordType::kProcess;
    if (is_definition) seen.ids.push_back(record->header->id);
  }
  if (decoder.malformed()) ++seen.malformed;
  if (header.state == wire::ChunkState::kActive && header.ring != 0) {
    for (uint32_t i = 0; i < header.open_ranges; ++i) {
      const auto& range = header.ranges[i];
      seen.open.push_back(
          range.id != 0 ? seen.strings[range.id]
                        : std::string(header.open_text + range.text_offset, range.text_length));
    }
    for (uint32_t i = 0; i < header.open_calls; ++i) {
      seen.open_calls.push_back(header.calls[i].function);
    }
  }
}

inline Seen read_spool(const wire::SpoolFolder& folder) {
  Seen seen;
  for (const auto& chunk : wire::list_chunks(folder.path)) read_chunk(chunk.path, seen);
  return seen;
}

// The exit status of a child, or 128 and the number of the signal that ended it.
inline int exit_of(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// One session for the process: the agent attaches once.
inline const std::string& session() {
  static const test::TemporaryDirectory directory;
  static const bool attached = [] {
    auto control = wire::Control::create(directory.path(),
                                         {.clock = wire::best_clock(), .launch_stacks = true});
    return control.ok() && agent::attach_process(directory.path().c_str());
  }();
  SONDE_CHECK(attached);
  return directory.path();
}

// What a process of the session recorded, in the one spool that it has; nothing if it has none.
inline Seen read_process(pid_t pid) {
  auto spools = wire::list_spools(session());
  std::erase_if(spools, [&](auto& one) { return one.pid != static_cast<uint32_t>(pid); });
  EXPECT_LE(spools.size(), 1u);
  return spools.empty() ? Seen() : read_spool(spools.front());
}

inline Seen read_own() { return read_process(getpid()); }

inline uint64_t drops(wire::DropSource source, wire::DropReason reason) {
  auto control = wire::Control::open(session());
  return control ? (*control)->drops[static_cast<int>(source)][static_cast<int>(reason)] : ~0ull;
}

class Agent : public ::testing::Test {
 protected:
  void SetUp() override {
    session();
    agent_ = sonde_agent_v2();
    ASSERT_NE(agent_, nullptr);
  }
  const struct sonde_agent* agent_ = nullptr;
};

}  // namespace sonde
