// The base of a class that is neither copied nor moved, because it owns something of the system or
// others know its address. For the side in the traced program too: it costs nothing.
#pragma once

namespace sonde {

struct Pinned {
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

}  // namespace sonde
