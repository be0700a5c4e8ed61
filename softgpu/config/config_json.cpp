#include "config/config_json.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/number.h"
#include "base/strings.h"
#include "config/models.h"

namespace softgpu {
namespace {

using Json = nlohmann::ordered_json;
using sonde::ErrorCode;
using sonde::make_error;
using sonde::Result;
using sonde::Status;

constexpr uint32_t kFirstBus = 0xc5;

constexpr std::pair<FaultKind, std::string_view> kFaultKinds[] = {
    {FaultKind::kMemoryFault, "memory-fault"},
    {FaultKind::kIllegalInstruction, "illegal-instruction"},
    {FaultKind::kInvalidPacket, "invalid-packet"},
    {FaultKind::kException, "exception"},
    {FaultKind::kApertureViolation, "aperture-violation"},
    {FaultKind::kHang, "hang"},
    {FaultKind::kEcc, "ecc"},
    {FaultKind::kDeviceLost, "device-lost"},
};

constexpr std::pair<EngineChoice, std::string_view> kEngines[] = {
    {EngineChoice::kAuto, "auto"},
    {EngineChoice::kHost, "host"},
    {EngineChoice::kIsa, "isa"},
    {EngineChoice::kNone, "none"},
};

template <class Value>
using Names = std::span<const std::pair<Value, std::string_view>>;

template <class Value>
Result<Value> value_named(Names<Value> names, std::string_view text, const std::string& what) {
  std::string known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return make_error(ErrorCode::kInvalidArgument, "unknown " + what + " '" + std::string(text) + "'",
                    {}, "known: " + known);
}

// The name of a value that has one.
template <class Value>
std::string_view name_of(Names<Value> names, Value value) {
  const auto has_it = [&](const auto& entry) { return entry.first == value; };
  return std::find_if(names.begin(), names.end(), has_it)->second;
}

// Reads the members of an object. Every read marks its key as known; finish() reports the others.
// After the first error, later reads do nothing.
class Reader {
 public:
  Reader(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object_.is_object()) fail("must be an object", "");
  }

  void field(const char* key, std::string& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return fail("must be a string", key);
    out = value->get<std::string>();
  }

  void field(const char* key, bool& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_boolean()) return fail("must be true or false", key);
    out = value->get<bool>();
  }

  void field(const char* key, double& out, int least = 0) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_number() || value->get<double>() < least) {
      return fail("must be a number >= " + std::to_string(least), key);
    }
    out = value->get<double>();
  }

  // A number, or a text "0x1000" or "16G", which JSON numbers cannot express.
  template <typename T>
  void field(const char* key, T& out, int64_t least, uint64_t most) {
    const Json* value = find(key);
    if (value == nullptr) return;
    const std::string range = std::to_string(least) + " to " + std::to_string(most);
    if (value->is_number_unsigned() || value->is_string()) {
      auto number = value->is_string() ? parse_number(value->get<std::string>())
                                       : std::optional(value->get<uint64_t>());
      if (!number || *number > most || (least > 0 && *number < static_cast<uint64_t>(least))) {
        return fail("must be an integer from " + range, key);
      }
      out = static_cast<T>(*number);
    } else if (value->is_number_integer() && value->get<int64_t>() >= least) {
      out = static_cast<T>(value->get<int64_t>());
    } else {
      fail("must be an integer from " + range, key);
    }
  }

  template <class Value>
  void choice(const char* key, Value& out, Names<Value> names, const std::string& what) {
    std::string text(name_of(names, out));
    field(key, text);
    const auto named = value_named(names, text, what);
    if (!named) return fail(named.error().to_line(), key);
    out = *named;
  }

  template <class Value>
  void object(const char* key, Value& out) {
    const Json* value = find(key);
    if (value != nullptr) within(*value, key, [&](Reader& inner) { members(inner, out); });
  }

  // Each object of a list, if there is one: read(Reader&).
  template <class Read>
  void list(const char* key, Read read) {
    const Json* values = find(key);
    if (values == nullptr) return;
    if (!values->is_array()) return fail("must be a list", key);
    for (size_t i = 0; i < values->size(); ++i) {
      within((*values)[i], key + ("[" + std::to_string(i) + "]"), read);
    }
  }

  void fail(std::string message, std::string_view key) {
    if (!failed()) error_ = place_of(key) + " " + std::move(message);
  }
  bool failed() const { return !error_.empty(); }

  // What is wrong, and where; empty if nothing is.
  const std::string& finish() {
    for (const auto& item : object_.items()) {
      if (failed() || known_.contains(item.key())) continue;
      std::string hint = "known:";
      for (const std::string& key : known_) hint += " " + key;
      fail("unknown key (" + hint + ")", item.key());
    }
    return error_;
  }

 private:
  const Json* find(const char* key) {
    known_.insert(key);
    if (failed() || !object_.contains(key)) return nullptr;
    return &object_[key];
  }

  template <class Read>
  void within(const Json& value, std::string_view key, Read read) {
    Reader inner(value, place_of(key));
    read(inner);
    if (!failed()) error_ = inner.finish();
  }

  std::string place_of(std::string_view key) const {
    return place_ + (key.empty() || place_.empty() ? "" : ".") + std::string(key);
  }

  static std::optional<uint64_t> parse_number(std::string_view text) {
    if (!text.starts_with("0x")) return sonde::parse_size(text);
    return sonde::number_in<uint64_t>(text.substr(2), 16);
  }

  const Json& object_;
  std::string place_, error_;
  std::set<std::string> known_;
};

constexpr uint64_t kAnyU32 = UINT32_MAX, kAnyI64 = INT64_MAX;

// The members of each structure, for a Reader and for a Writer.
template <class Object>
void members(Object& json, ClockConfig& clock) {
  json.field("rate_hz", clock.rate_hz, 1'000'000, 10'000'000'000);
  json.field("offset_ticks", clock.offset_ticks, INT64_MIN, kAnyI64);
  json.field("drift_ppb", clock.drift_ppb, -10'000'000, 10'000'000);
}

template <class Object>
void members(Object& json, TimeModel& time) {
  json.field("real_time", time.real_time);
  json.field("kernel_base_ns", time.kernel_base_ns, 0, kAnyI64);
  json.field("kernel_item_ns", time.kernel_item_ns);
  json.field("copy_bytes_per_s", time.copy_bytes_per_s, 1);
  json.field("copy_base_ns", time.copy_base_ns, 0, kAnyI64);
}

template <class Object>
void members(Object& json, GpuConfig& gpu) {
  json.field("model", gpu.model);
  json.field("name", gpu.name);
  json.field("device_id", gpu.device_id, 1, 0xffff);
  json.field("revision", gpu.revision, 0, 0xff);
  json.field("compute_units", gpu.compute_units, 1, 1024);
  json.field("vram_bytes", gpu.vram_bytes, 64 << 20, uint64_t{1} << 42);
  json.field("shader_clock_mhz", gpu.shader_clock_mhz, 1, kAnyU32);
  json.field("memory_clock_mhz", gpu.memory_clock_mhz, 1, kAnyU32);
  json.field("pci_domain", gpu.pci_domain, 0, 0xffff);
  json.field("pci_bus", gpu.pci_bus, 0, 0xff);
  json.field("large_bar", gpu.large_bar);
  json.object("clock", gpu.clock);
  json.object("time", gpu.time);
}

template <class Object>
void members(Object& json, FaultRule& rule) {
  json.choice("kind", rule.kind, Names<FaultKind>(kFaultKinds), "fault");
  json.field("gpu", rule.gpu, -1, kMaxGpus - 1);
  json.field("kernel", rule.kernel);
  json.field("dispatch", rule.dispatch, 1, kAnyI64);
  json.field("address", rule.address, 0, UINT64_MAX);
}

// Besides the lists, and the version of KFD's interface.
template <class Object>
void members(Object& json, Config& config) {
  json.field("log", config.log_path);
  json.field("coverage", config.coverage_path);
  json.field("waves", config.waves_path);
  json.field("sample_every", config.sample_every, 0, 1'000'000'000);
  json.field("instructions", config.instructions_path);
  json.field("check_memory", config.check_memory);
  json.field("check_races", config.check_races);
  json.field("tree", config.tree);
  json.field("log_level", config.log_level, 0, 9);
  json.field("threads", config.threads, 0, 4096);
  json.choice("engine", config.engine, Names<EngineChoice>(kEngines), "engine");
}

class Writer {
 public:
  template <class Value, class... Bounds>
  void field(const char* key, const Value& value, Bounds... /*bounds*/) {
    json_[key] = value;
  }
  template <class Value>
  void choice(const char* key, Value value, Names<Value> names, const char* /*what*/) {
    json_[key] = name_of(names, value);
  }
  template <class Value>
  void object(const char* key, Value& value) {
    json_[key] = json_of(value);
  }

  template <class Value>
  static Json json_of(Value& value) {
    Writer writer;
    members(writer, value);
    return std::move(writer.json_);
  }

 private:
  Json json_ = Json::object();
};

// Appends the GPU, as often as it says.
void read_gpu(Reader& reader, std::vector<GpuConfig>& gpus) {
  uint32_t count = 1;
  std::string model(kDefaultModel);
  reader.field("count", count, 1, kMaxGpus);
  reader.field("model", model);
  auto gpu = make_gpu(model);
  if (!gpu) return reader.fail(gpu.error().to_line(), "model");
  members(reader, *gpu);
  gpus.insert(gpus.end(), count, *gpu);
}

std::string kfd_version_text(const Config& config) {
  return "1." + std::to_string(config.kfd_minor);
}

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    return make_error(ErrorCode::kBadData, std::string("not JSON: ") + error.what(),
                      std::string(name));
  }
  Config config;
  Reader reader(json, "");
  std::string kfd = kfd_version_text(config);
  reader.field("kfd", kfd);
  reader.list("gpus", [&](Reader& gpu) { read_gpu(gpu, config.gpus); });
  reader.list("faults", [&](Reader& fault) { members(fault, config.faults.emplace_back()); });
  members(reader, config);
  const std::string& wrong = reader.finish();
  if (!wrong.empty()) return make_error(ErrorCode::kBadData, wrong, std::string(name));
  SONDE_ASSIGN(config.kfd_minor, parse_kfd_version(kfd));
  if (!json.contains("gpus")) {
    SONDE_ASSIGN(GpuConfig gpu, make_gpu(kDefaultModel));
    config.gpus.push_back(std::move(gpu));
  }
  return config;
}

Result<Config> read_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) return sonde::errno_error("cannot read the configuration", path, errno);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_config(text, path);
}

std::string config_text(Config config) {
  Json json{{"gpus", Json::array()}, {"faults", Json::array()}};
  for (GpuConfig& gpu : config.gpus) json["gpus"].push_back(Writer::json_of(gpu));
  for (FaultRule& rule : config.faults) json["faults"].push_back(Writer::json_of(rule));
  json.update(Writer::json_of(config));
  json["kfd"] = kfd_version_text(config);
  return json.dump(2) + "\n";
}

Result<std::vector<GpuConfig>> parse_gpu_option(std::string_view text) {
  const size_t colon = text.find(':');
  int64_t count = 1;
  if (colon != std::string_view::npos) {
    count = sonde::parse_int(text.substr(colon + 1)).value_or(-1);
    if (count < 0 || count > kMaxGpus) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--gpu " + std::string(text) + ": the number of GPUs must be 0 to 8");
    }
  }
  SONDE_ASSIGN(GpuConfig gpu, make_gpu(text.substr(0, colon)));
  return std::vector<GpuConfig>(static_cast<size_t>(count), gpu);
}

Result<EngineChoice> parse_engine(std::string_view text) {
  return value_named<EngineChoice>(kEngines, text, "engine");
}

Result<uint32_t> parse_kfd_version(std::string_view text) {
  const auto minor =
      text.starts_with("1.") ? sonde::parse_int(text.substr(2)) : std::optional<int64_t>();
  if (!minor || *minor < kFirstKfdMinor || *minor > kLastKfdMinor) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "unknown version '" + std::string(text) + "' of KFD's interface", {},
        "known: 1." + std::to_string(kFirstKfdMinor) + " to 1." + std::to_string(kLastKfdMinor));
  }
  return static_cast<uint32_t>(*minor);
}

Result<FaultRule> parse_fault_option(std::string_view text) {
  FaultRule rule;
  std::string_view rest = text;
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos) {
    const auto number = sonde::parse_int(rest.substr(colon + 1));
    if (!number || *number < 1) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "--fault " + std::string(text) + ": expected the number of a dispatch after ':'", {},
          "example: memory-fault@saxpy:3");
    }
    rule.dispatch = static_cast<uint64_t>(*number);
    rest = rest.substr(0, colon);
  }
  const size_t at = rest.find('@');
  if (at != std::string_view::npos) {
    rule.kernel = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  SONDE_ASSIGN(rule.kind, value_named<FaultKind>(kFaultKinds, rest, "fault"));
  return rule;
}

Status finish_config(Config& config) {
  if (config.gpus.size() > kMaxGpus) {
    return make_error(ErrorCode::kInvalidArgument,
                      std::to_string(config.gpus.size()) + " GPUs: at most 8 can be shown");
  }
  std::set<std::pair<uint32_t, uint32_t>> addresses;
  for (const GpuConfig& gpu : config.gpus) {
    if (gpu.pci_bus != 0 && !addresses.emplace(gpu.pci_domain, gpu.pci_bus).second) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "two GPUs have the same PCI address (pci_bus " + std::to_string(gpu.pci_bus) + ")", {},
          "give each its own pci_bus, or none");
    }
  }
  uint32_t bus = kFirstBus;
  for (GpuConfig& gpu : config.gpus) {
    if (gpu.pci_bus != 0) continue;
    while (!addresses.emplace(gpu.pci_domain, bus).second) ++bus;
    gpu.pci_bus = bus;
  }
  for (const FaultRule& rule : config.faults) {
    if (rule.gpu >= static_cast<int32_t>(config.gpus.size())) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "a fault is for GPU " + std::to_string(rule.gpu) + ", which does not exist");
    }
  }
  return sonde::ok_status();
}

}  // namespace softgpu
