#include "backends/cpu/unwind.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/copying.h"
#include "backends/cpu/eh_frame.h"
#include "backends/cpu/modules.h"
#include "sonde/backend.h"

namespace sonde::cpu {

namespace {

// The cached unwind rule of an instruction, in one word.
struct Row {
  enum Kind : uint64_t {
    kNone,     // no rules: guess the caller
    kFromRsp,  // CFA = rsp + offset
    kFromRbp,  // CFA = rbp + offset
    kInFull,   // too complex for a row: find the rules again each time
    kSignal,   // the frame that a signal handler returns to
    kOutermost,
  };
  uint64_t kind : 4;
  uint64_t module : 12;
  uint64_t cfa_offset : 24;
  int64_t rbp_slot : 12;     // words from the CFA; 0: unchanged
  int64_t return_slot : 12;  // words from the CFA
};
static_assert(sizeof(Row) == 8 && kMaxModules <= 1 << 12);

// A cache entry. Its two words match only if they come from the same write, so neither writers nor
// readers need a lock.
struct Remembered {
  uint64_t check;  // key ^ row
  uint64_t row;
};
constexpr uint32_t kRemembered = 1 << 15;
Remembered g_remembered[kRemembered];
uint32_t g_generation = 1;

uint64_t key_of(uint64_t pc) {
  return (pc & 0xffffffffffff) | uint64_t{agent::load(g_generation)} << 48;
}

uint64_t hash_of(uint64_t key, int bits) { return (key * 0x9FB21C651E98DF25) >> (64 - bits); }

Remembered& place_of(uint64_t key) { return g_remembered[hash_of(key, 15)]; }

bool recall(uint64_t key, Row& row) {
  const Remembered& place = place_of(key);
  const uint64_t word = agent::load(place.row);
  if ((agent::load(place.check) ^ word) != key) return false;
  memcpy(&row, &word, sizeof row);
  return true;
}

void remember(uint64_t key, const Row& row) {
  Remembered& place = place_of(key);
  uint64_t word;
  memcpy(&word, &row, sizeof word);
  agent::store(place.row, word);
  agent::store(place.check, key ^ word);
}

// Aligned blocks of these sizes that one rule covers are remembered as a whole: a sample interrupts
// a large function, such as an interpreter's loop, at a new instruction each time.
constexpr uint64_t kBlocks[] = {4096, 256};

// Differs from all keys of instructions, whose bit 47 is 0, and of blocks of another size.
uint64_t block_key_of(uint64_t pc, uint64_t bytes) {
  return key_of((pc & ~(bytes - 1)) + bytes / 256) | uint64_t{1} << 47;
}

bool recall_around(uint64_t pc, Row& row) {
  for (const uint64_t bytes : kBlocks) {
    if (recall(block_key_of(pc, bytes), row)) return true;
  }
  return false;
}

bool remember_around(uint64_t pc, const Rules& rules, const Row& row) {
  for (const uint64_t bytes : kBlocks) {
    const uint64_t begin = pc & ~(bytes - 1);
    if (begin < rules.from || begin + bytes > rules.to) continue;
    remember(block_key_of(pc, bytes), row);
    return true;
  }
  return false;
}

// Reads the thread's stack: directly where it is known to be mapped, else by a system call that
// fails instead of faulting.
class Memory {
 public:
  explicit Memory(const StackBounds& in_use)
      : low_(in_use.high != 0 ? in_use.low - kRedZone : 0), high_(in_use.high) {}

  bool read(uint64_t address, uint64_t& word) {
    if (address >= low_ && address <= high_ - 8 && high_ != 0) {
      memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
      return true;
    }
    if (address < copied_from_ || address + 8 > copied_from_ + copied_) {
      if (!copy(address)) return false;
    }
    memcpy(&word, copy_ + (address - copied_from_), sizeof word);
    return true;
  }

  static bool read_for(void* memory, uint64_t address, uint64_t& word) {
    return static_cast<Memory*>(memory)->read(address, word);
  }

 private:
  static constexpr uint64_t kRedZone = 128;

  bool copy(uint64_t address) {
    copied_from_ = address;
    copied_ = 0;
    if (address < 4096 || reads_++ > kMostReads) return false;
    // As much as there is, at least to the end of the page.
    iovec local = {copy_, sizeof copy_};
    iovec remote = {reinterpret_cast<void*>(address), sizeof copy_};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got < 8) {
      local.iov_len = remote.iov_len = 4096 - (address & 4095);
      if (local.iov_len > sizeof copy_) local.iov_len = remote.iov_len = sizeof copy_;
      got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    }
    copied_ = got > 0 ? static_cast<uint64_t>(got) : 0;
    return copied_ >= 8;
  }

  static constexpr uint32_t kMostReads = 64;
  const uint64_t low_, high_;
  uint64_t copied_from_ = 0, copied_ = 0;
  uint32_t reads_ = 0;
  char copy_[2048];
};

constexpr int kGregOfDwarf[kRegisters] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                          REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                          REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

class Walk {
 public:
  // `stay`: of the modules whose code is on the stack.
  Walk(const ucontext_t& context, const StackBounds& bounds, Stay stay, Stack& stack,
       RecentRules* recent)
      : memory_(part_in_use(bounds, stack_pointer_of(context))),
        stack_(stack),
        recent_(recent),
        stay_(stay) {
    for (uint32_t i = 0; i < kRegisters; ++i) {
      registers_[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kGregOfDwarf[i]]);
    }
    known_ = (1u << kRegisters) - 1;
  }

  Walk(uint64_t pc, uint64_t stack_pointer, Stack& stack)
      : memory_(StackBounds()), stack_(stack), stay_(Stay::kMayVanish) {
    memset(registers_, 0, sizeof registers_);
    registers_[kReturnAddress] = pc;
    registers_[kRsp] = stack_pointer;
    known_ = 1u << kRsp | 1u << kReturnAddress;
  }

  void run() {
    stack_.count = 0;
    stack_.flags = 0;
    for (;;) {
      const uint64_t pc = registers_[kReturnAddress];
      // A return address may already belong to the next function.
      const uint64_t address = exact_ ? pc : pc - 1;
      Row row = row_of(address);
      if (stack_.count == wire::kMaxFrames) {
        stack_.flags |= SONDE_STACK_TOO_DEEP;
        return;
      }
      Frame& frame = stack_.frames[stack_.count++];
      frame = {address, 0, static_cast<uint32_t>(row.module)};
      if (row.kind == Row::kOutermost) return;
      const uint64_t before = registers_[kRsp];
      if (!step(row, address)) {
        stack_.flags |= SONDE_STACK_TRUNCATED;
        return;
      }
      frame.stack = registers_[kRsp];
      if (registers_[kReturnAddress] == 0) return;  // as the kernel and thread starts leave it
      // Callers are at higher addresses, except that a signal handler may run on another stack.
      if (row.kind != Row::kSignal && registers_[kRsp] <= before) {
        stack_.flags |= SONDE_STACK_TRUNCATED;
        return;
      }
    }
  }

 private:
  Row row_of(uint64_t address);
  Row known_row_of(uint64_t address);
  Row new_row_of(uint64_t address, uint64_t key);
  bool step(const Row& row, uint64_t address);
  bool step_in_full(const Row& row, uint64_t address);
  bool step_signal();
  bool step_by_guess();
  bool find_frame(const Row& row, uint64_t& cfa);
  bool follows_call(uint64_t address);

  // Switches to the caller's registers; caller-saved ones are unknown from here on.
  bool finish(uint64_t cfa, uint64_t return_address, uint64_t rbp, bool rbp_known = true) {
    registers_[kRsp] = cfa;
    registers_[kReturnAddress] = return_address;
    registers_[kRbp] = rbp;
    known_ = 1u << kRsp | 1u << kReturnAddress | (rbp_known ? 1u << kRbp : 0);
    exact_ = false;
    return true;
  }

  Copies* copies_of(Copies& copies) const { return stay_ == Stay::kMayVanish ? &copies : nullptr; }
  bool knows_rbp() const { return (known_ >> kRbp & 1) != 0; }

  Memory memory_;
  Stack& stack_;
  RecentRules* const recent_ = nullptr;
  Stay stay_;
  uint64_t registers_[kRegisters];
  uint32_t known_;
  bool exact_ = true;  // the pc is that of the next instruction, not a return address
};

Row row_from(const Rules& rules, uint32_t module) {
  Row row = {};
  row.module = module;
  row.kind = Row::kInFull;
  if (rules.signal_frame) {
    row.kind = Row::kSignal;
    return row;
  }
  if (rules.return_address == Rules::Saved::kUndefined) {
    row.kind = Row::kOutermost;
    return row;
  }
  const bool plain_rbp =
      rules.rbp == Rules::Saved::kSame ||
      (rules.rbp == Rules::Saved::kAtOffset && rules.rbp_offset % 8 == 0 && rules.rbp_offset != 0 &&
       rules.rbp_offset / 8 >= -2048 && rules.rbp_offset / 8 < 2048);
  const bool plain_return = rules.return_address == Rules::Saved::kAtOffset &&
                            rules.return_offset % 8 == 0 && rules.return_offset / 8 >= -2048 &&
                            rules.return_offset / 8 < 2048;
  const bool plain_cfa = rules.cfa == Rules::Cfa::kRegister && rules.cfa_offset >= 0 &&
                         rules.cfa_offset < 1 << 24 &&
                         (rules.cfa_register == kRsp || rules.cfa_register == kRbp);
  if (!plain_rbp || !plain_return || !plain_cfa) return row;
  row.kind = rules.cfa_register == kRsp ? Row::kFromRsp : Row::kFromRbp;
  row.cfa_offset = static_cast<uint64_t>(rules.cfa_offset);
  row.rbp_slot = rules.rbp == Rules::Saved::kSame ? 0 : rules.rbp_offset / 8;
  row.return_slot = rules.return_offset / 8;
  return row;
}

Row Walk::row_of(uint64_t address) {
  if (recent_ == nullptr || exact_) return known_row_of(address);
  const uint64_t key = key_of(address), place = hash_of(key, 6);
  Row row;
  if (recent_->keys[place] == key) {
    memcpy(&row, &recent_->rows[place], sizeof row);
  } else {
    row = known_row_of(address);
    if (row.module != 0) {
      recent_->keys[place] = key;
      memcpy(&recent_->rows[place], &row, sizeof row);
    }
  }
  return row;
}

Row Walk::known_row_of(uint64_t address) {
  const uint64_t key = key_of(address);
  Row row = {};
  if (recall(key, row)) return row;
  if (recall_around(address, row)) {
    if (!exact_) remember(key, row);  // a call is met again
    return row;
  }
  return new_row_of(address, key);
}

// Kept for modules only: JIT code may change.
[[gnu::noinline]] Row Walk::new_row_of(uint64_t address, uint64_t key) {
  Row row = {};
  row.module = module_of(address, stay_);
  if (row.module == 0) return row;
  const Module& module = module_at(static_cast<uint32_t>(row.module));
  Rules rules;
  if (module.section.header != nullptr) {
    Copies copies;
    if (find_rules(module.section, address, copies_of(copies), rules)) {
      row = row_from(rules, static_cast<uint32_t>(row.module));
    } else if (stay_ == Stay::kMayVanish) {
      return row;  // it may be gone, and another may come
    }
  }
  if (key != key_of(address)) return row;  // another one may be there by now
  if (!remember_around(address, rules, row) || !exact_) remember(key, row);
  return row;
}

bool Walk::step(const Row& row, uint64_t address) {
  uint64_t cfa = 0;
  switch (row.kind) {
    case Row::kFromRsp:
      cfa = registers_[kRsp] + row.cfa_offset;
      break;
    case Row::kFromRbp:
      cfa = registers_[kRbp] + row.cfa_offset;
      if (!knows_rbp() && !find_frame(row, cfa)) return false;
      break;
    case Row::kInFull:
      return step_in_full(row, address);
    case Row::kSignal:
      return step_signal();
    default:
      return step_by_guess();
  }
  uint64_t return_address, rbp = registers_[kRbp];
  const auto slot = [cfa](int64_t words) { return cfa + static_cast<uint64_t>(words * 8); };
  if (!memory_.read(slot(row.return_slot), return_address)) return false;
  if (row.rbp_slot != 0 && !memory_.read(slot(row.rbp_slot), rbp)) return false;
  return finish(cfa, return_address, rbp, row.rbp_slot != 0 || knows_rbp());
}

// Searches for the frame that an unknown rbp would point to: the nearest one above the stack
// pointer that has a return address and, if the function saves rbp, a saved rbp that does not point
// further in. A guess, too.
bool Walk::find_frame(const Row& row, uint64_t& cfa) {
  constexpr uint64_t kFarthest = 16 * 1024;
  const uint64_t from = registers_[kRsp];
  const auto at = [](uint64_t base, int64_t words) {
    return base + static_cast<uint64_t>(words * 8);
  };
  for (uint64_t rbp = from; rbp < from + kFarthest; rbp += 8) {
    uint64_t return_address = 0, next_rbp = 0;
    cfa = rbp + row.cfa_offset;
    if (!memory_.read(at(cfa, row.return_slot), return_address)) return false;
    if (return_address < 4096 || !follows_call(return_address)) continue;
    stay_ = Stay::kMayVanish;
    if (row.rbp_slot == 0) return true;
    if (!memory_.read(at(cfa, row.rbp_slot), next_rbp)) return false;
    if (next_rbp < from || next_rbp > rbp) return true;
  }
  return false;
}

bool Walk::step_in_full(const Row& row, uint64_t address) {
  const Section& section = module_at(static_cast<uint32_t>(row.module)).section;
  Copies copies;
  Rules rules;
  if (!find_rules(section, address, copies_of(copies), rules) ||
      rules.return_address != Rules::Saved::kAtOffset) {
    return false;
  }
  ExpressionInput input;
  input.registers = registers_;
  input.known = known_;
  input.read = Memory::read_for;
  input.context = &memory_;
  uint64_t cfa = 0;
  if (rules.cfa == Rules::Cfa::kExpression) {
    if (!evaluate(rules.cfa_expression, input, cfa)) return false;
  } else {
    if (rules.cfa_register >= kRegisters || (known_ >> rules.cfa_register & 1) == 0) return false;
    cfa = registers_[rules.cfa_register] + static_cast<uint64_t>(rules.cfa_offset);
  }
  uint64_t return_address, rbp = registers_[kRbp], place = 0;
  const bool rbp_known = knows_rbp() || rules.rbp != Rules::Saved::kSame;
  if (!memory_.read(cfa + static_cast<uint64_t>(rules.return_offset), return_address)) return false;
  if (rules.rbp == Rules::Saved::kAtOffset) {
    place = cfa + static_cast<uint64_t>(rules.rbp_offset);
  } else if (rules.rbp == Rules::Saved::kExpression) {
    input.has_initial = true;
    input.initial = cfa;
    if (!evaluate(rules.rbp_expression, input, place)) return false;
  }
  if (place != 0 && !memory_.read(place, rbp)) return false;
  return finish(cfa, return_address, rbp, rbp_known);
}

// The kernel saved all registers in a ucontext_t right above the return address.
bool Walk::step_signal() {
  const uint64_t registers = registers_[kRsp] + offsetof(ucontext_t, uc_mcontext.gregs);
  for (uint32_t i = 0; i < kRegisters; ++i) {
    const auto at = registers + static_cast<uint64_t>(kGregOfDwarf[i]) * 8;
    if (!memory_.read(at, registers_[i])) return false;
  }
  known_ = (1u << kRegisters) - 1;
  exact_ = true;
  return true;
}

// Whether the address follows a call instruction in a mapped file.
bool Walk::follows_call(uint64_t address) {
  uint64_t word;
  if (module_of(address - 1, Stay::kMayVanish) == 0 || !memory_.read(address - 8, word))
    return false;
  uint8_t code[8];
  memcpy(code, &word, sizeof code);
  if (code[8 - 5] == 0xe8) return true;  // call rel32
  // call through a register or memory: ff /2, 2 to 7 bytes
  for (int length = 2; length <= 7; ++length) {
    if (code[8 - length] == 0xff && (code[9 - length] >> 3 & 7) == 2) return true;
  }
  return false;
}

// Without rules: tries a function with a frame pointer or, for the innermost frame, one that has
// not pushed anything yet. The module of a caller that is guessed wrongly may not stay.
bool Walk::step_by_guess() {
  const uint64_t rbp = registers_[kRbp];
  uint64_t return_address = 0, next_rbp = 0;
  if (rbp % 8 == 0 && rbp >= registers_[kRsp] && rbp - registers_[kRsp] < 1 << 20 &&
      memory_.read(rbp, next_rbp) && memory_.read(rbp + 8, return_address) &&
      follows_call(return_address)) {
    stay_ = Stay::kMayVanish;
    return finish(rbp + 16, return_address, next_rbp);
  }
  if (exact_ && registers_[kRsp] % 8 == 0 && memory_.read(registers_[kRsp], return_address) &&
      follows_call(return_address)) {
    stay_ = Stay::kMayVanish;
    return finish(registers_[kRsp] + 8, return_address, rbp);
  }
  return false;
}

}  // namespace

StackBounds part_in_use(const StackBounds& bounds, uint64_t stack_pointer) {
  if (stack_pointer < bounds.low || stack_pointer >= bounds.high) return {};
  return {stack_pointer, bounds.high};
}

void unwind(const ucontext_t& context, const StackBounds& bounds, Stack& stack,
            RecentRules* recent) {
  Walk(context, bounds, Stay::kCertain, stack, recent).run();
}

void unwind_stopped(const ucontext_t& context, Stack& stack) {
  Walk(context, StackBounds(), Stay::kMayVanish, stack, nullptr).run();
}

void unwind_blocked(uint64_t pc, uint64_t stack_pointer, Stack& stack) {
  Walk(pc, stack_pointer, stack).run();
}

void leave_out_ours(Stack& stack) {
  uint32_t ours = 0;
  while (ours < stack.count && is_ours(stack.frames[ours].module)) ++ours;
  stack.count -= ours;
  memmove(stack.frames, stack.frames + ours, sizeof(Frame) * stack.count);
}

void forget_remembered() { __atomic_fetch_add(&g_generation, 1, __ATOMIC_RELAXED); }

}  // namespace sonde::cpu
