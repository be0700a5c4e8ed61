// Finds the frames of call stacks that have no name yet, and names them. For code that can read
// symbols, which the store cannot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/database.h"

namespace sonde::store {

struct UnnamedModule {
  int64_t id = 0;
  std::string path, build_id;  // hexadecimal; "" if it has none
};

struct UnnamedFrame {
  int64_t id = 0;
  uint64_t address = 0;
};

// One function of those that an address belongs to: the innermost first, then what it is inlined
// into.
struct FrameName {
  std::string function, file;
  int64_t line = 0;  // 0: not known
};

Result<std::vector<UnnamedModule>> unnamed_modules(Database& database);
Result<std::vector<UnnamedFrame>> unnamed_frames(Database& database, int64_t module);

// Gives names to frames of one transaction of the caller's.
class FrameNamer {
 public:
  static Result<FrameNamer> open(Database& database);
  Status name(const UnnamedFrame& frame, const std::vector<FrameName>& names);

 private:
  FrameNamer(Statement update, Statement insert, int64_t next_id)
      : update_(std::move(update)), insert_(std::move(insert)), next_id_(next_id) {}
  Statement update_, insert_;
  int64_t next_id_;
};

}  // namespace sonde::store
