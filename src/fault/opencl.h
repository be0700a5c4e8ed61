// A program that crashed while OpenCL kernels ran, from its board of them (wire/cl_board.h): the
// device may be the CPU itself, as PoCL's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fault/report.h"
#include "wire/cl_board.h"

namespace sonde::fault {

// The files of such boards of a session.
std::vector<std::string> list_cl_boards(const std::string& session);
Result<std::unique_ptr<wire::ClBoard>> read_cl_board(const std::string& path);

// Kernels that were launched and not seen to be over.
size_t in_flight(const wire::ClBoard& board);

FaultReport opencl_crash(const wire::ClBoard& board, const std::string& program,
                         const std::string& ended, int64_t time_ns);

}  // namespace sonde::fault
