// DWARF expressions, as far as compilers emit them in .eh_frame.
#include "backends/cpu/cursor.h"
#include "backends/cpu/eh_frame.h"

namespace sonde::cpu {

namespace {

// The expression stack. A pop from the empty stack gives 0 and invalidates the result.
class Values {
 public:
  void push(uint64_t value) {
    if (count_ == kMost) {
      good_ = false;
    } else {
      values_[count_++] = value;
    }
  }
  uint64_t pop() {
    if (count_ == 0) {
      good_ = false;
      return 0;
    }
    return values_[--count_];
  }
  bool good() const { return good_; }

 private:
  static constexpr uint32_t kMost = 16;
  uint64_t values_[kMost];
  uint32_t count_ = 0;
  bool good_ = true;
};

bool binary(uint8_t operation, Values& values) {
  const uint64_t b = values.pop();
  const uint64_t a = values.pop();
  switch (operation) {
    case 0x1a:
      values.push(a & b);
      return true;
    case 0x1c:
      values.push(a - b);
      return true;
    case 0x21:
      values.push(a | b);
      return true;
    case 0x22:
      values.push(a + b);
      return true;
    case 0x24:
      values.push(b < 64 ? a << b : 0);
      return true;
    case 0x25:
      values.push(b < 64 ? a >> b : 0);
      return true;
    case 0x2a:
      values.push(static_cast<int64_t>(a) >= static_cast<int64_t>(b) ? 1 : 0);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool evaluate(const Expression& expression, const ExpressionInput& input, uint64_t& result) {
  Values values;
  if (input.has_initial) values.push(input.initial);
  Cursor cursor(expression.begin, expression.end);
  while (cursor.more() && values.good()) {
    const auto operation = cursor.take<uint8_t>();
    if (operation >= 0x30 && operation < 0x50) {  // lit0 to lit31
      values.push(operation - 0x30u);
    } else if (operation >= 0x70 && operation < 0x90) {  // breg0 to breg31
      const uint32_t which = operation - 0x70u;
      const int64_t offset = cursor.signed_leb();
      if (which >= kRegisters || (input.known >> which & 1) == 0) return false;
      values.push(input.registers[which] + static_cast<uint64_t>(offset));
    } else if (operation == 0x06) {  // deref
      uint64_t word;
      if (!input.read(input.context, values.pop(), word)) return false;
      values.push(word);
    } else if (operation == 0x08) {  // const1u
      values.push(cursor.take<uint8_t>());
    } else if (operation == 0x09) {  // const1s
      values.push(static_cast<uint64_t>(int64_t{cursor.take<int8_t>()}));
    } else if (operation == 0x0a) {  // const2u
      values.push(cursor.take<uint16_t>());
    } else if (operation == 0x10) {  // constu
      values.push(cursor.unsigned_leb());
    } else if (operation == 0x11) {  // consts
      values.push(static_cast<uint64_t>(cursor.signed_leb()));
    } else if (operation == 0x23) {  // plus_uconst
      values.push(values.pop() + cursor.unsigned_leb());
    } else if (!binary(operation, values)) {
      return false;
    }
  }
  result = values.pop();
  return cursor.good() && values.good();
}

}  // namespace sonde::cpu
