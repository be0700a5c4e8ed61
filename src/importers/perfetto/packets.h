// PerfettoPackets: the packets of a .pftrace, one after another, also those inside of compressed
// ones. Used by the Perfetto importer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "importers/input/proto_reader.h"
#include "importers/input/source.h"
#include "importers/sink/tally.h"

namespace sonde::importers {

class PerfettoPackets {
 public:
  PerfettoPackets(Source& source, Tally& tally) : source_(source), tally_(tally) {}

  // False at the end, also where the file breaks off; what is missing is in the tally. The packet
  // is valid until the next call.
  Result<bool> next(std::string_view& packet);
  uint64_t count() const { return count_; }
  std::string place() const;  // "trace.pftrace, packet 17"

 private:
  Result<bool> next_outer(std::string_view& packet);
  Result<bool> fill(size_t wanted);
  Status unpack(uint32_t field, std::string_view compressed);
  bool broken(const char* what);
  bool cut_off();

  Source& source_;
  Tally& tally_;
  std::string buffer_;
  size_t begin_ = 0;
  bool at_end_ = false;
  std::string unpacked_;
  uint64_t compressed_bytes_ = 0, unpacked_bytes_ = 0;  // of the packets so far
  ProtoReader inner_{{}};
  uint64_t count_ = 0;
};

}  // namespace sonde::importers
