#include "config/config_json.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/strings.h"
#include "config/models.h"

namespace softgpu {
namespace {

using Json = nlohmann::ordered_json;
using sonde::ErrorCode;
using sonde::make_error;
using sonde::Result;
using sonde::Status;

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

Result<FaultKind> parse_fault_kind(std::string_view text) {
  std::string known;
  for (const auto& [kind, name] : kFaultKinds) {
    if (name == text) return kind;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return make_error(ErrorCode::kInvalidArgument, "unknown fault '" + std::string(text) + "'", {},
                    "known: " + known);
}

std::string_view fault_name(FaultKind kind) {
  for (const auto& [each, name] : kFaultKinds) {
    if (each == kind) return name;
  }
  return "?";
}

constexpr std::pair<EngineChoice, std::string_view> kEngines[] = {
    {EngineChoice::kAuto, "auto"},
    {EngineChoice::kHost, "host"},
    {EngineChoice::kIsa, "isa"},
    {EngineChoice::kNone, "none"},
};

std::string_view engine_name(EngineChoice engine) {
  for (const auto& [each, name] : kEngines) {
    if (each == engine) return name;
  }
  return "?";
}

// Reads the members of an object. Every read marks its key as known; done() reports the others.
// After the first error, later reads do nothing.
class Reader {
 public:
  Reader(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object_.is_object()) fail("must be an object", "");
  }

  const Json* find(const char* key) {
    known_.insert(key);
    if (failed() || !object_.contains(key)) return nullptr;
    return &object_[key];
  }

  void text(const char* key, std::string& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return fail("must be a string", key);
    out = value->get<std::string>();
  }

  void flag(const char* key, bool& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_boolean()) return fail("must be true or false", key);
    out = value->get<bool>();
  }

  void real(const char* key, double& out) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_number() || value->get<double>() < 0) return fail("must be a number >= 0", key);
    out = value->get<double>();
  }

  // A number, or a text "0x1000" or "16G", which JSON numbers cannot express.
  template <typename T>
  void integer(const char* key, T& out, int64_t least, uint64_t most) {
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

  void fail(std::string message, std::string_view key) {
    if (failed()) return;
    error_ = std::move(message);
    error_place_ = place_ + (key.empty() || place_.empty() ? "" : ".") + std::string(key);
  }
  bool failed() const { return !error_.empty(); }

  Status done(std::string_view file) {
    if (!failed()) {
      for (const auto& item : object_.items()) {
        if (known_.contains(item.key())) continue;
        std::string hint = "known:";
        for (const std::string& key : known_) hint += " " + key;
        fail("unknown key (" + hint + ")", item.key());
      }
    }
    if (!failed()) return sonde::ok_status();
    return make_error(ErrorCode::kBadData, error_place_ + " " + error_, std::string(file));
  }

 private:
  static std::optional<uint64_t> parse_number(const std::string& text) {
    if (!text.starts_with("0x")) return sonde::parse_size(text);
    char* end = nullptr;
    errno = 0;
    const uint64_t value = std::strtoull(text.c_str(), &end, 16);
    if (errno != 0 || *end != 0 || text.size() == 2) return std::nullopt;
    return value;
  }

  const Json& object_;
  std::string place_, error_, error_place_;
  std::set<std::string> known_;
};

constexpr uint64_t kAnyU32 = UINT32_MAX, kAnyI64 = INT64_MAX;

Status read_clock(const Json& json, const std::string& place, std::string_view file,
                  ClockConfig& clock) {
  Reader reader(json, place);
  reader.integer("rate_hz", clock.rate_hz, 1'000'000, 10'000'000'000);
  reader.integer("offset_ticks", clock.offset_ticks, INT64_MIN, kAnyI64);
  reader.integer("drift_ppb", clock.drift_ppb, -10'000'000, 10'000'000);
  return reader.done(file);
}

Status read_time(const Json& json, const std::string& place, std::string_view file,
                 TimeModel& time) {
  Reader reader(json, place);
  reader.flag("real_time", time.real_time);
  reader.integer("kernel_base_ns", time.kernel_base_ns, 0, kAnyI64);
  reader.real("kernel_item_ns", time.kernel_item_ns);
  reader.real("copy_bytes_per_s", time.copy_bytes_per_s);
  if (time.copy_bytes_per_s < 1) reader.fail("must be at least 1", "copy_bytes_per_s");
  reader.integer("copy_base_ns", time.copy_base_ns, 0, kAnyI64);
  return reader.done(file);
}

Result<GpuConfig> read_gpu(const Json& json, const std::string& place, std::string_view file,
                           uint32_t& count) {
  Reader reader(json, place);
  std::string model(kDefaultModel);
  reader.text("model", model);
  auto made = make_gpu(model);
  if (!made) reader.fail(made.error().to_line(), "model");
  GpuConfig gpu = made ? std::move(*made) : GpuConfig();
  reader.integer("count", count, 1, kMaxGpus);
  reader.text("name", gpu.name);
  reader.integer("device_id", gpu.device_id, 1, 0xffff);
  reader.integer("revision", gpu.revision, 0, 0xff);
  reader.integer("compute_units", gpu.compute_units, 1, 1024);
  reader.integer("vram_bytes", gpu.vram_bytes, 64 << 20, uint64_t{1} << 42);
  reader.integer("shader_clock_mhz", gpu.shader_clock_mhz, 1, kAnyU32);
  reader.integer("memory_clock_mhz", gpu.memory_clock_mhz, 1, kAnyU32);
  reader.integer("pci_domain", gpu.pci_domain, 0, 0xffff);
  reader.integer("pci_bus", gpu.pci_bus, 0, 0xff);
  reader.flag("large_bar", gpu.large_bar);
  const Json* clock = reader.find("clock");
  const Json* time = reader.find("time");
  SONDE_TRY(reader.done(file));
  if (clock != nullptr) SONDE_TRY(read_clock(*clock, place + ".clock", file, gpu.clock));
  if (time != nullptr) SONDE_TRY(read_time(*time, place + ".time", file, gpu.time));
  return gpu;
}

Result<FaultRule> read_fault(const Json& json, const std::string& place, std::string_view file) {
  Reader reader(json, place);
  FaultRule rule;
  std::string kind = "memory-fault";
  reader.text("kind", kind);
  auto parsed = parse_fault_kind(kind);
  if (!parsed) reader.fail(parsed.error().to_line(), "kind");
  reader.integer("gpu", rule.gpu, -1, kMaxGpus - 1);
  reader.text("kernel", rule.kernel);
  reader.integer("dispatch", rule.dispatch, 1, kAnyI64);
  reader.integer("address", rule.address, 0, UINT64_MAX);
  SONDE_TRY(reader.done(file));
  rule.kind = *parsed;
  return rule;
}

Json gpu_json(const GpuConfig& gpu) {
  return Json{{"model", gpu.model},
              {"name", gpu.name},
              {"device_id", gpu.device_id},
              {"revision", gpu.revision},
              {"compute_units", gpu.compute_units},
              {"vram_bytes", gpu.vram_bytes},
              {"shader_clock_mhz", gpu.shader_clock_mhz},
              {"memory_clock_mhz", gpu.memory_clock_mhz},
              {"pci_domain", gpu.pci_domain},
              {"pci_bus", gpu.pci_bus},
              {"large_bar", gpu.large_bar},
              {"clock",
               {{"rate_hz", gpu.clock.rate_hz},
                {"offset_ticks", gpu.clock.offset_ticks},
                {"drift_ppb", gpu.clock.drift_ppb}}},
              {"time",
               {{"real_time", gpu.time.real_time},
                {"kernel_base_ns", gpu.time.kernel_base_ns},
                {"kernel_item_ns", gpu.time.kernel_item_ns},
                {"copy_bytes_per_s", gpu.time.copy_bytes_per_s},
                {"copy_base_ns", gpu.time.copy_base_ns}}}};
}

Status read_gpus(const Json& list, std::string_view file, Config& config) {
  if (!list.is_array()) {
    return make_error(ErrorCode::kBadData, "gpus must be a list", std::string(file));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    uint32_t count = 1;
    SONDE_ASSIGN(GpuConfig gpu, read_gpu(list[i], "gpus[" + std::to_string(i) + "]", file, count));
    config.gpus.insert(config.gpus.end(), count, gpu);
  }
  return sonde::ok_status();
}

Status read_faults(const Json& list, std::string_view file, Config& config) {
  if (!list.is_array()) {
    return make_error(ErrorCode::kBadData, "faults must be a list", std::string(file));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    SONDE_ASSIGN(FaultRule rule, read_fault(list[i], "faults[" + std::to_string(i) + "]", file));
    config.faults.push_back(std::move(rule));
  }
  return sonde::ok_status();
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
  const Json* gpus = reader.find("gpus");
  const Json* faults = reader.find("faults");
  reader.text("log", config.log_path);
  reader.text("waves", config.waves_path);
  reader.text("instructions", config.instructions_path);
  reader.integer("sample_every", config.sample_every, 0, 1'000'000'000);
  reader.flag("check_memory", config.check_memory);
  reader.flag("check_races", config.check_races);
  reader.text("coverage", config.coverage_path);
  reader.text("tree", config.tree);
  reader.integer("log_level", config.log_level, 0, 9);
  reader.integer("threads", config.threads, 0, 4096);
  std::string engine(engine_name(config.engine));
  reader.text("engine", engine);
  SONDE_ASSIGN(config.engine, parse_engine(engine));
  std::string kfd = kfd_version_text(config);
  reader.text("kfd", kfd);
  SONDE_ASSIGN(config.kfd_minor, parse_kfd_version(kfd));
  SONDE_TRY(reader.done(name));
  if (gpus != nullptr) {
    SONDE_TRY(read_gpus(*gpus, name, config));
  } else {
    SONDE_ASSIGN(GpuConfig gpu, make_gpu(kDefaultModel));
    config.gpus.push_back(std::move(gpu));
  }
  if (faults != nullptr) SONDE_TRY(read_faults(*faults, name, config));
  return config;
}

Result<Config> read_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) return sonde::errno_error("cannot read the configuration", path, errno);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_config(text, path);
}

std::string config_text(const Config& config) {
  Json json{{"gpus", Json::array()},
            {"faults", Json::array()},
            {"log", config.log_path},
            {"coverage", config.coverage_path},
            {"waves", config.waves_path},
            {"sample_every", config.sample_every},
            {"instructions", config.instructions_path},
            {"check_memory", config.check_memory},
            {"check_races", config.check_races},
            {"tree", config.tree},
            {"log_level", config.log_level},
            {"threads", config.threads},
            {"engine", engine_name(config.engine)},
            {"kfd", kfd_version_text(config)}};
  for (const GpuConfig& gpu : config.gpus) json["gpus"].push_back(gpu_json(gpu));
  for (const FaultRule& rule : config.faults) {
    json["faults"].push_back(Json{{"kind", fault_name(rule.kind)},
                                  {"gpu", rule.gpu},
                                  {"kernel", rule.kernel},
                                  {"dispatch", rule.dispatch},
                                  {"address", rule.address}});
  }
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
  for (const auto& [engine, name] : kEngines) {
    if (name == text) return engine;
  }
  return make_error(ErrorCode::kInvalidArgument, "unknown engine '" + std::string(text) + "'", {},
                    "known: auto, host, isa, none");
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
  SONDE_ASSIGN(rule.kind, parse_fault_kind(rest));
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
  assign_pci_addresses(config.gpus);
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
