// OpTree: which call lies in which, on each thread, and to whom an operation of a GPU belongs:
// Python frame -> operator -> call of a runtime -> kernel. Every operation belongs to exactly one
// leaf, or to none if no call of it was recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace sonde::trace {

struct OpTree {
  std::vector<Row> parent;  // by row of Trace::apis: the innermost call it lies in, or kNone
  std::vector<Row> leaf;    // by row of Trace::ops: leaf_of() the launching call, or kNone

  // The call itself or the nearest around it for which wanted(row) holds; kNone if there is none.
  template <typename Wanted>
  Row nearest(Row api, Wanted wanted) const {
    while (api != kNone && !wanted(static_cast<size_t>(api))) {
      api = parent[static_cast<size_t>(api)];
    }
    return api;
  }
};

// A call lies in another if both are on one thread and its whole time is in the other's; of two
// with the same times the one that Trace::apis lists first is the outer one. Device markers and
// syncs lie in nothing and nothing lies in them.
//
// The leaf of an operation is the innermost operator around the call that launched it; where there
// is none, the innermost marker or Python frame; else the launching call itself. An operation
// without a launching call has none.
//
// Needs `nesting`, and `links` for leaf. Linear.
OpTree build_op_tree(const Trace& trace);

}  // namespace sonde::trace
