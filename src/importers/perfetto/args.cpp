#include "importers/perfetto/args.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "importers/input/proto_reader.h"

namespace sonde::importers {

namespace {

// DebugAnnotation
constexpr uint32_t kNameIid = 1, kBool = 2, kUnsigned = 3, kSigned = 4, kReal = 5, kText = 6,
                   kPointer = 7, kNested = 8, kJson = 9, kName = 10, kEntries = 11, kValues = 12,
                   kTextIid = 17;
constexpr int kMaxDepth = 32;

struct Writer {
  PerfettoSequence& sequence;
  const TextPool& pool;
  simdjson::dom::parser& parser;

  std::string_view name_of(std::string_view annotation) {
    return text_at(annotation, kName, kNameIid, PerfettoSequence::kAnnotationName);
  }
  std::string_view text_of(std::string_view annotation) {
    return text_at(annotation, kText, kTextIid, PerfettoSequence::kStringValue);
  }
  // A text that stands in one of two fields, in the other as a number.
  std::string_view text_at(std::string_view annotation, uint32_t field, uint32_t iid_field,
                           PerfettoSequence::Kind kind) {
    std::string_view text;
    std::optional<uint64_t> iid;
    read_fields(annotation, ProtoField{field, text}, ProtoField{iid_field, iid});
    return iid ? pool.at(sequence.text(kind, *iid)) : text;
  }

  void real(std::string& out, double value) {
    out += std::isfinite(value) ? fmt::format("{}", value) : "null";
  }
  void quoted(std::string& out, std::string_view text) {
    out += '"';
    append_json_escaped(out, text);
    out += '"';
  }

  void json(std::string& out, std::string_view text);
  void value(std::string& out, std::string_view annotation, int depth);
  void nested(std::string& out, std::string_view message, int depth);
};

// A value that is JSON already; a text if it is not.
void Writer::json(std::string& out, std::string_view text) {
  simdjson::dom::element element;
  // simdjson copies the text, of which there need be none.
  if (text.empty() || parser.parse(text.data(), text.size()).get(element) != simdjson::SUCCESS) {
    return quoted(out, text);
  }
  out += text;
}

// Appends the value of an annotation as JSON.
void Writer::value(std::string& out, std::string_view annotation, int depth) {
  if (depth > kMaxDepth) {
    out += "null";
    return;
  }
  ProtoReader reader(annotation);
  char open = 0;
  while (reader.next()) {
    const uint32_t field = reader.field();
    if (field == kEntries || field == kValues) {
      const char begin = field == kEntries ? '{' : '[';
      if (open != 0 && open != begin) continue;
      out += open == 0 ? begin : ',';
      open = begin;
      if (field == kEntries) {
        quoted(out, name_of(reader.bytes()));
        out += ':';
      }
      value(out, reader.bytes(), depth + 1);
      continue;
    }
    if (open != 0) continue;
    if (field == kBool) return void(out += reader.number() != 0 ? "true" : "false");
    if (field == kUnsigned) return void(out += std::to_string(reader.number()));
    if (field == kSigned) return void(out += std::to_string(reader.integer()));
    if (field == kReal) return real(out, reader.real());
    if (field == kJson) return json(out, reader.bytes());
    if (field == kText) return quoted(out, reader.bytes());
    if (field == kPointer) return void(out += fmt::format("\"{:#x}\"", reader.number()));
    if (field == kNested) return nested(out, reader.bytes(), depth + 1);
    if (field == kTextIid) {
      return quoted(out, pool.at(sequence.text(PerfettoSequence::kStringValue, reader.number())));
    }
  }
  if (open == 0) {
    out += "null";
  } else {
    out += open == '{' ? '}' : ']';
  }
}

// NestedValue, of older files: 1 type (1 dictionary, 2 array), 2 keys, 3 their values, 4 elements,
// 5 integer, 6 real, 7 bool, 8 text.
void Writer::nested(std::string& out, std::string_view message, int depth) {
  if (depth > kMaxDepth) {
    out += "null";
    return;
  }
  std::vector<std::string_view> keys, values, elements;
  uint64_t type = 0;
  std::string scalar = "null";
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) type = reader.number();
    if (reader.field() == 2) keys.push_back(reader.bytes());
    if (reader.field() == 3) values.push_back(reader.bytes());
    if (reader.field() == 4) elements.push_back(reader.bytes());
    if (reader.field() == 5) scalar = std::to_string(reader.integer());
    if (reader.field() == 6) real(scalar = "", reader.real());
    if (reader.field() == 7) scalar = reader.number() != 0 ? "true" : "false";
    if (reader.field() == 8) quoted(scalar = "", reader.bytes());
  }
  if (type == 0) return void(out += scalar);
  const auto& children = type == 1 ? values : elements;
  out += type == 1 ? '{' : '[';
  for (size_t i = 0; i < children.size(); ++i) {
    if (i > 0) out += ',';
    if (type == 1) {
      quoted(out, i < keys.size() ? keys[i] : std::string_view());
      out += ':';
    }
    nested(out, children[i], depth + 1);
  }
  out += type == 1 ? '}' : ']';
}

// The number in "4", "Agent 4" or "(256,1,1)"; the text ends where it was found.
bool take_number(std::string_view& text, int64_t& number) {
  const size_t begin = text.find_first_of("0123456789");
  if (begin == text.npos) return false;
  const char* const last = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data() + begin, last, number);
  text.remove_prefix(static_cast<size_t>(after - text.data()));
  return error == std::errc();
}

void take_axes(std::string_view text, int64_t (&axes)[3]) {
  int64_t found[3] = {-1, 1, 1};
  for (int64_t& axis : found) {
    if (!take_number(text, axis)) break;
  }
  if (found[0] >= 0) std::copy_n(found, 3, axes);
}

// `text` is a value as JSON.
void take_fact(PerfettoOpFacts& facts, std::string_view name, std::string_view text) {
  struct Number {
    std::string_view name;
    int64_t PerfettoOpFacts::*member;
  };
  static constexpr Number kNumbers[] = {
      {"corr_id", &PerfettoOpFacts::correlation},
      {"dispatch_id", &PerfettoOpFacts::dispatch},
      {"kernel_id", &PerfettoOpFacts::kernel_id},
      {"agent", &PerfettoOpFacts::gpu},
      {"device", &PerfettoOpFacts::gpu},
      {"dst_agent", &PerfettoOpFacts::gpu},
      {"src_agent", &PerfettoOpFacts::source_gpu},
      {"queue", &PerfettoOpFacts::queue},
      {"stream", &PerfettoOpFacts::stream},
      {"stream_ID", &PerfettoOpFacts::stream},
      {"stream_id", &PerfettoOpFacts::stream},
      {"bytes", &PerfettoOpFacts::bytes},
      {"copy_bytes", &PerfettoOpFacts::bytes},
      {"LDS_Block_Size", &PerfettoOpFacts::group_segment_bytes},
      {"group_segment_size", &PerfettoOpFacts::group_segment_bytes},
      {"group_segment_bytes", &PerfettoOpFacts::group_segment_bytes},
      {"Scratch_Size", &PerfettoOpFacts::private_segment_bytes},
      {"private_segment_size", &PerfettoOpFacts::private_segment_bytes},
      {"private_segment_bytes", &PerfettoOpFacts::private_segment_bytes}};
  if (name == "grid_size") return take_axes(text, facts.grid);
  if (name == "workgroup_size") return take_axes(text, facts.group);
  int64_t number = 0;
  std::string_view left = text;
  if (!take_number(left, number)) return;
  facts.has_device |= name == "device";
  facts.has_stream |= name == "stream";
  if (text.front() == '-') number = -number;
  if (const int axis = axis_in(name, "grid_"); axis >= 0) {
    facts.grid[axis] = number;
    facts.grid_in_groups = true;
  }
  if (const int axis = axis_in(name, "group_"); axis >= 0) facts.group[axis] = number;
  for (const Number& known : kNumbers) {
    if (name == known.name) facts.*known.member = number;
  }
}

}  // namespace

int axis_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() != prefix.size() + 1) return -1;
  return name.back() >= 'x' && name.back() <= 'z' ? name.back() - 'x' : -1;
}

PerfettoArgs::PerfettoArgs() : parser_(std::make_unique<simdjson::dom::parser>()) {}
PerfettoArgs::~PerfettoArgs() = default;

void PerfettoArgs::clear() {
  text.clear();
  facts = {};
  marker = false;
  only_text_.clear();
  as_pairs_ = false;
  pairs_.clear();
  count_ = 0;
}

void PerfettoArgs::add(PerfettoSequence& sequence, const TextPool& pool,
                       std::string_view annotation) {
  Writer writer{sequence, pool, *parser_};
  const std::string_view name = writer.name_of(annotation);
  if (name == "marker") {
    marker = true;
    return;
  }
  if (name == "sonde args") {
    as_pairs_ = true;
    return;
  }
  if (as_pairs_) {
    std::optional<int64_t> number;
    read_fields(annotation, ProtoField{kSigned, number});
    pairs_ +=
        fmt::format("{}{} = {}", pairs_.empty() ? "" : " | ", name,
                    number ? std::to_string(*number) : std::string(writer.text_of(annotation)));
    return;
  }
  text += count_++ == 0 ? '{' : ',';
  writer.quoted(text, name);
  text += ':';
  const size_t begin = text.size();
  writer.value(text, annotation, 0);
  take_fact(facts, name, std::string_view(text).substr(begin));
  if (name == "args") only_text_ = valid_utf8(writer.text_of(annotation));
  if (name == "mangled_name") facts.mangled_name = valid_utf8(writer.text_of(annotation));
}

void PerfettoArgs::finish() {
  if (as_pairs_) {
    text = valid_utf8(pairs_);
    return;
  }
  if (count_ > 0) text += '}';
  if (count_ == 1 && !only_text_.empty()) text = std::move(only_text_);
}

}  // namespace sonde::importers
