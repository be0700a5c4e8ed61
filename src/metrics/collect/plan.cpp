#include "metrics/collect/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "metrics/advice.h"
#include "metrics/panels.h"

namespace sonde::metrics {
namespace {

constexpr std::string_view kAccumulate = "SQ_ACCUM_PREV_HIRES";
constexpr std::string_view kAccumulated = "_ACCUM", kSum = "_sum";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

// "SQ_LEVEL_WAVES": its value of a moment says nothing, so it is added up over cycles.
bool is_level(const CounterInfo& counter) {
  return counter.block == "SQ" && counter.name.find("LEVEL") != std::string::npos;
}

bool can_be_counted(const CounterInfo& counter, const PlanOptions& options) {
  if (options.softgpu && counter.softgpu == "no") return false;
  return std::any_of(options.gpus.begin(), options.gpus.end(),
                     [&](const std::string& gpu) { return counter.events.count(gpu) != 0; });
}

std::string reason_of(const std::map<std::string, uint32_t>& used, const Catalogue& catalogue,
                      size_t levels) {
  std::string fullest;
  uint32_t most = 0;
  for (const auto& [block, count] : used) {
    const uint32_t passes = (count + catalogue.limit(block) - 1) / catalogue.limit(block);
    if (passes > most) {
      most = passes;
      fullest = fmt::format("{} has {} of {} at a time", block, catalogue.limit(block), count);
    }
  }
  if (most <= 1) fullest = levels == 0 ? "each block has room for its own" : "";
  if (levels == 0) return fullest;
  return fmt::format("{}{}{} with levels take{} one each", fullest, fullest.empty() ? "" : "; ",
                     levels == 1 ? std::string("1 counter") : fmt::format("{} counters", levels),
                     levels == 1 ? "s" : "");
}

}  // namespace

const CounterInfo* counter_behind(const Catalogue& catalogue, std::string_view name) {
  name = name.substr(0, name.find('['));
  if (ends_with(name, kSum)) name.remove_suffix(kSum.size());
  if (ends_with(name, kAccumulated)) name.remove_suffix(kAccumulated.size());
  const CounterInfo* counter = catalogue.find(name);
  return counter != nullptr && counter->name == kAccumulate ? nullptr : counter;
}

Plan plan_passes(const Catalogue& catalogue, const Names& wanted, const PlanOptions& options) {
  Plan plan;
  std::set<std::string> chosen;
  for (const std::string& name : wanted) {
    const CounterInfo* counter = counter_behind(catalogue, name);
    if (counter == nullptr || chosen.count(counter->name) != 0) continue;
    if (can_be_counted(*counter, options)) {
      chosen.insert(counter->name);
    } else if (std::find(plan.missing.begin(), plan.missing.end(), counter->name) ==
               plan.missing.end()) {
      plan.missing.push_back(counter->name);
    }
  }
  std::map<std::string, uint32_t> used;  // registers of a block
  std::vector<Pass> levels;
  for (const CounterInfo& counter : catalogue.counters) {
    if (chosen.count(counter.name) == 0) continue;
    if (is_level(counter)) {
      levels.push_back({{counter.name, &counter},
                        {counter.name + std::string(kAccumulated), catalogue.find(kAccumulate)}});
      continue;
    }
    const size_t pass = used[counter.block]++ / catalogue.limit(counter.block);
    if (pass >= plan.passes.size()) plan.passes.resize(pass + 1);
    plan.passes[pass].push_back({counter.name, &counter});
  }
  plan.reason = reason_of(used, catalogue, levels.size());
  plan.passes.insert(plan.passes.end(), levels.begin(), levels.end());
  if (!options.single_pass || plan.passes.size() < 2) return plan;
  for (size_t i = 1; i < plan.passes.size(); ++i) {
    for (const PlannedCounter& each : plan.passes[i]) plan.dropped.push_back(each.name);
  }
  plan.passes.resize(1);
  return plan;
}

Result<Names> names_of_set(const std::string& set, const std::string& gpu) {
  SONDE_ASSIGN(const Definitions definitions, definitions_for(gpu));
  static const std::map<std::string, std::vector<std::string>> kPanels = {
      {"sol", {"2"}}, {"memory", {"3"}}, {"roofline", {}}, {"launch", {"6", "7"}}, {"all", {}}};
  const auto panels = kPanels.find(set);
  if (panels == kPanels.end()) {
    return make_error(ErrorCode::kInvalidArgument, "there is no such set", set,
                      "sol, memory, roofline, launch or all");
  }
  std::vector<const MetricTable*> tables;
  for (const MetricTable& table : definitions.tables) {
    const std::string panel = table.id.substr(0, table.id.find('.'));
    const auto& chosen = panels->second;
    if (set == "all" || std::find(chosen.begin(), chosen.end(), panel) != chosen.end()) {
      tables.push_back(&table);
    }
  }
  Names names = wanted_names(definitions, tables);
  names.merge(advice_names(definitions));
  return names;
}

std::string request_of(const Plan& plan, size_t pass) {
  std::set<std::string> gpus;
  for (const PlannedCounter& each : plan.passes[pass - 1]) {
    for (const auto& [gpu, event] : each.counter->events) gpus.insert(gpu);
  }
  std::string text = std::to_string(pass);
  for (const std::string& gpu : gpus) {
    text += ";" + gpu;
    char separator = '=';
    for (const PlannedCounter& each : plan.passes[pass - 1]) {
      const auto event = each.counter->events.find(gpu);
      if (event == each.counter->events.end()) continue;
      text += fmt::format("{}{}:{}:{}", separator, each.counter->block, event->second, each.name);
      separator = ',';
    }
  }
  return text;
}

}  // namespace sonde::metrics
