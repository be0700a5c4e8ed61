#include "isa/opcode_class.h"

#include <charconv>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace softgpu::isa {
namespace {

using sonde::gpu::Format;
using sonde::gpu::Opcode;
using Name = std::string_view;

bool begins(Name name, std::initializer_list<Name> with) {
  for (Name each : with) {
    if (name.starts_with(each)) return true;
  }
  return false;
}
bool has(Name name, Name part) { return name.find(part) != name.npos; }

// "u32" of "v_mad_u32_u24": the first word of a name that is a type; "" if there is none.
Name first_type(Name name) {
  for (Name rest = name; !rest.empty();) {
    const size_t end = rest.find('_');
    const Name word = rest.substr(0, end);
    if (word.size() >= 2 && word.size() <= 3 && has("iufb", word.substr(0, 1)) &&
        word.find_first_not_of("0123456789", 1) == word.npos) {
      return word;
    }
    rest = end == rest.npos ? Name{} : rest.substr(end + 1);
  }
  return {};
}

unsigned number_at(Name text, size_t& at) {
  unsigned value = 0;
  const auto end = std::from_chars(text.data() + at, text.data() + text.size(), value).ptr;
  at = static_cast<size_t>(end - text.data());
  return value;
}

// "v_mfma_f32_32x32x4bf16_1k": the type of the sources follows the three sizes.
void classify_mfma(const Opcode& opcode, OpcodeClass& made) {
  made.add(counter::SQ_INSTS_MFMA);
  const Name name = opcode.name;
  size_t at = name.find('_', 7) + 1;
  const unsigned rows = number_at(name, at), columns = number_at(name, ++at),
                 depth = number_at(name, ++at);
  const Name source = name.substr(at, name.find('_', at) - at);
  constexpr Name kTypes[] = {"i8", "f16", "bf16", "f32", "f64"};
  for (unsigned i = 0; i < 5; ++i) {
    if (source != kTypes[i]) continue;
    made.add(static_cast<counter::Id>(counter::SQ_INSTS_VALU_MFMA_I8 + i));
    made.mops = static_cast<counter::Id>(counter::SQ_INSTS_VALU_MFMA_MOPS_I8 + i);
  }
  const unsigned values = opcode.places[0].count * 64U / (source == "f64" ? 2 : 1);
  made.mops_each =
      static_cast<uint16_t>(2 * values * depth / 512);  // values = rows x columns x blocks
  if (rows * columns == 0) made.mops_each = 0;
}

// The kind of operation (add, multiply, ...): 0 to 3, in the order of the counters; -1 if none of
// these.
int operation_of(Name verb) {
  if (begins(verb, {"add_f", "sub_f", "subrev_f"})) return 0;
  if (begins(verb, {"mul_f", "mul_legacy_f"})) return 1;
  if (begins(verb, {"fma_", "fmac_", "fmamk_", "fmaak_", "mac_", "mad_", "madmk_", "madak_",
                    "div_fmas_"}))
    return 2;
  if (begins(verb, {"rcp_", "rsq_", "sqrt_", "exp_", "log_", "sin_", "cos_"})) return 3;
  return -1;
}

void classify_float(Name verb, Name type, OpcodeClass& made) {
  const int operation = operation_of(verb);
  const int width = type == "f16" ? 0 : type == "f32" ? 1 : type == "f64" ? 2 : -1;
  if (operation < 0 || width < 0) return;
  made.add(static_cast<counter::Id>(counter::SQ_INSTS_VALU_ADD_F16 + 4 * width + operation));
  if (operation == 3) made.passes = 4;
}

void classify_valu(const Opcode& opcode, OpcodeClass& made) {
  made.is_valu = true;
  made.add(counter::SQ_INSTS_VALU);
  Name verb = opcode.name.substr(2);
  if (verb.starts_with("pk_")) verb.remove_prefix(3);
  if (verb.starts_with("mfma_")) return classify_mfma(opcode, made);
  if (verb.starts_with("cvt_")) return made.add(counter::SQ_INSTS_VALU_CVT);
  // v_fma_mixlo_f16, v_mad_mix_f32: fused as well.
  const Name type = first_type(verb);
  if (type == "i32" || type == "u32" || type == "i24" || type == "u24")
    made.add(counter::SQ_INSTS_VALU_INT32);
  if (type == "i64" || type == "u64") made.add(counter::SQ_INSTS_VALU_INT64);
  classify_float(verb, type, made);
  if (begins(verb, {"mul_lo_u32", "mul_hi_u32", "mul_hi_i32", "mad_u64_u32", "mad_i64_i32"}) &&
      !has(verb, "24"))
    made.passes = 4;
}

unsigned trailing_number(Name name, Name before) {
  const size_t found = name.find(before);
  if (found == name.npos) return 1;
  size_t at = found + before.size();
  const unsigned value = at < name.size() ? number_at(name, at) : 1;
  return value == 0 ? 1 : value;
}

void classify_scalar_memory(Name name, OpcodeClass& made) {
  made.add(counter::SQ_INSTS_SMEM);
  const bool is_atomic = has(name, "_atomic_"), loads = has(name, "load_dword"),
             stores = has(name, "store_dword");
  if (!is_atomic && !loads && !stores) return;
  made.space = Space::kScalar;
  made.access = is_atomic ? Access::kAtomic : loads ? Access::kLoad : Access::kStore;
  made.add(counter::SQC_DCACHE_REQ);
  if (is_atomic) return made.add(counter::SQC_DCACHE_ATOMIC);
  const unsigned dwords = trailing_number(name, "dwordx");
  made.bytes = static_cast<uint8_t>(dwords * 4);
  if (!loads) return;
  constexpr unsigned kWidths[] = {1, 2, 4, 8, 16};
  for (unsigned i = 0; i < 5; ++i) {
    if (kWidths[i] == dwords)
      made.add(static_cast<counter::Id>(counter::SQC_DCACHE_REQ_READ_1 + i));
  }
}

void classify_lds(Name name, OpcodeClass& made) {
  // Not memory: lanes exchange values.
  if (begins(name, {"ds_bpermute", "ds_permute", "ds_swizzle", "ds_nop", "ds_gws"})) return;
  made.space = Space::kLds;
  made.access = begins(name, {"ds_read"})    ? Access::kLoad
                : begins(name, {"ds_write"}) ? Access::kStore
                                             : Access::kAtomic;
  made.bytes = 4;
  if (has(name, "b128")) made.bytes = 16;
  if (has(name, "b96")) made.bytes = 12;
  if (has(name, "b64") || has(name, "u64") || has(name, "i64") || has(name, "f64")) made.bytes = 8;
  if (has(name, "b16") || has(name, "u16") || has(name, "i16")) made.bytes = 2;
  if (has(name, "b8") || has(name, "u8") || has(name, "i8")) made.bytes = 1;
  if (begins(name, {"ds_read2", "ds_write2", "ds_wrxchg2"})) {
    made.places = 2;
    made.distance = static_cast<uint16_t>(made.bytes * (has(name, "st64") ? 64 : 1));
  }
}

uint8_t bytes_of_vector(Name name, Access access) {
  if (access == Access::kAtomic) {
    return name.ends_with("_x2") || name.ends_with("f64") ? 8 : 4;
  }
  if (has(name, "byte")) return 1;
  if (has(name, "short")) return 2;
  return static_cast<uint8_t>(4 * trailing_number(name, "dwordx"));
}

void classify_vector_memory(const Opcode& opcode, OpcodeClass& made) {
  const Name name = opcode.name;
  const bool is_buffer = opcode.format == Format::kMubuf || opcode.format == Format::kMtbuf;
  made.add(counter::SQ_INSTS_VMEM);
  if (!is_buffer) made.add(counter::SQ_INSTS_FLAT);
  if (opcode.format == Format::kFlat) made.add(counter::SQ_INSTS_LDS);
  if (begins(name, {"buffer_wb", "buffer_inv"})) return;
  made.space = is_buffer                          ? Space::kBuffer
               : opcode.format == Format::kFlat   ? Space::kFlat
               : opcode.format == Format::kGlobal ? Space::kGlobal
                                                  : Space::kScratch;
  made.access = has(name, "_atomic_") ? Access::kAtomic
                : has(name, "_load_") ? Access::kLoad
                                      : Access::kStore;
  made.bytes = bytes_of_vector(name, made.access);
  const auto what = static_cast<unsigned>(made.access) - static_cast<unsigned>(Access::kLoad);
  made.add(counter::TA_TOTAL_WAVEFRONTS);
  made.add(is_buffer ? counter::TA_BUFFER_WAVEFRONTS : counter::TA_FLAT_WAVEFRONTS);
  made.add(static_cast<counter::Id>(
      (is_buffer ? counter::TA_BUFFER_READ_WAVEFRONTS : counter::TA_FLAT_READ_WAVEFRONTS) + what));
}

OpcodeClass classify(const Opcode& opcode) {
  OpcodeClass made;
  const Name name = opcode.name;
  switch (opcode.format) {
    case Format::kSop1:
    case Format::kSop2:
    case Format::kSopc:
    case Format::kSopk:
      made.add(counter::SQ_INSTS_SALU);
      break;
    case Format::kSopp:
      if (begins(name, {"s_branch", "s_cbranch_"})) made.add(counter::SQ_INSTS_BRANCH);
      if (begins(name, {"s_sendmsg"})) made.add(counter::SQ_INSTS_SENDMSG);
      break;
    case Format::kSmem:
      classify_scalar_memory(name, made);
      break;
    case Format::kVop1:
    case Format::kVop2:
    case Format::kVopc:
    case Format::kVop3:
    case Format::kVop3p:
      classify_valu(opcode, made);
      break;
    case Format::kDs:
      classify_lds(name, made);
      break;
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
    case Format::kMtbuf:
      classify_vector_memory(opcode, made);
      break;
  }
  return made;
}

}  // namespace

const OpcodeClass& class_of(const Opcode& opcode) {
  // Never destroyed: waves outlive main.
  static const auto& classes = *[] {
    auto* made = new std::vector<OpcodeClass>;
    for (const Opcode& each : sonde::gpu::all_opcodes()) made->push_back(classify(each));
    return made;
  }();
  return classes[static_cast<size_t>(&opcode - sonde::gpu::all_opcodes().data())];
}

}  // namespace softgpu::isa
