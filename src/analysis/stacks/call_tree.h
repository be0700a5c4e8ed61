// CallTree: where time went, by call path. Made of sampled stacks, or of the calls and ranges that
// were open; turned upside down it says who called. Used by `stacks`, which prints and draws it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/frames.h"
#include "trace/trace.h"

namespace sonde::analysis {

enum class FrameClass : uint8_t { kThread, kUser, kLibrary, kRuntime, kDevice };
const char* name_of(FrameClass frame_class);  // "user"

// The row of what has no code of the user's own around it.
constexpr const char* kNoUserCode = "(no user code)";

struct TreeFrame {
  std::string text;  // the function, or the name of a call, range or operation
  std::string file;  // where it is from, of Python with its line; "" = not known
  FrameClass frame_class = FrameClass::kLibrary;
};

struct TreeNode {
  int32_t parent = trace::kNone;  // stands before its children
  uint32_t frame = 0;             // index into CallTree::frames
  int64_t self_ns = 0, total_ns = 0;
  int64_t count = 0;  // samples, calls or operations of the node itself
};

struct CallTree {
  std::vector<TreeFrame> frames;
  std::vector<TreeNode> nodes;

  int64_t whole_ns() const;  // of all roots
  // Children of each node, largest first; the last entry has the roots.
  std::vector<std::vector<uint32_t>> children() const;
};

enum class Weight { kCpu, kWall, kGpu };

struct TreeOptions {
  Weight weight = Weight::kCpu;
  bool by_thread = false;           // a root for each thread
  std::optional<int64_t> pid, tid;  // of these only
  std::string user;                 // regular expression of frames that are the user's own
  bool native = false;              // frames of the Python interpreter itself, too
};

// --user, for is_user_code(); an empty one leaves it to the built-in rule.
Result<trace::NameFilter> user_filter(const std::string& pattern);
// Whether a frame of a stack is the user's own: by the filter, of "FILE: FUNCTION", or, if that
// takes everything, by where its code is from.
bool is_user_code(const trace::Trace& trace, const trace::CodeFrame& code,
                  const trace::NameFilter& user);

// CPU time is that of samples. Wall time is that of samples too where blocked threads were looked
// at, else the self time of calls and ranges. GPU time hangs below the calls that launched it, and
// those below the stack in which they were made, where it was taken.
Result<CallTree> call_tree_of(const trace::Trace& trace, const TreeOptions& options);

// Whether call_tree_of() takes the time from samples.
bool is_sampled(const trace::Trace& trace, Weight weight);

// Each function where it had time of its own as a root, and below it who called it.
CallTree upside_down(const CallTree& tree);

}  // namespace sonde::analysis
