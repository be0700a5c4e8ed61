// Base of a class that is neither copied nor moved, because it owns a system resource or because
// others know its address. Costs nothing, so the traced program's side may use it.
#pragma once

namespace sonde {

struct Pinned {
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

}  // namespace sonde
