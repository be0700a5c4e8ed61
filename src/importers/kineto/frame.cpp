#include "importers/kineto/frame.h"

#include <simdjson.h>

#include "base/strings.h"

namespace sonde::importers {

namespace {

namespace dom = simdjson::dom;

std::optional<int64_t> integer(dom::element element) {
  int64_t value = 0;
  if (element.get(value) == simdjson::SUCCESS) return value;
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) return parse_int(text);
  return std::nullopt;
}

std::optional<int64_t> integer_at(dom::object object, const char* key) {
  dom::element element;
  if (object[key].get(element) != simdjson::SUCCESS) return std::nullopt;
  return integer(element);
}

void take_devices(dom::element element, Frame& frame) {
  dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return;
  for (const dom::element item : array) {
    dom::object object;
    if (item.get(object) != simdjson::SUCCESS) continue;
    Frame::Device device;
    device.id = integer_at(object, "id").value_or(static_cast<int64_t>(frame.devices.size()));
    std::string_view name;
    if (object["name"].get(name) == simdjson::SUCCESS) device.name = name;
    device.memory_bytes = integer_at(object, "totalGlobalMem");
    device.compute_units = integer_at(object, "numSms");
    frame.devices.push_back(std::move(device));
  }
}

std::string text_of(dom::element element) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) return std::string(text);
  return simdjson::minify(element);
}

}  // namespace

Frame parse_frame(std::string_view json) {
  Frame frame;
  if (json.empty()) return frame;
  dom::parser parser;
  dom::object object;
  const simdjson::padded_string padded(valid_utf8(json));
  if (parser.parse(padded).get(object) != simdjson::SUCCESS) {
    frame.broken = true;
    return frame;
  }
  std::optional<int64_t> realtime_ns;
  bool monotonic = false;
  for (const auto [key, value] : object) {
    if (key == "traceEvents") continue;
    if (key == "realtimeNanoseconds") realtime_ns = integer(value);
    if (key == "clock") monotonic = text_of(value) == "CLOCK_MONOTONIC";
    if (key == "deviceProperties") take_devices(value, frame);
    if (key == "baseTimeNanoseconds") frame.base_ns = integer(value);
    if (key == "distributedInfo") {
      dom::object info;
      if (value.get(info) == simdjson::SUCCESS) frame.rank = integer_at(info, "rank");
    }
    if (starts_with_any(key, {"roctracer_", "hip_", "rocprofiler_"})) frame.is_amd = true;
    if (starts_with_any(key, {"cuda_", "cupti_"})) frame.is_nvidia = true;
    frame.notes.emplace_back(key, text_of(value));
  }
  if (monotonic) frame.base_ns = realtime_ns;  // the base is not a time of day
  return frame;
}

}  // namespace sonde::importers
