// A board's call stacks with the names of their frames.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fault/board.h"
#include "fault/report.h"
#include "store/frames.h"

namespace sonde::fault {

// The functions at an address of a file, the innermost first; the file must have the build id.
using Namer = std::function<std::vector<store::FrameName>(
    const std::string& path, const std::string& build_id, uint64_t address)>;

struct NamedStack {
  std::string call;                // the runtime call that the program made; "" if unknown
  std::vector<StackFrame> frames;  // from the program's call outwards
};

// Adds the board's threads that have frames of the program.
void list_threads(const Board& board, const Namer& namer, FaultReport& report);

// "f at file:line" of the frame that is most likely the user's.
std::string first_line(const std::vector<StackFrame>& frames);

NamedStack name_stack(const wire::BoardStack& stack, const Board& board, const Namer& namer);

}  // namespace sonde::fault
