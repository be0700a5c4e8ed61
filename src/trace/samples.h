// Samples: call stacks that were taken while a program ran, as columns in memory. Functions that
// were inlined are frames of their own, Python's frames stand between the native ones, and stacks
// are a tree: a node is a frame below its callers. Part of a Trace, if Request::samples asks for
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/reader.h"

namespace sonde::trace {

struct Trace;
struct Request;

enum class FrameKind : uint8_t { kNative, kPython };

// A function with its place; equal ones are one.
struct CodeFrame {
  uint32_t function = 0;  // both: indices into Trace::names
  uint32_t file = 0;      // the source file, else the file with the code
  int64_t line = 0;       // 0: not known. In Python that of the instruction
  FrameKind kind = FrameKind::kNative;
  bool is_library = false;      // not the user's own code
  bool is_interpreter = false;  // code of python3 or libpython3: how it executes frames of Python
  uint32_t module = 0;          // the file with the code, even if the source file is known
};

struct CallStacks {
  std::vector<CodeFrame> frames;
  // By node; callers stand before what they called.
  std::vector<int32_t> parent;  // kNone: it is the outermost frame
  std::vector<uint32_t> frame;  // index into frames
  uint64_t bad_samples = 0;     // without a valid stack, and left out
  size_t size() const { return parent.size(); }
};

// What threads were executing when they were sampled, by time.
struct Samples {
  std::vector<int64_t> time_ns, cpu_ns;  // the CPU time that a sample stands for
  std::vector<uint32_t> thread;          // index into Trace::threads
  std::vector<int32_t> stack;            // the innermost node of Trace::stacks
  size_t size() const { return time_ns.size(); }
};

// Where blocked threads stood, and for how long. Empty if they were not sampled.
struct Blocked {
  std::vector<int64_t> time_ns, wall_ns;
  std::vector<uint32_t> thread;
  std::vector<int32_t> stack;
  size_t size() const { return time_ns.size(); }
};

// Apis::stack, with the numbers of the file until load_samples() translates them.
Status load_launch_stacks(store::Database& database, const std::vector<int64_t>& api_ids,
                          Trace& trace);

// Fills Trace::stacks, and Trace::samples and blocked if they are wanted, and adds the processes
// and threads that only samples know. After everything else.
Status load_samples(store::Reader& reader, const Request& request, Trace& trace);

}  // namespace sonde::trace
