// A program that crashed while OpenCL kernels ran, reported from their board (wire/cl_board.h): the
// device may be the CPU itself, as with PoCL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fault/report.h"
#include "wire/cl_board.h"

namespace sonde::fault {

// A session's files of such boards.
std::vector<std::string> list_cl_boards(const std::string& session);
Result<std::unique_ptr<wire::ClBoard>> read_cl_board(const std::string& path);

// Kernels that were launched and not seen to end.
size_t in_flight(const wire::ClBoard& board);

FaultReport opencl_crash(const wire::ClBoard& board, const std::string& program,
                         const std::string& ended, int64_t time_ns);

}  // namespace sonde::fault
