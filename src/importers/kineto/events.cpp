#include "importers/kineto/events.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "importers/input/decimal.h"
#include "importers/input/json_scan.h"

namespace sonde::importers {

namespace {

namespace od = simdjson::ondemand;
using simdjson::error_code;

constexpr int kMicroseconds = 3;    // powers of ten above a nanosecond
constexpr size_t kLongestKey = 16;  // of the arguments that are looked at

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// A number or word as it stands in the text, without the blanks after it.
std::string_view trimmed(std::string_view token) {
  while (!token.empty() && is_blank(token.back())) token.remove_suffix(1);
  return token;
}

// The same of one that may be a text in quotes.
std::string_view without_quotes(std::string_view token) {
  token = trimmed(token);
  return token.size() >= 2 && token.front() == '"' ? token.substr(1, token.size() - 2) : token;
}

// The integer in "12"; rounds fractions.
int64_t integer_of(std::string_view token) {
  return decimal_to_int(without_quotes(token), 0).value_or(LaunchArgs::kNone);
}

uint8_t spelling_of(std::string_view category) {
  uint8_t spelling = 0;
  while (spelling < kNoName && kCategories[spelling].text != category) ++spelling;
  return spelling;
}

}  // namespace

struct EventParser::Impl {
  explicit Impl(const Wants& wanted) : wants(wanted) {}

  Wants wants;
  od::parser parser, args_parser;
  EventBatch* batch = nullptr;
  bool may_have_nan = false;  // the window has such a word somewhere

  bool parse_array(std::string_view text);
  void parse_singly(std::string_view text);
  error_code parse_one(std::string_view text, uint32_t offset);
  error_code parse_event(od::object& object, uint32_t offset);
  error_code parse_field(od::field& field, Event& event, uint32_t& seen);
  error_code text_of(od::value value, std::string_view& text);
  error_code number_or_text(od::value value, int64_t& number, std::string_view& text);
  error_code time_of(od::value value, int64_t& ns, bool& known, uint32_t offset);
  error_code parse_args(od::value value, Event& event);
  error_code parse_id2(od::value value, Event& event);
  void parse_launch(Event& event);
  error_code launch_field(std::string_view key, od::value value, LaunchArgs& launch);
  bool wanted(const Event& event) const;
  void keep(Event& event);
  std::string_view copy(std::string_view text);
  std::string_view without_nan(std::string_view args);
};

std::string_view EventParser::Impl::copy(std::string_view text) {
  auto& memory = batch->texts.emplace_back(new char[text.size() + simdjson::SIMDJSON_PADDING]);
  text.copy(memory.get(), text.size());
  std::memset(memory.get() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
  return {memory.get(), text.size()};
}

// An object or array where a text is expected.
error_code raw_text(od::value value, std::string_view token, std::string_view& text) {
  if (!token.empty() && token.front() == '{') {
    od::object object;
    if (const error_code error = value.get_object().get(object)) return error;
    return object.raw_json().get(text);
  }
  if (!token.empty() && token.front() == '[') {
    od::array array;
    if (const error_code error = value.get_array().get(array)) return error;
    return array.raw_json().get(text);
  }
  return simdjson::SUCCESS;
}

// The inside of a string. Most have no escapes and stay where they are.
error_code EventParser::Impl::text_of(od::value value, std::string_view& text) {
  const std::string_view token = trimmed(value.raw_json_token());
  if (token.size() < 2 || token.front() != '"') {
    text = token == "null" ? std::string_view() : token;
    return raw_text(value, token, text);
  }
  text = token.substr(1, token.size() - 2);
  if (std::memchr(text.data(), '\\', text.size()) == nullptr) return simdjson::SUCCESS;
  std::string_view unescaped;
  if (const error_code error = value.get_string().get(unescaped)) return error;
  text = copy(unescaped);
  return simdjson::SUCCESS;
}

error_code EventParser::Impl::number_or_text(od::value value, int64_t& number,
                                             std::string_view& text) {
  const std::string_view token = trimmed(value.raw_json_token());
  const auto parsed = decimal_to_int(token, 0);
  if (parsed) {
    number = *parsed;
    text = {};
    return simdjson::SUCCESS;
  }
  if (const error_code error = text_of(value, text)) return error;
  if (const auto inside = decimal_to_int(text, 0)) {  // "12" is 12 for every viewer
    number = *inside;
    text = {};
  } else if (text.empty()) {
    text = "\"\"";  // "" is a place of its own
  }
  return simdjson::SUCCESS;
}

error_code EventParser::Impl::time_of(od::value value, int64_t& ns, bool& known, uint32_t offset) {
  const std::string_view token = without_quotes(value.raw_json_token());
  const auto time = decimal_to_int(token, kMicroseconds);
  known = time.has_value();
  ns = time.value_or(0);
  if (!known && token != "null") batch->problems.bad_time.add(offset);
  return simdjson::SUCCESS;
}

error_code EventParser::Impl::launch_field(std::string_view key, od::value value,
                                           LaunchArgs& launch) {
  const auto triple = [](od::value from, int64_t(&to)[3]) -> error_code {
    od::array array;
    if (from.get_array().get(array) != simdjson::SUCCESS) return simdjson::SUCCESS;  // no triple
    size_t i = 0;
    for (auto item : array) {
      od::value element;
      if (const error_code error = item.get(element)) return error;
      if (i < 3) to[i++] = integer_of(element.raw_json_token());
    }
    return simdjson::SUCCESS;
  };
  const auto integer = [&](int64_t& to) {
    to = integer_of(value.raw_json_token());
    return simdjson::SUCCESS;
  };
  if (key == "device") return integer(launch.device);
  if (key == "stream") return integer(launch.stream);
  if (key == "correlation") return integer(launch.correlation);
  if (key == "bytes" || key == "size") return integer(launch.bytes);
  if (key == "context") return integer(launch.context);
  if (key == "queued") return integer(launch.queued);
  if (key == "shared memory") return integer(launch.shared_bytes);
  if (key == "grid") return triple(value, launch.grid);
  if (key == "block") return triple(value, launch.block);
  if (key == "work items") return triple(value, launch.items);
  if (key == "private memory") return integer(launch.private_bytes);
  if (key == "status") return integer(launch.status);
  if (key == "kind") return text_of(value, launch.kind);
  if (key == "kernel") return text_of(value, launch.kernel);
  return simdjson::SUCCESS;
}

void EventParser::Impl::parse_launch(Event& event) {
  od::document document;
  od::object args;
  if (event.args.empty() ||
      args_parser
              .iterate(event.args.data(), event.args.size(),
                       event.args.size() + simdjson::SIMDJSON_PADDING)
              .get(document) != simdjson::SUCCESS ||
      document.get_object().get(args) != simdjson::SUCCESS) {
    return;
  }
  LaunchArgs launch;
  for (auto item : args) {
    od::field field;
    if (std::move(item).get(field) != simdjson::SUCCESS) break;
    const char* raw = field.key().raw();
    const void* end = std::memchr(raw, '"', kLongestKey + 1);
    if (end == nullptr) continue;
    const std::string_view key(raw, static_cast<size_t>(static_cast<const char*>(end) - raw));
    if (launch_field(key, field.value(), launch) != simdjson::SUCCESS) break;
  }
  event.launch = static_cast<int32_t>(batch->launches.size());
  batch->launches.push_back(launch);
}

// NaN and Infinity, which Python's json module writes, make the arguments unreadable as JSON.
std::string_view EventParser::Impl::without_nan(std::string_view args) {
  if (args.find("NaN") == args.npos && args.find("Infinity") == args.npos) return args;
  std::string fixed;
  bool in_string = false;
  bool changed = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const char c = args[i];
    if (in_string && c == '\\') fixed += args[i++];
    if (c == '"') in_string = !in_string;
    const std::string_view rest = args.substr(i);
    size_t word = 0;
    for (const std::string_view name : {"NaN", "-Infinity", "Infinity"}) {
      if (!in_string && rest.substr(0, name.size()) == name) word = name.size();
    }
    if (word > 0) {
      fixed += "null";
      i += word - 1;
      changed = true;
    } else if (i < args.size()) {
      fixed += args[i];
    }
  }
  return changed ? copy(fixed) : args;
}

error_code EventParser::Impl::parse_args(od::value value, Event& event) {
  od::object object;
  const error_code error = value.get_object().get(object);
  if (error == simdjson::INCORRECT_TYPE) {  // a number or a text: kept as it is
    event.args = trimmed(value.raw_json_token());
    return simdjson::SUCCESS;
  }
  if (error) return error;
  return object.raw_json().get(event.args);
}

// {"local":"0x1"} or {"global":"0x1"}
error_code EventParser::Impl::parse_id2(od::value value, Event& event) {
  od::object object;
  const error_code error = value.get_object().get(object);
  if (error) return error == simdjson::INCORRECT_TYPE ? simdjson::SUCCESS : error;
  for (auto item : object) {
    od::field field;
    if (const error_code broken = std::move(item).get(field)) return broken;
    const bool local = field.key() == "local";
    if (!local && !(field.key() == "global")) continue;
    event.local_id = local;
    if (const error_code broken = text_of(field.value(), event.id)) return broken;
  }
  return simdjson::SUCCESS;
}

error_code EventParser::Impl::parse_field(od::field& field, Event& event, uint32_t& seen) {
  const char* raw = field.key().raw();
  const auto is = [raw](std::string_view key) {
    return std::memcmp(raw, key.data(), key.size()) == 0 && raw[key.size()] == '"';
  };
  const auto once = [&](uint32_t bit) {
    if ((seen & bit) != 0) batch->problems.twice.add(event.offset);
    seen |= bit;
  };
  od::value value = field.value();
  const auto text = [&](uint32_t bit, std::string_view& to) {
    once(bit);
    return text_of(value, to);
  };
  switch (raw[0]) {
    case 'p':
      if (is("ph")) {
        std::string_view phase;
        if (const error_code error = text(1, phase)) return error;
        event.phase = phase.size() == 1 ? phase[0] : '?';
      } else if (is("pid")) {
        once(2);
        return number_or_text(value, event.pid, event.pid_text);
      }
      return simdjson::SUCCESS;
    case 'c':
      if (!is("cat")) return simdjson::SUCCESS;
      if (const error_code error = text(4, event.category_text)) return error;
      event.spelling = spelling_of(event.category_text);
      event.category = kCategories[event.spelling].category;
      return simdjson::SUCCESS;
    case 'n':
      return is("name") ? text(8, event.name) : simdjson::SUCCESS;
    case 't':
      if (is("tid")) {
        once(16);
        event.has_tid = true;
        return number_or_text(value, event.tid, event.tid_text);
      }
      if (!is("ts")) return simdjson::SUCCESS;
      once(32);
      return time_of(value, event.ts, event.has_ts, event.offset);
    case 'd':
      if (!is("dur")) return simdjson::SUCCESS;
      once(64);
      return time_of(value, event.dur, event.has_dur, event.offset);
    case 'a':
      if (!is("args")) return simdjson::SUCCESS;
      once(128);
      return parse_args(value, event);
    case 'i':
      if (is("id2")) return parse_id2(value, event);
      return is("id") ? text(256, event.id) : simdjson::SUCCESS;
    case 's':
      return is("scope") ? text(512, event.scope) : simdjson::SUCCESS;
    default:
      return simdjson::SUCCESS;
  }
}

bool EventParser::Impl::wanted(const Event& event) const {
  if (wants.others) return true;
  if (is_gpu_op(event.category) && event.phase == 'X') return wants.ops;
  if (event.category == Category::kRuntime && wants.op_details) return true;
  if (event.phase == 'M') return true;  // they also say what the other events are
  if (event.phase == 'C') return wants.sensors;
  return wants.apis && event.phase != 's' && event.phase != 'f' && event.phase != 't';
}

void EventParser::Impl::keep(Event& event) {
  if (may_have_nan && !event.args.empty()) {
    const std::string_view fixed = without_nan(event.args);
    if (fixed.data() != event.args.data()) {
      batch->problems.not_json.add(event.offset);
      event.args = fixed;
    }
  }
  if (is_gpu_op(event.category) || event.category == Category::kRuntime) parse_launch(event);
  batch->events.push_back(event);
}

error_code EventParser::Impl::parse_event(od::object& object, uint32_t offset) {
  Event event;
  event.offset = offset;
  uint32_t seen = 0;
  for (auto item : object) {
    od::field field;
    if (const error_code error = std::move(item).get(field)) return error;
    if (const error_code error = parse_field(field, event, seen)) return error;
    // Phase and category come first in most files: then the rest need not be looked at.
    constexpr uint32_t kPhaseAndCategory = 1 | 4;
    if (!wants.others && (seen & kPhaseAndCategory) == kPhaseAndCategory && !wanted(event)) {
      return simdjson::SUCCESS;
    }
  }
  if (seen == 0 || !wanted(event)) return simdjson::SUCCESS;  // {}: some tools begin with it
  keep(event);
  return simdjson::SUCCESS;
}

// The whole window at once. False if something in it is not valid JSON.
bool EventParser::Impl::parse_array(std::string_view text) {
  od::document document;
  od::array array;
  if (parser.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
              .get(document) != simdjson::SUCCESS ||
      document.get_array().get(array) != simdjson::SUCCESS) {
    return false;
  }
  for (auto item : array) {
    od::value element;
    if (std::move(item).get(element) != simdjson::SUCCESS) return false;
    const char* at = element.raw_json_token().data();
    od::object object;
    const error_code error = element.get_object().get(object);
    const auto offset = static_cast<uint32_t>(at - text.data());
    if (error == simdjson::INCORRECT_TYPE) {
      batch->problems.not_objects.add(offset);
    } else if (error != simdjson::SUCCESS || parse_event(object, offset) != simdjson::SUCCESS) {
      return false;
    }
  }
  return true;
}

error_code EventParser::Impl::parse_one(std::string_view text, uint32_t offset) {
  od::document document;
  od::object object;
  if (const error_code error =
          parser.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
              .get(document)) {
    return error;
  }
  if (const error_code error = document.get_object().get(object)) {
    if (error != simdjson::INCORRECT_TYPE) return error;
    batch->problems.not_objects.add(offset);
    return simdjson::SUCCESS;
  }
  return parse_event(object, offset);
}

namespace {

// The end of the element that begins at `at`: after its closing bracket, or before the next comma.
size_t element_end(std::string_view text, size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth <= 0) return depth < 0 ? at : at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return text.size();
}

// Control characters in texts become blanks; outside of texts they are blanks already.
std::string repaired(std::string_view text) {
  std::string fixed = valid_utf8(text);
  for (char& c : fixed) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return fixed;
}

}  // namespace

// One event after the other, each for itself, so that a broken one costs no other.
void EventParser::Impl::parse_singly(std::string_view text) {
  const std::string_view inside = text.substr(1, text.size() - 2);
  for (size_t at = 0; at < inside.size();) {
    if (is_blank(inside[at]) || inside[at] == ',') {
      ++at;
      continue;
    }
    const size_t end = std::max(element_end(inside, at), at + 1);
    const std::string_view element = inside.substr(at, end - at);
    const auto offset = static_cast<uint32_t>(at + 1);
    const size_t events = batch->events.size();
    error_code error = parse_one(element, offset);
    if (error != simdjson::SUCCESS) {
      batch->events.resize(events);
      const std::string fixed = repaired(element);
      if (fixed != element) {
        error = parse_one(copy(fixed), offset);
        if (error == simdjson::SUCCESS) batch->problems.bad_text.add(offset);
      }
    }
    if (error != simdjson::SUCCESS) {
      batch->events.resize(events);
      batch->problems.broken.add(offset);
    }
    at = end;
  }
}

EventParser::EventParser(const Wants& wants) : impl_(std::make_unique<Impl>(wants)) {}
EventParser::EventParser(EventParser&&) noexcept = default;
EventParser::~EventParser() = default;

EventBatch EventParser::parse(JsonWindow window) {
  EventBatch batch;
  batch.window = std::move(window);
  const std::string_view text = batch.window.text();
  impl_->batch = &batch;
  impl_->may_have_nan = impl_->wants.args && has_word_for_no_number(text);
  if (!impl_->parse_array(text)) {
    batch.events.clear();
    batch.launches.clear();
    batch.problems = {};
    impl_->parse_singly(text);
  }
  impl_->batch = nullptr;
  return batch;
}

}  // namespace sonde::importers
