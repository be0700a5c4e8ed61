// The names of tracks, equal in all formats.
#pragma once

#include <cstdint>
#include <string>

#include "export/events/events.h"

namespace sonde::exporting {

std::string process_title(const Process& process);              // "matmul" or "rank 3: matmul"
std::string thread_title(const Thread& thread, uint32_t lane);  // "main", "thread 12 (lane 2)"
std::string device_title(const Device& device);                 // "GPU 0: gfx90a"
// "Queue 1 (lane 2)"; with the pid where several processes are in the file.
std::string queue_title(const Events& events, const Queue& queue, uint32_t lane);

}  // namespace sonde::exporting
