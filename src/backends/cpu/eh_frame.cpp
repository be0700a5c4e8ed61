#include "backends/cpu/eh_frame.h"

#include <string.h>

#include "backends/cpu/cursor.h"

namespace sonde::cpu {

namespace {

constexpr uint8_t kOmitted = 0xff;

// A pointer in one of the encodings that .eh_frame uses; the indirect ones do not occur here.
uint64_t take_pointer(Cursor& cursor, uint8_t encoding) {
  if (encoding == kOmitted) return 0;
  const auto here = reinterpret_cast<uint64_t>(cursor.at());
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = cursor.take<uint64_t>();
      break;
    case 0x01:
      value = cursor.unsigned_leb();
      break;
    case 0x02:
      value = cursor.take<uint16_t>();
      break;
    case 0x03:
      value = cursor.take<uint32_t>();
      break;
    case 0x09:
      value = static_cast<uint64_t>(cursor.signed_leb());
      break;
    case 0x0a:
      value = static_cast<uint64_t>(int64_t{cursor.take<int16_t>()});
      break;
    default:
      value = static_cast<uint64_t>(int64_t{cursor.take<int32_t>()});
      break;
  }
  return (encoding & 0x70) == 0x10 ? value + here : value;
}

// What several FDEs have in common.
struct Cie {
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint64_t return_register = kReturnAddress;
  uint8_t encoding = 0;  // of addresses
  bool has_augmentation = false, signal_frame = false;
  const uint8_t *instructions = nullptr, *end = nullptr;
};

struct Fde {
  Cie cie;
  uint64_t start = 0, length = 0;
  const uint8_t *instructions = nullptr, *end = nullptr;
};

// The body of a CIE or FDE that begins with its length; empty if it is not within the module.
Cursor body_of(const Section& section, const uint8_t* entry) {
  const auto* limit = reinterpret_cast<const uint8_t*>(section.end);
  if (reinterpret_cast<uint64_t>(entry) < section.start) return {limit, limit};
  Cursor cursor(entry, limit);
  const auto length = cursor.take<uint32_t>();
  if (!cursor.good() || length >= 0xfffffff0 ||
      length > static_cast<uint64_t>(limit - cursor.at())) {
    return {limit, limit};
  }
  return {cursor.at(), cursor.at() + length};
}

bool read_augmentation(Cursor& cursor, const char* text, Cie& cie) {
  if (*text != 'z') return *text == '\0';
  cie.has_augmentation = true;
  const uint64_t length = cursor.unsigned_leb();
  const uint8_t* const after = cursor.at() + length;
  for (++text; *text != '\0'; ++text) {
    if (*text == 'R') {
      cie.encoding = cursor.take<uint8_t>();
    } else if (*text == 'P') {
      const auto encoding = cursor.take<uint8_t>();
      take_pointer(cursor, encoding);
    } else if (*text == 'L') {
      cursor.take<uint8_t>();
    } else if (*text == 'S') {
      cie.signal_frame = true;
    } else if (*text != 'B') {
      break;  // unknown augmentation: skipped by its length
    }
  }
  if (!cursor.good() || after > cursor.end()) return false;
  cursor = Cursor(after, cursor.end());
  return true;
}

bool read_cie(const Section& section, const uint8_t* entry, Cie& cie) {
  Cursor cursor = body_of(section, entry);
  if (cursor.take<uint32_t>() != 0) return false;  // not a CIE
  const auto version = cursor.take<uint8_t>();
  char augmentation[8] = {};
  for (size_t i = 0; i < sizeof augmentation; ++i) {
    const char c = cursor.take<char>();
    if (c == '\0') break;
    if (i + 1 == sizeof augmentation) return false;
    augmentation[i] = c;
  }
  if (version == 4) cursor.skip(2);
  cie.code_align = cursor.unsigned_leb();
  cie.data_align = cursor.signed_leb();
  cie.return_register = version == 1 ? cursor.take<uint8_t>() : cursor.unsigned_leb();
  if (!cursor.good() || !read_augmentation(cursor, augmentation, cie)) return false;
  cie.instructions = cursor.at();
  cie.end = cursor.end();
  return cursor.good() && cie.return_register == kReturnAddress;
}

bool read_fde(const Section& section, const uint8_t* entry, Fde& fde) {
  Cursor cursor = body_of(section, entry);
  const uint8_t* const here = cursor.at();
  const auto back = cursor.take<uint32_t>();
  if (!cursor.good() || back == 0 || !read_cie(section, here - back, fde.cie)) {
    return false;
  }
  fde.start = take_pointer(cursor, fde.cie.encoding);
  fde.length = take_pointer(cursor, fde.cie.encoding & 0x0f);
  if (fde.cie.has_augmentation) cursor.skip(cursor.unsigned_leb());
  fde.instructions = cursor.at();
  fde.end = cursor.end();
  return cursor.good();
}

// .eh_frame_hdr: the linker's table of all FDEs, sorted by address.
const uint8_t* find_entry(const Section& section, uint64_t pc) {
  const auto header = reinterpret_cast<uint64_t>(section.header);
  if (header < section.start || header + 12 > section.end) return nullptr;
  Cursor cursor(section.header, reinterpret_cast<const uint8_t*>(section.end));
  const auto version = cursor.take<uint8_t>();
  const auto pointer = cursor.take<uint8_t>();
  const auto count_encoding = cursor.take<uint8_t>();
  const auto table = cursor.take<uint8_t>();
  take_pointer(cursor, pointer);
  // All linkers write this encoding: 32-bit offsets from the header.
  if (version != 1 || count_encoding != 0x03 || table != 0x3b) return nullptr;
  const auto count = cursor.take<uint32_t>();
  if (!cursor.good() || count > static_cast<uint64_t>(cursor.end() - cursor.at()) / 8) {
    return nullptr;
  }
  const uint8_t* const rows = cursor.at();
  const auto wanted = static_cast<int64_t>(pc - header);
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    int32_t start;
    memcpy(&start, rows + uint64_t{middle} * 8, sizeof start);
    if (start <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return nullptr;
  int32_t entry;
  memcpy(&entry, rows + uint64_t{low - 1} * 8 + 4, sizeof entry);
  return reinterpret_cast<const uint8_t*>(header + static_cast<uint64_t>(int64_t{entry}));
}

// Executes a function's CFA program up to one address.
class Machine {
 public:
  Machine(const Fde& fde, Rules& rules) : fde_(fde), rules_(rules) {}

  bool run(uint64_t pc) {
    const Cie& cie = fde_.cie;
    if (!run_part(Cursor(cie.instructions, cie.end), UINT64_MAX)) return false;
    initial_ = rules_;
    from_ = 0;
    to_ = fde_.length;
    if (!run_part(Cursor(fde_.instructions, fde_.end), pc - fde_.start)) return false;
    rules_.from = fde_.start + from_;
    rules_.to = fde_.start + to_;
    return true;
  }

 private:
  // Stops when the location passes `offset`.
  bool run_part(Cursor cursor, uint64_t offset) {
    uint64_t location = 0;
    while (cursor.more()) {
      const auto byte = cursor.take<uint8_t>();
      const uint8_t low = byte & 0x3f;
      uint64_t advance = 0;
      bool moves = true;
      if (byte >> 6 == 1) {
        advance = low;
      } else if (byte == 0x02) {
        advance = cursor.take<uint8_t>();
      } else if (byte == 0x03) {
        advance = cursor.take<uint16_t>();
      } else if (byte == 0x04) {
        advance = cursor.take<uint32_t>();
      } else {
        moves = false;
      }
      if (moves) {
        location += advance * fde_.cie.code_align;
        (location > offset ? to_ : from_) = location;
        if (location > offset) return cursor.good();
      } else if (byte >> 6 == 2) {
        saved_at(low, static_cast<int64_t>(cursor.unsigned_leb()) * fde_.cie.data_align);
      } else if (byte >> 6 == 3) {
        restore(low);
      } else if (!one(byte, cursor)) {
        return false;
      }
    }
    return cursor.good();
  }

  bool one(uint8_t operation, Cursor& cursor) {
    const int64_t align = fde_.cie.data_align;
    switch (operation) {
      case 0x00:  // nop
        return true;
      case 0x05: {  // offset_extended
        const uint64_t which = cursor.unsigned_leb();
        saved_at(which, static_cast<int64_t>(cursor.unsigned_leb()) * align);
        return true;
      }
      case 0x11: {  // offset_extended_sf
        const uint64_t which = cursor.unsigned_leb();
        saved_at(which, cursor.signed_leb() * align);
        return true;
      }
      case 0x06:  // restore_extended
        restore(cursor.unsigned_leb());
        return true;
      case 0x07:  // undefined
        set(cursor.unsigned_leb(), Rules::Saved::kUndefined);
        return true;
      case 0x08:  // same_value
        set(cursor.unsigned_leb(), Rules::Saved::kSame);
        return true;
      case 0x0a:  // remember_state
        if (depth_ == kStates) return false;
        states_[depth_++] = rules_;
        return true;
      case 0x0b:  // restore_state
        if (depth_ == 0) return false;
        rules_ = states_[--depth_];
        return true;
      case 0x2e:  // GNU_args_size
        cursor.unsigned_leb();
        return true;
      default:
        return define_cfa(operation, cursor) || other(operation, cursor);
    }
  }

  bool define_cfa(uint8_t operation, Cursor& cursor) {
    const bool names_register = operation == 0x0c || operation == 0x0d || operation == 0x12;
    if (names_register) {
      rules_.cfa = Rules::Cfa::kRegister;
      rules_.cfa_register = static_cast<uint32_t>(cursor.unsigned_leb());
    }
    switch (operation) {
      case 0x0d:
        return true;
      case 0x0c:
      case 0x0e:
        rules_.cfa_offset = static_cast<int64_t>(cursor.unsigned_leb());
        return true;
      case 0x12:
      case 0x13:
        rules_.cfa_offset = cursor.signed_leb() * fde_.cie.data_align;
        return true;
      case 0x0f:
        rules_.cfa = Rules::Cfa::kExpression;
        rules_.cfa_expression = expression(cursor);
        return true;
      default:
        return false;
    }
  }

  // Operations on registers that do not matter here, except for rbp saved by an expression.
  bool other(uint8_t operation, Cursor& cursor) {
    if (operation == 0x01) return false;  // set_loc: no compiler emits it
    const uint64_t which = cursor.unsigned_leb();
    const bool matters = which == kRbp || which == kReturnAddress;
    switch (operation) {
      case 0x09:  // register
        cursor.unsigned_leb();
        return !matters;
      case 0x10: {  // expression
        const Expression place = expression(cursor);
        if (which == kRbp) {
          rules_.rbp = Rules::Saved::kExpression;
          rules_.rbp_expression = place;
        }
        // The return address of a signal frame is found in another way.
        return which != kReturnAddress || fde_.cie.signal_frame;
      }
      case 0x14:  // val_offset
        cursor.unsigned_leb();
        return !matters;
      case 0x15:  // val_offset_sf
        cursor.signed_leb();
        return !matters;
      case 0x16:  // val_expression
        expression(cursor);
        return !matters;
      default:
        return false;
    }
  }

  static Expression expression(Cursor& cursor) {
    const uint64_t length = cursor.unsigned_leb();
    const uint8_t* const begin = cursor.at();
    cursor.skip(length);
    return cursor.good() ? Expression{begin, begin + length} : Expression{};
  }

  void saved_at(uint64_t which, int64_t offset) {
    if (which == kRbp) {
      rules_.rbp = Rules::Saved::kAtOffset;
      rules_.rbp_offset = offset;
    } else if (which == kReturnAddress) {
      rules_.return_address = Rules::Saved::kAtOffset;
      rules_.return_offset = offset;
    }
  }
  void set(uint64_t which, Rules::Saved saved) {
    if (which == kRbp) rules_.rbp = saved;
    if (which == kReturnAddress) rules_.return_address = saved;
  }
  void restore(uint64_t which) {
    if (which == kRbp) {
      rules_.rbp = initial_.rbp;
      rules_.rbp_offset = initial_.rbp_offset;
    } else if (which == kReturnAddress) {
      rules_.return_address = initial_.return_address;
      rules_.return_offset = initial_.return_offset;
    }
  }

  static constexpr uint32_t kStates = 8;
  const Fde& fde_;
  Rules& rules_;
  Rules initial_;
  Rules states_[kStates];
  uint32_t depth_ = 0;
  uint64_t from_ = 0, to_ = 0;  // offsets of the last two locations
};

}  // namespace

bool find_rules(const Section& section, uint64_t pc, Rules& rules) {
  const uint8_t* const entry = find_entry(section, pc);
  Fde fde;
  if (entry == nullptr || !read_fde(section, entry, fde)) return false;
  if (pc < fde.start || pc - fde.start >= fde.length) return false;
  rules = {};
  rules.signal_frame = fde.cie.signal_frame;
  return Machine(fde, rules).run(pc);
}

}  // namespace sonde::cpu
