// Tells the calls of the program from those that the library which it called makes to itself
// meanwhile: those lie deeper in the stack. So a call that the program left by siglongjmp() counts
// as ended at the next call that is not deeper. One object per library and thread.
#pragma once

namespace sonde::rocm {

// The address just above the frame of the function that this is inlined into.
[[gnu::always_inline]] inline const void* this_frame() { return __builtin_dwarf_cfa(); }

class Entered {
 public:
  bool nested(const void* frame) const { return frame < frame_; }
  bool inside() const { return frame_ != nullptr; }
  void enter(const void* frame) { frame_ = frame; }
  void leave() { frame_ = nullptr; }

 private:
  const void* frame_ = nullptr;  // only compared: it may be gone
};

}  // namespace sonde::rocm
