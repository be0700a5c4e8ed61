// Interner: the texts of a .pftrace. A text that comes up often is written once, under a number
// (iid), in a packet before its first use; the Perfetto exporter asks here for the number.
// Texts come out as valid UTF-8 of at most 64 KiB, so that no packet grows too large.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/events/text_table.h"
#include "export/perfetto/packets.h"

namespace sonde::exporting {

// `text` itself when it is fit to be written, else a copy in `scratch` that is.
std::string_view fit_text(std::string_view text, std::string& scratch);

// Writes one {iid, text} entry of InternedData in a packet of its own.
void write_interned(PacketStream& stream, InternField field, uint64_t iid, std::string_view text);

// The texts of a table, each written when it is first used. iid = index + 1.
class InternedTable {
 public:
  InternedTable(PacketStream& stream, InternField field, const TextTable& table)
      : stream_(stream), field_(field), table_(table), written_(table.size()) {}

  uint64_t iid(uint32_t index) {
    if (!written_[index]) {
      written_[index] = true;
      write_interned(stream_, field_, index + 1, table_.at(index));
    }
    return uint64_t{index} + 1;
  }

 private:
  PacketStream& stream_;
  InternField field_;
  const TextTable& table_;
  std::vector<bool> written_;
};

// Names of kernels: the compute kernel has the name as it was recorded and as people read it, and
// where these differ there is an event name of the second, too.
class InternedKernels {
 public:
  InternedKernels(PacketStream& stream, const TextTable& names)
      : stream_(stream), names_(names), written_(names.size()), demangled_(names.size()) {}

  uint64_t iid(uint32_t index);            // of the compute kernel
  uint64_t demangled_iid(uint32_t index);  // of the event name; 0 = it is the recorded one

 private:
  enum class Known : uint8_t { kNot, kSame, kOther };
  // Event names of tables have 32 bits.
  static constexpr uint64_t kFirstIid = uint64_t{1} << 33;

  PacketStream& stream_;
  const TextTable& names_;
  std::vector<bool> written_;
  std::vector<Known> demangled_;
};

// A handful of texts that are looked up by their content.
class InternedSet {
 public:
  InternedSet(PacketStream& stream, InternField field) : stream_(stream), field_(field) {}
  uint64_t iid(std::string_view text);

 private:
  PacketStream& stream_;
  InternField field_;
  std::map<std::string, uint64_t, std::less<>> iids_;
};

// Texts that may mostly be unique, such as arguments: one gets a number when it comes up again
// soon, and is written in place until then. Takes a fixed amount of memory.
class InternedRepeats {
 public:
  InternedRepeats(PacketStream& stream, InternField field, const TextTable& table,
                  uint64_t first_iid)
      : stream_(stream), field_(field), table_(table), next_iid_(first_iid), slots_(kSlots) {}

  // 0 = write the text in place.
  uint64_t iid(uint32_t index);

 private:
  static constexpr size_t kSlots = 1 << 16;
  struct Slot {
    uint32_t index = IdIndex::kNone;
    uint32_t iid = 0;
    uint64_t hash = 0;
  };
  PacketStream& stream_;
  InternField field_;
  const TextTable& table_;
  uint64_t next_iid_;
  std::vector<Slot> slots_;
};

// The same for texts that are in no table.
class InternedValues {
 public:
  InternedValues(PacketStream& stream, InternField field)
      : stream_(stream), field_(field), slots_(kSlots) {}

  uint64_t iid(std::string_view text);

 private:
  static constexpr size_t kSlots = 1 << 14;
  static constexpr size_t kLongest = 256;                   // a longer one is written in place
  static constexpr uint64_t kFirstIid = uint64_t{1} << 33;  // those of tables have 32 bits
  struct Slot {
    std::string text;
    uint64_t iid = 0;
  };
  PacketStream& stream_;
  InternField field_;
  uint64_t next_iid_ = kFirstIid;
  std::vector<Slot> slots_;
};

}  // namespace sonde::exporting
