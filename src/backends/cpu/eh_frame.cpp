#include "backends/cpu/eh_frame.h"

#include <string.h>

#include "backends/cpu/copying.h"
#include "backends/cpu/cursor.h"

namespace sonde::cpu {

namespace {

constexpr uint8_t kOmitted = 0xff;

// A pointer in one of the encodings that .eh_frame uses; the indirect ones do not occur here.
uint64_t take_pointer(Cursor& cursor, uint8_t encoding) {
  if (encoding == kOmitted) return 0;
  const uint64_t here = cursor.address();
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

// Where to copy to; nullptr: read in place.
struct Room {
  uint8_t* bytes = nullptr;
  uint32_t size = 0;
};

Stay stay_of(const void* copies) { return copies == nullptr ? Stay::kCertain : Stay::kMayVanish; }

// The body of a CIE or FDE that begins with its length; empty if it is not within the module, or no
// longer there.
Cursor body_of(const Section& section, uint64_t entry, const Room& room) {
  const Cursor nothing(nullptr, nullptr);
  uint32_t length = 0;
  if (entry < section.start || entry > section.end - sizeof length) return nothing;
  if (!copy(stay_of(room.bytes), &length, entry, sizeof length)) return nothing;
  const uint64_t at = entry + sizeof length;
  if (length >= 0xfffffff0 || length > section.end - at) return nothing;
  if (room.bytes == nullptr) {
    const auto* in_place = reinterpret_cast<const uint8_t*>(at);
    return {in_place, in_place + length};
  }
  if (length > room.size || !copy_carefully(room.bytes, at, length)) return nothing;
  return {room.bytes, room.bytes + length, at - reinterpret_cast<uint64_t>(room.bytes)};
}

bool read_augmentation(Cursor& cursor, const char* text, Cie& cie) {
  if (*text != 'z') return *text == '\0';
  cie.has_augmentation = true;
  const uint64_t length = cursor.unsigned_leb();
  Cursor after = cursor;
  after.skip(length);
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
  if (!cursor.good() || !after.good()) return false;
  cursor = after;
  return true;
}

bool read_cie(const Section& section, uint64_t entry, const Room& room, Cie& cie) {
  Cursor cursor = body_of(section, entry, room);
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

bool read_fde(const Section& section, uint64_t entry, Copies* copies, Fde& fde) {
  Room of_fde, of_cie;
  if (copies != nullptr) {
    of_fde = {copies->fde, sizeof copies->fde};
    of_cie = {copies->cie, sizeof copies->cie};
  }
  Cursor cursor = body_of(section, entry, of_fde);
  const uint64_t here = cursor.address();
  const auto back = cursor.take<uint32_t>();
  if (!cursor.good() || back == 0 || !read_cie(section, here - back, of_cie, fde.cie)) {
    return false;
  }
  fde.start = take_pointer(cursor, fde.cie.encoding);
  fde.length = take_pointer(cursor, fde.cie.encoding & 0x0f);
  if (fde.cie.has_augmentation) cursor.skip(cursor.unsigned_leb());
  fde.instructions = cursor.at();
  fde.end = cursor.end();
  return cursor.good();
}

// .eh_frame_hdr: the linker's table of all FDEs, sorted by address. A row has two offsets from the
// header: of a function, and of its FDE.
class Table {
 public:
  Table(const Section& section, Copies* copies)
      : section_(section), header_(reinterpret_cast<uint64_t>(section.header)), copies_(copies) {}

  // The address of the FDE for `pc`, or 0.
  uint64_t find(uint64_t pc) {
    if (!begin()) return 0;
    const auto wanted = static_cast<int64_t>(pc - header_);
    uint32_t low = 0, high = count_;
    int32_t row[2];
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (!row_at(middle, row)) return 0;
      if (row[0] <= wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0 || !row_at(low - 1, row)) return 0;
    return header_ + static_cast<uint64_t>(int64_t{row[1]});
  }

 private:
  // All linkers write these encodings: the table has 32-bit offsets from the header.
  bool begin() {
    constexpr uint8_t kVersion = 1, kCount = 0x03, kTable = 0x3b;
    uint8_t bytes[32];
    const uint64_t end = section_.end;
    if (header_ < section_.start || header_ > end || end - header_ < sizeof bytes ||
        !copy(stay_of(copies_), bytes, header_, sizeof bytes)) {
      return false;
    }
    Cursor cursor(bytes, bytes + sizeof bytes, header_ - reinterpret_cast<uint64_t>(bytes));
    const auto version = cursor.take<uint8_t>();
    const auto pointer = cursor.take<uint8_t>();
    const auto count = cursor.take<uint8_t>();
    const auto table = cursor.take<uint8_t>();
    if (version != kVersion || count != kCount || table != kTable) return false;
    take_pointer(cursor, pointer);
    count_ = cursor.take<uint32_t>();
    rows_ = cursor.address();
    return cursor.good() && count_ <= (end - rows_) / kRowBytes;
  }

  bool row_at(uint32_t index, int32_t (&row)[2]) {
    if (copies_ == nullptr) return copy(Stay::kCertain, row, rows_ + index * kRowBytes, sizeof row);
    const uint32_t first = index - index % Copies::kRows;
    if (first != copied_) {
      const uint64_t left = count_ - first;
      const uint64_t rows = left < Copies::kRows ? left : Copies::kRows;
      if (!copy_carefully(copies_->rows, rows_ + first * kRowBytes, rows * kRowBytes)) return false;
      copied_ = first;
    }
    memcpy(row, copies_->rows[index - first], sizeof row);
    return true;
  }

  static constexpr uint64_t kRowBytes = 8;
  const Section& section_;
  const uint64_t header_;
  Copies* const copies_;
  uint64_t rows_ = 0;
  uint32_t count_ = 0;
  uint32_t copied_ = UINT32_MAX;  // the first of the copied rows
};

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

bool find_rules(const Section& section, uint64_t pc, Copies* copies, Rules& rules) {
  const uint64_t entry = Table(section, copies).find(pc);
  Fde fde;
  if (entry == 0 || !read_fde(section, entry, copies, fde)) return false;
  if (pc < fde.start || pc - fde.start >= fde.length) return false;
  rules = {};
  rules.signal_frame = fde.cie.signal_frame;
  return Machine(fde, rules).run(pc);
}

}  // namespace sonde::cpu
