// A copy of a process' board (wire/board.h) with its log: what its GPUs were doing. Any bytes are
// safe to read. Used by compose.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/board.h"

namespace sonde::fault {

struct LoadedObject {
  uint64_t base = 0, bytes = 0;
  int64_t delta = 0;  // of addresses in memory to those in the file
  std::string uri;
  std::string copy;  // a file with its bytes; "" where there is none
};

struct LoadedModule {
  uint64_t bias = 0;
  std::string build_id, path;
};

struct PythonCode {
  int64_t first_line = 0;
  uint32_t version = 0;
  std::string file, name, lines;
};

struct Board {
  std::string path;
  std::unique_ptr<wire::Board> state;
  std::vector<LoadedObject> objects;  // a later one may lie where an earlier one lay
  std::map<uint64_t, LoadedModule> modules;
  std::map<uint64_t, PythonCode> codes;
};

// The files of the boards of a session, as they were begun.
std::vector<std::string> list_boards(const std::string& session);

// Those of the other sessions of this user beside this one: of other ranks, each in a session of
// its own.
std::vector<std::string> list_neighbours(const std::string& session);

// Whether the boards have a communicator of RCCL in common, without reading all of the second.
bool shares_communicator(const wire::Board& board, const std::string& path);

// How far the GPUs of a process have come.
struct Progress {
  uint64_t begun = 0, in_flight = 0;  // dispatches
  uint64_t barriers = 0, open = 0;    // and those that may still wait, as far as the board can tell
  uint64_t consumed = 0;              // packets of all queues
  uint64_t collectives = 0, in_calls = 0;  // calls into RCCL, and those that have not returned
  bool operator==(const Progress&) const = default;
};
Progress progress_of(const wire::Board& board);
std::optional<Progress> progress_of(const std::string& path);

// Of the barrier in a place of the board: whether one is there that may still wait.
bool is_open(const wire::Board& board, const wire::BoardBarrier& barrier);

// The faults on it so far, without reading the rest; 0 where it cannot be read.
uint32_t fault_count(const std::string& path);
bool call_failed(const std::string& path);  // into HIP, ever; reads little

// Has the process say what its threads do. False: it does not, within that time.
bool ask_for_threads(const std::string& path, int64_t most_ns);

// The process need not stay as it is any longer.
void set_reported(const std::string& path);

Result<Board> read_board(const std::string& path);

}  // namespace sonde::fault
