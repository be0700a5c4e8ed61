#include "fault/board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "base/time.h"
#include "base/unique_fd.h"

namespace sonde::fault {

namespace {

namespace fs = std::filesystem;

// Reads all bytes, or returns false.
bool read_at(int fd, void* to, size_t bytes, off_t offset) {
  auto* at = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t read = ::pread(fd, at, bytes, offset);
    if (read <= 0) return false;
    at += read;
    offset += read;
    bytes -= static_cast<size_t>(read);
  }
  return true;
}

std::string unescaped(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(digit(text[i + 1]) << 4 | digit(text[i + 2]));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

uint64_t number(std::string_view text) {
  return std::strtoull(std::string(text).c_str(), nullptr, 10);
}

void read_line(const std::vector<std::string_view>& words, Board& board) {
  const std::string_view kind = words[0];
  if (kind == "object" && words.size() == 6) {
    const uint64_t copy = number(words[4]);
    board.objects.push_back({number(words[1]), number(words[2]),
                             static_cast<int64_t>(number(words[3])), unescaped(words[5]),
                             copy != 0 ? fmt::format("{}.{}", board.path, copy) : ""});
  } else if (kind == "module" && words.size() == 5) {
    std::string build_id;
    for (const char byte : unescaped(words[3])) {
      build_id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    board.modules[number(words[1])] = {build_id, unescaped(words[4])};
  } else if (kind == "code" && words.size() == 7) {
    board.codes[number(words[1])] = {static_cast<int64_t>(number(words[2])),
                                     static_cast<uint32_t>(number(words[3])), unescaped(words[4]),
                                     unescaped(words[5]), unescaped(words[6])};
  }
}

// Makes a half-written board of a killed process safe to read: terminates texts, bounds sizes.
void make_sound(wire::Board& state) {
  const auto end = [](auto& text) { text[sizeof text - 1] = '\0'; };
  const auto cut = [](wire::BoardStack& stack) {
    stack.bytes = std::min(stack.bytes, wire::kBoardStackBytes);
  };
  end(state.call_error.function);
  cut(state.call_error.stack);
  for (auto& fault : state.faults) end(fault.text);
  for (auto& arguments : state.arguments) {
    arguments.bytes = std::min(arguments.bytes, wire::kBoardArgumentBytes);
  }
  for (auto& allocation : state.allocations) {
    cut(allocation.made);
    cut(allocation.freed);
  }
  for (auto& launch : state.launches) cut(launch.stack);
  end(state.program);
  for (auto& name : state.architectures) end(name);
  for (auto& call : state.collectives) {
    end(call.name);
    cut(call.stack);
  }
  state.thread_count = std::min(state.thread_count, wire::kBoardThreads);
  for (auto& thread : state.threads) {
    end(thread.name);
    cut(thread.stack);
  }
}

}  // namespace

std::vector<std::string> list_boards(const std::string& session) {
  std::vector<std::string> boards;
  std::error_code error;
  for (fs::directory_iterator entry(session + "/boards", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find('.') == std::string::npos) boards.push_back(entry->path().string());
  }
  std::sort(boards.begin(), boards.end());
  return boards;
}

std::vector<std::string> list_neighbours(const std::string& session) {
  std::vector<std::string> boards;
  std::error_code error;
  const fs::path own(session);
  for (fs::directory_iterator entry(own.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    struct stat info = {};
    const bool is_one = entry->path().filename().string().starts_with("sonde-") &&
                        entry->path().filename() != own.filename() &&
                        ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                        info.st_uid == ::geteuid();
    if (!is_one) continue;
    for (std::string& board : list_boards(path)) boards.push_back(std::move(board));
  }
  return boards;
}

bool shares_communicator(const wire::Board& board, const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<wire::BoardCollective> theirs(wire::kBoardCollectives);
  if (!file.valid() || !read_at(file.get(), theirs.data(), theirs.size() * sizeof theirs[0],
                                static_cast<off_t>(offsetof(wire::Board, collectives)))) {
    return false;
  }
  const auto has = [](const auto& calls, uint64_t group) {
    return group != 0 && std::any_of(std::begin(calls), std::end(calls),
                                     [group](const auto& call) { return call.group == group; });
  };
  return std::any_of(std::begin(board.collectives), std::end(board.collectives),
                     [&](const auto& call) { return has(theirs, call.group); });
}

bool call_failed(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  uint64_t magic = 0;
  int64_t time_ns = 0;
  const size_t at = offsetof(wire::Board, call_error) + offsetof(wire::BoardCallError, time_ns);
  return file.valid() && read_at(file.get(), &magic, sizeof magic, offsetof(wire::Board, magic)) &&
         magic == wire::kBoardMagic &&
         read_at(file.get(), &time_ns, sizeof time_ns, static_cast<off_t>(at)) && time_ns != 0;
}

uint32_t fault_count(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  uint64_t magic = 0;
  if (!file.valid() || !read_at(file.get(), &magic, sizeof magic, offsetof(wire::Board, magic)) ||
      magic != wire::kBoardMagic) {
    return 0;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < wire::kBoardFaults; ++i) {
    uint32_t kind = 0;
    const size_t at = offsetof(wire::Board, faults) + i * sizeof(wire::BoardFault) +
                      offsetof(wire::BoardFault, kind);
    if (!read_at(file.get(), &kind, sizeof kind, static_cast<off_t>(at)) || kind == 0) break;
    ++count;
  }
  return count;
}

bool is_open(const wire::Board& board, const wire::BoardBarrier& barrier) {
  const auto place = static_cast<uint64_t>(&barrier - board.barriers);
  if (barrier.number == 0 || (barrier.number - 1) % wire::kBoardBarriers != place) return false;
  if (barrier.queue >= wire::kBoardQueues) return false;
  const wire::BoardQueue& queue = board.queues[barrier.queue];
  // As far as barriers go, a queue's packets complete in order.
  const auto behind = static_cast<int32_t>(barrier.packet - static_cast<uint32_t>(queue.consumed));
  return queue.handle != 0 && queue.gone_ns == 0 && behind >= 0;
}

Progress progress_of(const wire::Board& board) {
  Progress progress;
  progress.begun = board.next_dispatch;
  progress.barriers = board.next_barrier;
  for (const wire::BoardQueue& queue : board.queues) progress.consumed += queue.consumed;
  for (const wire::BoardBarrier& barrier : board.barriers) {
    if (is_open(board, barrier)) ++progress.open;
  }
  progress.collectives = board.next_collective;
  for (const wire::BoardCollective& call : board.collectives) {
    progress.in_calls += call.number != 0 && call.returned_ns == 0 ? 1 : 0;
  }
  for (uint64_t i = 0; i < wire::kBoardDispatches; ++i) {
    const uint64_t number = board.dispatches[i].number;
    const bool is_whole = number != 0 && (number - 1) % wire::kBoardDispatches == i;
    if (is_whole && wire::ended_ns(board, i) == 0) ++progress.in_flight;
  }
  return progress;
}

std::optional<Progress> progress_of(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto board = std::make_unique<wire::Board>();
  // The rest is larger, and irrelevant here.
  if (!file.valid() || !read_at(file.get(), board.get(), offsetof(wire::Board, allocations), 0) ||
      board->magic != wire::kBoardMagic || board->bytes != sizeof *board) {
    return std::nullopt;
  }
  return progress_of(*board);
}

bool ask_for_threads(const std::string& path, int64_t most_ns) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const auto asked_at = static_cast<off_t>(offsetof(wire::Board, threads_asked));
  const auto told_at = static_cast<off_t>(offsetof(wire::Board, threads_told));
  uint32_t asked = 0, told = 0;
  if (!file.valid() || !read_at(file.get(), &asked, sizeof asked, asked_at)) return false;
  ++asked;
  if (::pwrite(file.get(), &asked, sizeof asked, asked_at) != sizeof asked) return false;
  const int64_t until_ns = monotonic_now_ns() + most_ns;
  while (read_at(file.get(), &told, sizeof told, told_at)) {
    if (told == asked) return true;
    if (monotonic_now_ns() > until_ns) return false;
    ::usleep(5'000);
  }
  return false;
}

void set_reported(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  constexpr uint32_t kYes = 1;
  const auto at = static_cast<off_t>(offsetof(wire::Board, reported));
  // The process then waits until its timeout.
  if (file.valid() && ::pwrite(file.get(), &kYes, sizeof kYes, at) < 0) return;
}

Result<Board> read_board(const std::string& path) {
  Board board;
  board.path = path;
  board.state = std::make_unique<wire::Board>();
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno_error("cannot be read", path, errno);
  if (!read_at(file.get(), board.state.get(), sizeof *board.state, 0) ||
      board.state->magic != wire::kBoardMagic || board.state->bytes != sizeof *board.state) {
    return make_error(ErrorCode::kBadData, "not a board of this version", path);
  }
  make_sound(*board.state);
  std::ifstream log(path + ".log");
  for (std::string line; std::getline(log, line);) read_line(split(line, ' '), board);
  return board;
}

}  // namespace sonde::fault
