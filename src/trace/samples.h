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
  bool is_library = false;  // not the user's own code
};

struct StackNodes {
  std::vector<int32_t> parent;  // stands before its children; kNone: the outermost frame
  std::vector<uint32_t> frame;  // index into Samples::frames
  size_t size() const { return parent.size(); }
};

struct Samples {  // in the order of the file
  std::vector<int64_t> time_ns;
  std::vector<int64_t> cpu_ns;  // CPU time for which the sample stands; 0 if the thread was blocked
  std::vector<int64_t> wall_ns;  // the same, or the time for which it was blocked
  std::vector<uint32_t> thread;  // index into Trace::threads
  std::vector<int32_t> stack;    // the innermost node
  std::vector<CodeFrame> frames;
  StackNodes stacks;
  bool has_blocked = false;  // the recording looked at blocked threads too
  uint64_t bad = 0;          // samples without a stack that makes sense, which are left out
  size_t size() const { return time_ns.size(); }
};

// Code of the system, of installed packages and of vendors' folders is a library's.
bool is_library_path(std::string_view path);

// Fills trace.samples, and adds the processes and threads that only samples know.
Status load_samples(store::Reader& reader, const Request& request, Trace& trace);

}  // namespace sonde::trace
