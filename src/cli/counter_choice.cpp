#include "cli/counter_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/strings.h"

namespace sonde::cli {
namespace {

using metrics::Names;

constexpr const char* kSoftwareGpu = "gfx90a";  // of softgpu without options

// 90010 is gfx90a: major, minor and stepping, two decimal digits each.
std::string gpu_of_version(int64_t version) {
  if (version <= 0) return "";
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

Result<std::vector<std::string>> chosen_gpus(const Arguments& arguments, bool softgpu) {
  std::vector<std::string> gpus = arguments.values("gpu");
  if (gpus.empty() && softgpu) gpus = {kSoftwareGpu};
  if (gpus.empty()) gpus = gpus_of_this_machine();
  if (!gpus.empty()) return gpus;
  return make_error(ErrorCode::kNotFound, "no AMD GPU is visible here", "",
                    "--gpu gfx90a plans for that GPU; --softgpu runs without one");
}

// What --counter names. An unknown name is an error.
Result<Names> named_counters(const Arguments& arguments, const metrics::Catalogue& catalogue) {
  Names names;
  for (const std::string& text : arguments.values("counter")) {
    for (const std::string_view part : split(text, ',')) {
      const std::string name(trim(part));
      if (name.empty()) continue;
      if (metrics::counter_behind(catalogue, name) == nullptr) {
        return make_error(ErrorCode::kInvalidArgument, "there is no such counter", name,
                          "sonde avail --category counters lists them");
      }
      names.insert(name);
    }
  }
  return names;
}

Status add_set(const std::string& set, const std::vector<std::string>& gpus, Names& names) {
  for (const std::string& gpu : gpus) {
    auto of_set = metrics::names_of_set(set, gpu);
    if (!of_set) {
      Error error = std::move(of_set).error();
      error.hint = "name counters with --counter";
      return error;
    }
    names.merge(*of_set);
  }
  return ok_status();
}

}  // namespace

std::vector<std::string> gpus_of_this_machine(const std::string& sys_root) {
  std::vector<std::string> gpus;
  std::error_code error;
  const std::filesystem::path nodes = sys_root + "/class/kfd/kfd/topology/nodes";
  for (const auto& node : std::filesystem::directory_iterator(nodes, error)) {
    std::ifstream file(node.path() / "properties");
    std::string key;
    for (int64_t value = 0; file >> key >> value;) {
      const std::string gpu = key == "gfx_target_version" ? gpu_of_version(value) : "";
      if (!gpu.empty() && std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) {
        gpus.push_back(gpu);
      }
    }
  }
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

Status check_gpu_access() {
  constexpr const char* kDriver = "/dev/kfd";
  if (::access(kDriver, F_OK) != 0 || ::access(kDriver, R_OK | W_OK) == 0) return ok_status();
  return make_error(ErrorCode::kUnsupported, "cannot be opened, so no kernel can be counted",
                    kDriver, "add yourself to group render");
}

Result<CounterChoice> choose_counters(const Arguments& arguments, bool softgpu) {
  CounterChoice choice;
  SONDE_ASSIGN(choice.catalogue, metrics::counter_catalogue());
  SONDE_ASSIGN(choice.gpus, chosen_gpus(arguments, softgpu));
  SONDE_ASSIGN(Names names, named_counters(arguments, choice.catalogue));
  choice.set = arguments.value_or("set", names.empty() ? "sol" : "");
  if (!choice.set.empty()) SONDE_TRY(add_set(choice.set, choice.gpus, names));
  metrics::PlanOptions options;
  options.gpus = choice.gpus;
  options.softgpu = softgpu;
  options.single_pass = arguments.flag("single-pass");
  choice.plan = metrics::plan_passes(choice.catalogue, names, options);
  if (!choice.plan.passes.empty()) return choice;
  return make_error(ErrorCode::kUnsupported, "none of these counters can be counted",
                    fmt::format("{}", fmt::join(choice.gpus, ", ")),
                    "sonde avail --category counters lists what can");
}

}  // namespace sonde::cli
