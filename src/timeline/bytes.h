// Writes the columns of tiles. Private to src/timeline.
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace sonde::timeline {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

template <typename T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

template <typename T>
void put_column(std::string& out, const std::vector<T>& column) {
  for (const T value : column) put(out, value);
}

// So that any column can follow.
inline void align_columns(std::string& out) { out.resize((out.size() + 7) / 8 * 8); }

}  // namespace sonde::timeline
