// SDWA, DPP, signs, clamp, output multipliers, literals and the long encoding, on every instruction
// that has them: the result must equal that of the plain instruction, with the sources modified
// here before it and the result modified here after it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

using sonde::gpu::Format;
using sonde::gpu::Opcode;
using sonde::gpu::Registers;

constexpr unsigned kSource0 = 0, kSource1 = 2, kResult = 16;
constexpr uint32_t kVectorSource = 256, kSdwa = 249, kDpp = 250, kLiteral = 255;
constexpr uint64_t kExec = 0xfffffff0f7ffff3f;

bool has(const Opcode& opcode, const char* part) {
  return opcode.name.find(part) != std::string::npos;
}
bool is_wide(const Opcode& opcode) {
  for (const auto& place : opcode.places) {
    if (place.count > 1 && place.registers != Registers::kScalar) return true;
  }
  return false;
}
unsigned source_registers(const Opcode& opcode) {
  for (const auto& place : opcode.places) {
    if (place.count != 0 && place.field == sonde::gpu::Field::kSrc0) return place.count;
  }
  return 0;
}
// Instructions across lanes, without sources, or without another form.
bool is_left_out(const Opcode& opcode) {
  for (const char* name : {"v_nop", "v_clrexcp", "v_readfirstlane_b32", "v_swap_b32",
                           "v_accvgpr_mov_b32", "v_pk_fmac_f16"}) {
    if (opcode.name == name) return true;
  }
  return find_handler(opcode.name) == nullptr || (opcode.architectures & 4) == 0;
}
bool has_own_literal(const Opcode& opcode) {
  return has(opcode, "v_madmk") || has(opcode, "v_madak");
}
// The type of the first source, by the name: conversions have it last.
bool takes_float(const Opcode& opcode) {
  if (has(opcode, "v_cvt_")) {
    if (has(opcode, "v_cvt_norm") || has(opcode, "v_cvt_pk")) return true;
    const size_t last = opcode.name.rfind('_');
    return opcode.name[last + 1] == 'f';
  }
  return has(opcode, "_f16") || has(opcode, "_f32") || has(opcode, "_f64");
}
bool takes_two_floats(const Opcode& opcode) {
  return takes_float(opcode) && opcode.format != Format::kVop1 && !has(opcode, "class") &&
         !has(opcode, "ldexp") && !has(opcode, "v_cvt");
}
unsigned float_bits(const Opcode& opcode) {
  const size_t last = opcode.name.rfind("_f");
  const std::string bits(opcode.name.substr(last + 2, 2));
  return bits == "16" ? 16 : bits == "64" ? 64 : 32;
}

std::vector<const Opcode*> opcodes() {
  std::vector<const Opcode*> found;
  for (const Opcode& opcode : sonde::gpu::all_opcodes()) {
    const bool is_short = opcode.format == Format::kVop1 || opcode.format == Format::kVop2 ||
                          opcode.format == Format::kVopc;
    if (is_short && !is_left_out(opcode)) found.push_back(&opcode);
  }
  return found;
}

uint32_t word_of(const Opcode& opcode, uint32_t source) {
  switch (opcode.format) {
    case Format::kVop1:
      return 0x3fu << 25 | kResult << 17 | uint32_t{opcode.number} << 9 | source;
    case Format::kVopc:
      return 0x3eu << 25 | uint32_t{opcode.number} << 17 | kSource1 << 9 | source;
    default:
      return uint32_t{opcode.number} << 25 | kResult << 17 | kSource1 << 9 | source;
  }
}
Words plain(const Opcode& opcode) {
  Words words = {word_of(opcode, kVectorSource + kSource0)};
  if (has_own_literal(opcode)) words.push_back(0x40400000);
  return words;
}

// Numbers of all kinds: small and large integers, floats and halves near 1, random bits.
void fill_registers(Machine& machine, unsigned seed) {
  std::mt19937 random(seed);
  for (unsigned row = 0; row < 24; ++row) {
    for (uint32_t& value : machine.wave->v[row]) {
      const auto number = static_cast<uint32_t>(random());
      switch (number % 4) {
        case 0:
          value = bits(static_cast<float>(static_cast<int32_t>(random())) * 0x1p-28F);
          break;
        case 1:
          value = 0x3c003c00 ^ (static_cast<uint32_t>(random()) & 0x83ff83ff);
          break;
        case 2:
          value = static_cast<uint32_t>(random());
          break;
        default:
          value = static_cast<uint32_t>(random() % 64) - 16;
      }
    }
  }
  machine.wave->set64(sonde::gpu::kVcc, 0x123456789abcdef0);
  machine.wave->set64(sonde::gpu::kExec, kExec);
}

// Runs `same_as` on sources changed by `before`, and expects the result of `words`, changed by
// `after`.
void expect_same(const Opcode& opcode, const Words& words, const Words& same_as, const char* what,
                 const std::function<void(Wave&)>& before,
                 const std::function<void(Wave&, const Wave&)>& after) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    Machine tested, expected;
    fill_registers(tested, seed);
    fill_registers(expected, seed);
    const auto old = std::make_unique<Wave>(*expected.wave);
    ASSERT_EQ(tested.run(words), Stop::kEnd) << opcode.name << ", " << what;
    before(*expected.wave);
    ASSERT_EQ(expected.run(same_as), Stop::kEnd) << opcode.name;
    after(*expected.wave, *old);
    for (unsigned row = kResult; row < kResult + 2; ++row) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        ASSERT_EQ(tested.wave->v[row][lane], expected.wave->v[row][lane])
            << opcode.name << ", " << what << ", register " << row - kResult << " of lane " << lane
            << " of seed " << seed;
      }
    }
    ASSERT_EQ(tested.wave->vcc(), expected.wave->vcc()) << opcode.name << ", " << what;
  }
}
void nothing_before(Wave&) {}
void nothing_after(Wave&, const Wave&) {}

uint32_t part_of(uint32_t value, unsigned selection, bool is_signed) {
  if (selection == 6) return value;
  const unsigned size = selection < 4 ? 8 : 16,
                 shift = selection < 4 ? selection * 8 : (selection - 4) * 16;
  const uint32_t part = value >> shift & ((1u << size) - 1);
  return is_signed && part >> (size - 1) ? part | ~((1u << size) - 1) : part;
}
uint32_t merged(uint32_t old, uint32_t made, unsigned selection, unsigned unused) {
  if (selection == 6) return made;
  const unsigned size = selection < 4 ? 8 : 16,
                 shift = selection < 4 ? selection * 8 : (selection - 4) * 16;
  const uint32_t field = (1u << size) - 1, part = made & field;
  if (unused == 2) return (old & ~(field << shift)) | part << shift;
  const uint32_t above = shift + size < 32 ? ~uint32_t{0} << (shift + size) : 0;
  return part << shift | (unused == 1 && part >> (size - 1) ? above : 0);
}

TEST(Modifiers, SdwaTakesAndGivesParts) {
  struct Case {
    unsigned to, unused, from0, sext0, from1, sext1;
  };
  const Case cases[] = {{1, 2, 0, 0, 5, 0}, {5, 1, 3, 1, 4, 1}, {6, 0, 4, 0, 6, 0},
                        {4, 0, 6, 0, 2, 1}, {3, 1, 5, 1, 1, 0}, {0, 2, 2, 0, 3, 1}};
  unsigned tested = 0;
  for (const Opcode* opcode : opcodes()) {
    // Dot products that accumulate into a source, and these, have no such form.
    if (is_wide(*opcode) || has_own_literal(*opcode) || has(*opcode, "v_dot") ||
        has(*opcode, "_fmac_"))
      continue;
    const bool is_comparison = opcode->format == Format::kVopc;
    for (const Case& c : cases) {
      const bool sext0 = c.sext0 && !takes_float(*opcode),
                 sext1 = c.sext1 && !takes_two_floats(*opcode);
      uint32_t word = kSource0 | c.from0 << 16 | uint32_t{sext0} << 19 | c.from1 << 24;
      if (opcode->format != Format::kVop1) word |= uint32_t{sext1} << 27;
      if (!is_comparison) word |= c.to << 8 | c.unused << 11;
      expect_same(
          *opcode, {word_of(*opcode, kSdwa), word}, plain(*opcode), "SDWA",
          [&](Wave& wave) {
            for (uint32_t& value : wave.v[kSource0]) value = part_of(value, c.from0, sext0);
            for (uint32_t& value : wave.v[kSource1]) value = part_of(value, c.from1, sext1);
          },
          [&](Wave& wave, const Wave& old) {
            if (is_comparison) return;
            for (unsigned lane = 0; lane < kLanes; ++lane) {
              if (kExec >> lane & 1)
                wave.v[kResult][lane] =
                    merged(old.v[kResult][lane], wave.v[kResult][lane], c.to, c.unused);
            }
          });
      if (HasFatalFailure()) return;
    }
    ++tested;
  }
  EXPECT_GT(tested, 200u);
}

// The lane that a lane's source comes from; -1 if there is none.
int source_of(unsigned control, int lane) {
  const int row = lane / 16 * 16, n = lane % 16;
  switch (control) {
    case 0xb1:  // quad_perm:[1,0,3,2]
      return lane ^ 1;
    case 0x103:  // row_shl:3
      return n + 3 < 16 ? lane + 3 : -1;
    case 0x111:  // row_shr:1
      return n >= 1 ? lane - 1 : -1;
    case 0x12d:  // row_ror:13
      return row + (n + 3) % 16;
    case 0x130:  // wave_shl:1
      return lane + 1 < 64 ? lane + 1 : -1;
    case 0x13c:  // wave_ror:1
      return (lane + 63) % 64;
    case 0x140:  // row_mirror
      return row + 15 - n;
    case 0x141:  // row_half_mirror
      return lane / 8 * 8 + 7 - lane % 8;
    case 0x142:  // row_bcast:15
      return row > 0 ? row - 1 : -1;
    case 0x143:  // row_bcast:31
      return lane >= 32 ? 31 : -1;
    default:  // row_newbcast:5
      return row + 5;
  }
}

TEST(Modifiers, DppTakesFromOtherLanes) {
  const unsigned short_controls[] = {0xb1,  0x103, 0x111, 0x12d, 0x130, 0x13c,
                                     0x140, 0x141, 0x142, 0x143, 0x155};
  unsigned tested = 0;
  for (const Opcode* opcode : opcodes()) {
    if (has_own_literal(*opcode) || (is_wide(*opcode) && opcode->format == Format::kVopc)) continue;
    for (const unsigned control : short_controls) {
      if (is_wide(*opcode) && control != 0x155) continue;
      const bool bound = control % 2 == 0;
      const unsigned rows = control == 0x111 ? 0xb : 0xf, banks = control == 0x12d ? 0x7 : 0xf;
      const uint32_t word =
          kSource0 | control << 8 | uint32_t{bound} << 19 | banks << 24 | rows << 28;
      expect_same(
          *opcode, {word_of(*opcode, kDpp), word}, plain(*opcode), "DPP",
          [&](Wave& wave) {
            uint64_t written = 0;
            const auto old = std::make_unique<Wave>(wave);
            for (int lane = 0; lane < kLanes; ++lane) {
              const int from = source_of(control, lane);
              const bool is_there = from >= 0 && (kExec >> from & 1);
              for (unsigned row = kSource0; row < kSource0 + 2; ++row)
                wave.v[row][lane] = is_there ? old->v[row][from] : 0;
              const bool is_enabled = (rows >> lane / 16 & 1) && (banks >> lane / 4 % 4 & 1);
              if (is_enabled && (is_there || bound)) written |= uint64_t{1} << lane;
            }
            wave.set64(sonde::gpu::kExec, kExec & written);
          },
          nothing_after);
      if (HasFatalFailure()) return;
    }
    ++tested;
  }
  EXPECT_GT(tested, 200u);
}

TEST(Modifiers, LiteralsAreRegistersWithThatValue) {
  for (const Opcode* opcode : opcodes()) {
    if (has_own_literal(*opcode)) continue;
    for (const uint32_t literal : {0x3f9d70a4u, 0xfffff00du, 0x00003555u}) {
      const bool is_sixty_four = source_registers(*opcode) == 2;
      const bool is_float = takes_float(*opcode);
      const uint32_t high = has(*opcode, "_i64") && literal >> 31 ? ~uint32_t{0} : 0;
      expect_same(
          *opcode, {word_of(*opcode, kLiteral), literal}, plain(*opcode), "a literal",
          [&](Wave& wave) {
            for (uint32_t& value : wave.v[kSource0])
              value = is_sixty_four && is_float ? 0 : literal;
            for (uint32_t& value : wave.v[kSource0 + 1]) value = is_float ? literal : high;
          },
          nothing_after);
      if (HasFatalFailure()) return;
    }
  }
}

// The long form of an instruction, with VCC where the short form implies it.
const Opcode* long_form(const Opcode& opcode) {
  for (const Opcode& other : sonde::gpu::all_opcodes()) {
    if (other.format == Format::kVop3 && other.name == opcode.name && (other.architectures & 4))
      return &other;
  }
  return nullptr;
}
Words long_words(const Opcode& opcode, uint32_t neg, uint32_t abs, uint32_t clamp, uint32_t omod) {
  bool has_mask = false;
  uint32_t third = 0;
  for (const auto& place : opcode.places) {
    if (place.count == 0) break;
    has_mask |= place.field == sonde::gpu::Field::kSdst;
    if (place.field == sonde::gpu::Field::kSrc2) third = sonde::gpu::kVcc;
  }
  const bool is_comparison = opcode.name.starts_with("v_cmp");
  const uint32_t result = is_comparison ? uint32_t{sonde::gpu::kVcc} : kResult;
  const uint32_t middle = has_mask ? uint32_t{sonde::gpu::kVcc} << 8 : abs << 8;
  return {0xd0000000 | uint32_t{opcode.number} << 16 | clamp << 15 | middle | result,
          (kVectorSource + kSource0) | (kVectorSource + kSource1) << 9 | third << 18 | omod << 27 |
              neg << 29};
}

TEST(Modifiers, LongFormsAreTheSame) {
  unsigned tested = 0;
  for (const Opcode* opcode : opcodes()) {
    const Opcode* longer = long_form(*opcode);
    if (longer == nullptr) continue;
    expect_same(*opcode, long_words(*longer, 0, 0, 0, 0), plain(*opcode), "VOP3", nothing_before,
                nothing_after);
    if (HasFatalFailure()) return;
    ++tested;
  }
  EXPECT_GT(tested, 250u);
}

void change_sign(Wave& wave, unsigned row, unsigned size, bool neg, bool abs) {
  const uint32_t sign = size == 16 ? 0x8000 : 0x80000000;
  for (uint32_t& value : wave.v[size == 64 ? row + 1 : row]) {
    if (abs) value &= ~sign;
    if (neg) value ^= sign;
  }
}

TEST(Modifiers, SignsOfSources) {
  unsigned tested = 0;
  for (const Opcode* opcode : opcodes()) {
    const Opcode* longer = long_form(*opcode);
    if (longer == nullptr || !takes_float(*opcode) || has(*opcode, "v_dot")) continue;
    const unsigned size = float_bits(*opcode), sources = takes_two_floats(*opcode) ? 2 : 1;
    for (const auto& [neg, abs] : {std::pair{1u, 0u}, {0u, 1u}, {1u, 1u}, {2u, 0u}, {3u, 2u}}) {
      if (sources == 1 && (neg > 1 || abs > 1)) continue;
      expect_same(
          *opcode, long_words(*longer, neg, abs, 0, 0), plain(*opcode), "signs",
          [&, n = neg, a = abs](Wave& wave) {
            change_sign(wave, kSource0, size, n & 1, a & 1);
            change_sign(wave, kSource1, size, n & 2, a & 2);
          },
          nothing_after);
      if (HasFatalFailure()) return;
    }
    ++tested;
  }
  EXPECT_GT(tested, 130u);
}

// The effect of clamp and the output multiplier on a result, of the type at the end of the name.
struct ResultChange {
  uint32_t clamp, omod;
  bool is_double;

  double of(double value) const {
    constexpr double kFactors[] = {1, 2, 4, 0.5};
    value *= kFactors[omod];
    return clamp == 0 ? value : value > 0 ? std::fmin(value, 1.0) : 0.0;
  }
  void operator()(Wave& wave, const Wave&) const {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((kExec >> lane & 1) == 0) continue;
      uint32_t* low = &wave.v[kResult][lane];
      uint32_t* high = &wave.v[kResult + 1][lane];
      if (!is_double) {
        *low = bits(static_cast<float>(of(double{number(*low)})));
        continue;
      }
      const uint64_t both = *low | uint64_t{*high} << 32;
      double value = 0;
      std::memcpy(&value, &both, sizeof(value));
      const uint64_t made = bits64(of(value));
      *low = static_cast<uint32_t>(made);
      *high = static_cast<uint32_t>(made >> 32);
    }
  }
};

// f32 and f64 arithmetic whose name ends with the type.
TEST(Modifiers, ClampAndMultipliersOfResults) {
  unsigned tested = 0;
  for (const Opcode* opcode : opcodes()) {
    const Opcode* longer = long_form(*opcode);
    const bool is_double = opcode->name.ends_with("_f64"),
               is_single = opcode->name.ends_with("_f32");
    if (longer == nullptr || opcode->format == Format::kVopc || has(*opcode, "v_cvt") ||
        has(*opcode, "frexp_exp") || !(is_double || is_single))
      continue;
    for (uint32_t omod = 0; omod < 4; ++omod) {
      for (uint32_t clamp = omod == 0; clamp < 2; ++clamp) {
        expect_same(*opcode, long_words(*longer, 0, 0, clamp, omod), plain(*opcode),
                    "clamp or omod", nothing_before, ResultChange{clamp, omod, is_double});
        if (HasFatalFailure()) return;
      }
    }
    ++tested;
  }
  EXPECT_GT(tested, 25u);
}

// Instructions with three sources that no table of definitions (tests/instructions) covers.
TEST(Modifiers, OfInstructionsWithThreeSources) {
  unsigned tested = 0;
  for (const Opcode& opcode : sonde::gpu::all_opcodes()) {
    if (opcode.format != Format::kVop3 || is_left_out(opcode) ||
        !(has(opcode, "v_cube") || has(opcode, "v_div_fixup_f") || has(opcode, "v_div_fmas_f") ||
          has(opcode, "v_div_scale_f") || opcode.name == "v_fma_f64") ||
        opcode.name.ends_with("_f16"))
      continue;
    const bool is_double = opcode.name.ends_with("_f64"), has_mask = has(opcode, "v_div_scale_f");
    const auto words = [&](uint32_t neg, uint32_t abs, uint32_t clamp, uint32_t omod) -> Words {
      const uint32_t middle = has_mask ? uint32_t{sonde::gpu::kVcc} : abs;
      return {0xd0000000 | uint32_t{opcode.number} << 16 | clamp << 15 | middle << 8 | kResult,
              (kVectorSource + kSource0) | (kVectorSource + kSource1) << 9 |
                  (kVectorSource + 4) << 18 | omod << 27 | neg << 29};
    };
    for (const auto& [neg, abs] : {std::pair{1u, 0u}, {2u, 1u}, {5u, 6u}}) {
      expect_same(
          opcode, words(neg, abs, 0, 0), words(0, 0, 0, 0), "signs",
          [&, n = neg, a = has_mask ? 0 : abs](Wave& wave) {
            for (unsigned i = 0; i < 3; ++i)
              change_sign(wave, 2 * i, is_double ? 64 : 32, n >> i & 1, a >> i & 1);
          },
          nothing_after);
    }
    for (const auto& [clamp, omod] : {std::pair{1u, 0u}, {0u, 2u}, {1u, 3u}}) {
      expect_same(opcode, words(0, 0, clamp, omod), words(0, 0, 0, 0), "clamp or omod",
                  nothing_before, ResultChange{clamp, omod, is_double});
    }
    if (HasFatalFailure()) return;
    ++tested;
  }
  EXPECT_EQ(tested, 11u);
}

TEST(Modifiers, ScalarLiteralsAreRegistersWithThatValue) {
  unsigned tested = 0;
  for (const Opcode& opcode : sonde::gpu::all_opcodes()) {
    const bool is_scalar = opcode.format == Format::kSop1 || opcode.format == Format::kSop2 ||
                           opcode.format == Format::kSopc;
    // Excludes branches and the like, and what affects vector instructions.
    if (!is_scalar || is_left_out(opcode) || source_registers(opcode) == 0 || has(opcode, "pc_") ||
        has(opcode, "fork") || has(opcode, "join") || has(opcode, "rfe") || has(opcode, "s_set") ||
        has(opcode, "s_movrels"))
      continue;
    const auto words = [&](uint32_t source) -> Words {
      const uint32_t number = opcode.number;
      if (opcode.format == Format::kSop1) return {0xbe800000 | 16 << 16 | number << 8 | source};
      if (opcode.format == Format::kSopc) return {0xbf000000 | number << 16 | 2 << 8 | source};
      return {0x80000000 | number << 23 | 16 << 16 | 2 << 8 | source};
    };
    for (const uint32_t literal : {0x3f9d70a4u, 0xfffff00du, 0x00000155u}) {
      Machine tested_machine, expected;
      for (Machine* each : {&tested_machine, &expected}) {
        for (uint32_t i = 0; i < 32; ++i) each->wave->s[i] = 0x1234567 * (i + 3);
        each->wave->s[2] = 0x70009;  // offset and size of a bit field
        each->wave->scc = literal & 1;
      }
      const bool is_signed = has(opcode, "_i64") && literal >> 31;
      expected.wave->set64(0, literal | (is_signed ? uint64_t{0xffffffff} << 32 : 0));
      Words with_literal = words(kLiteral);
      with_literal.push_back(literal);
      ASSERT_EQ(tested_machine.run(with_literal), Stop::kEnd) << opcode.name;
      ASSERT_EQ(expected.run(words(0)), Stop::kEnd) << opcode.name;
      for (unsigned i = 2; i < 128; ++i)
        ASSERT_EQ(tested_machine.wave->s[i], expected.wave->s[i]) << opcode.name << ", s" << i;
      ASSERT_EQ(tested_machine.wave->scc, expected.wave->scc) << opcode.name;
    }
    ++tested;
  }
  EXPECT_GT(tested, 100u);
}

}  // namespace
}  // namespace softgpu::isa
