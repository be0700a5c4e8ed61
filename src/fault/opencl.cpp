#include "fault/opencl.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/strings.h"
#include "base/unique_fd.h"

namespace sonde::fault {

namespace {

template <size_t N>
std::string text_of(const char (&text)[N]) {
  return {text, ::strnlen(text, N)};
}

std::vector<const wire::ClLaunch*> launches_in_flight(const wire::ClBoard& board) {
  std::vector<const wire::ClLaunch*> found;
  for (uint64_t i = 0; i < wire::kClLaunches; ++i) {
    const wire::ClLaunch& launch = board.launches[i];
    const bool is_whole = launch.number != 0 && (launch.number - 1) % wire::kClLaunches == i;
    if (is_whole && launch.ended_ns == 0) found.push_back(&launch);
  }
  std::sort(found.begin(), found.end(),
            [](const auto* a, const auto* b) { return a->number < b->number; });
  return found;
}

std::string value_of(const wire::ClArgument& argument, const std::string& type) {
  if (type.ends_with('*') && argument.bytes == sizeof(void*) && argument.word == 0) return "null";
  if (type == "float" && argument.bytes == 4) {
    float value = 0;
    std::memcpy(&value, &argument.word, sizeof value);
    return fmt::format("{}", value);
  }
  if (type == "double" && argument.bytes == 8) {
    double value = 0;
    std::memcpy(&value, &argument.word, sizeof value);
    return fmt::format("{}", value);
  }
  if (argument.bytes > sizeof argument.word) return fmt::format("{} bytes", argument.bytes);
  if (argument.bytes == 4 && type.find('u') != 0) {
    return fmt::format("{}", static_cast<int32_t>(argument.word));
  }
  return fmt::format("{}", argument.word);
}

Argument argument_of(const wire::ClArgument& from) {
  Argument argument;
  argument.name = text_of(from.name);
  argument.type = text_of(from.type);
  argument.bytes = from.bytes;
  switch (from.kind) {
    case wire::kClLocal:
      argument.kind = "local memory";
      argument.value = fmt::format("{} bytes of local memory", format_count(from.bytes));
      break;
    case wire::kClBuffer:
      argument.kind = "buffer";
      argument.value = from.buffer_bytes != 0
                           ? fmt::format("a buffer of {} bytes", format_count(from.buffer_bytes))
                           : fmt::format("{:#x}", from.word);
      break;
    default:
      argument.kind = "value";
      argument.value = value_of(from, argument.type);
  }
  return argument;
}

Dispatch dispatch_of(const wire::ClLaunch& from) {
  Dispatch dispatch;
  dispatch.number = from.number - 1;
  dispatch.kernel = dispatch.name = text_of(from.kernel);
  dispatch.gpu = 0;
  dispatch.queue = from.queue;
  dispatch.packet = from.number - 1;
  dispatch.launched_ns = from.launched_ns;
  for (int i = 0; i < 3; ++i) {
    dispatch.grid[i] = static_cast<uint32_t>(from.grid[i]);
    dispatch.group[i] = from.group[i];
  }
  for (uint32_t i = 0; i < std::min(from.argument_count, wire::kClArguments); ++i) {
    dispatch.arguments.push_back(argument_of(from.arguments[i]));
  }
  return dispatch;
}

std::string arguments_text(const Dispatch& dispatch) {
  std::string text;
  for (size_t i = 0; i < dispatch.arguments.size(); ++i) {
    const Argument& argument = dispatch.arguments[i];
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ",
                        argument.name.empty() ? fmt::format("argument {}", i) : argument.name,
                        argument.value);
  }
  return text;
}

}  // namespace

std::vector<std::string> list_cl_boards(const std::string& session) {
  std::vector<std::string> boards;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(session + "/boards", error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".cl") boards.push_back(entry->path().string());
  }
  std::sort(boards.begin(), boards.end());
  return boards;
}

Result<std::unique_ptr<wire::ClBoard>> read_cl_board(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno_error("cannot be read", path, errno);
  auto board = std::make_unique<wire::ClBoard>();
  const auto bytes = static_cast<ssize_t>(sizeof *board);
  if (::pread(file.get(), board.get(), sizeof *board, 0) != bytes ||
      board->magic != wire::kClBoardMagic || board->bytes != sizeof *board) {
    return make_error(ErrorCode::kBadData, "not a board of this version", path);
  }
  return board;
}

size_t in_flight(const wire::ClBoard& board) { return launches_in_flight(board).size(); }

FaultReport opencl_crash(const wire::ClBoard& board, const std::string& program,
                         const std::string& ended, int64_t time_ns) {
  FaultReport report;
  report.kind = "host crash";
  report.title = fmt::format("the program ended by {} with OpenCL kernels launched", ended);
  report.pid = board.pid;
  report.program = program;
  report.ended = ended;
  report.time_ns = time_ns;
  const auto launches = launches_in_flight(board);
  for (const wire::ClLaunch* launch : launches) report.in_flight.push_back(dispatch_of(*launch));
  report.no_waves = "OpenCL reports none";
  if (launches.empty()) return report;
  report.culprit = 0;
  report.how_sure = launches.size() == 1 ? "the only one launched and not finished"
                                         : fmt::format("the oldest of {} launched and not finished",
                                                       launches.size());
  const Dispatch& kernel = report.in_flight[0];
  const std::string arguments = arguments_text(kernel);
  report.cause = fmt::format("kernel {} crashed on {}{}", kernel.name, text_of(launches[0]->device),
                             arguments.empty() ? "" : ", with " + arguments);
  report.evidence = fmt::format("it is {}, and the device is part of the program", report.how_sure);
  report.advice =
      "where the program itself may have crashed beside it, gdb tells which thread it was";
  return report;
}

}  // namespace sonde::fault
