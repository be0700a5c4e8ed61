// A copy of a process' board (wire/board.h) with its log: what its GPUs were doing. Safe on any
// bytes. Used by compose.cpp.
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
  int64_t delta = 0;  // address in memory minus address in the file
  std::string uri;
  std::string copy;  // a file with its bytes; "" if there is none
};

struct LoadedModule {
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
  std::vector<LoadedObject> objects;  // a later object may reuse the addresses of an earlier one
  std::map<uint64_t, LoadedModule> modules;
  std::map<uint64_t, PythonCode> codes;
};

// The board files of a session, in the order of their creation.
std::vector<std::string> list_boards(const std::string& session);

// The boards of this user's other sessions beside this one: other ranks may each have a session of
// their own.
std::vector<std::string> list_neighbours(const std::string& session);

// Whether the boards share an RCCL communicator; reads only a part of the second.
bool shares_communicator(const wire::Board& board, const std::string& path);

// The progress of a process' GPUs.
struct Progress {
  uint64_t begun = 0, in_flight = 0;  // dispatches
  // And those that may still be waiting, as far as the board shows.
  uint64_t barriers = 0, open = 0;
  uint64_t consumed = 0;                   // packets, over all queues
  uint64_t collectives = 0, in_calls = 0;  // calls into RCCL, and those that have not returned
  bool operator==(const Progress&) const = default;
};
Progress progress_of(const wire::Board& board);
std::optional<Progress> progress_of(const std::string& path);

// Whether an entry of the board is a valid barrier that may still be waiting.
bool is_open(const wire::Board& board, const wire::BoardBarrier& barrier);

// The number of faults on it so far, reading nothing else; 0 if it cannot be read.
uint32_t fault_count(const std::string& path);
bool call_failed(const std::string& path);  // whether a HIP call ever failed; reads little

// Asks the process what its threads do. False: no answer within that time.
bool ask_for_threads(const std::string& path, int64_t most_ns);

// Lets a held process continue.
void set_reported(const std::string& path);

Result<Board> read_board(const std::string& path);

}  // namespace sonde::fault
