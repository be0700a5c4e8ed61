#include "export/events/titles.h"

#include <fmt/format.h>

namespace sonde::exporting {

namespace {

std::string with_lane(std::string title, uint32_t lane) {
  return lane == 0 ? title : fmt::format("{} (lane {})", title, lane + 1);
}

// The program of a command line without its folder and arguments.
std::string program_of(const std::string& command) {
  const std::string program = command.substr(0, command.find(' '));
  return program.substr(program.rfind('/') + 1);
}

}  // namespace

std::string process_title(const Process& process) {
  std::string program = program_of(process.command);
  if (program.empty()) program = process.executable;  // what an imported file calls it
  if (program.empty()) program = fmt::format("process {}", process.pid);
  return process.rank >= 0 ? fmt::format("rank {}: {}", process.rank, program) : program;
}

std::string thread_title(const Thread& thread, uint32_t lane) {
  return with_lane(thread.name.empty() ? fmt::format("thread {}", thread.tid) : thread.name, lane);
}

std::string device_title(const Device& device) {
  const std::string number = fmt::format("GPU {}", device.gpu_id);
  return device.name.empty() ? number : fmt::format("{}: {}", number, device.name);
}

std::string queue_title(const Events& events, const Queue& queue, uint32_t lane) {
  // Handles are easier to recognise in hexadecimal.
  std::string number = queue.queue_id >= 0 && queue.queue_id < 100'000
                           ? fmt::format("Queue {}", queue.queue_id)
                           : fmt::format("Queue {:#x}", static_cast<uint64_t>(queue.queue_id));
  if (events.processes.size() > 1 && queue.pid != kNoPid)
    number += fmt::format(" of {}", queue.pid);
  return with_lane(number, lane);
}

}  // namespace sonde::exporting
