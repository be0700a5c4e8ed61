// Call stacks of a board with the names of their frames.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fault/board.h"
#include "fault/report.h"
#include "store/frames.h"

namespace sonde::fault {

// Functions at an address of a file, the innermost first; the file must have the build id.
using Namer = std::function<std::vector<store::FrameName>(
    const std::string& path, const std::string& build_id, uint64_t address)>;

struct NamedStack {
  std::string call;  // of the runtime, that the program made; "" where it is not known
  std::vector<StackFrame> frames;  // from the program's call on
};

// The threads that the board tells of: those with frames of the program.
void list_threads(const Board& board, const Namer& namer, FaultReport& report);

// "f at file:line" of the frame that is likeliest the user's.
std::string first_line(const std::vector<StackFrame>& frames);

NamedStack name_stack(const wire::BoardStack& stack, const Board& board, const Namer& namer);

}  // namespace sonde::fault
