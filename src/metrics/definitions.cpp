#include "metrics/definitions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/letters.h"
#include "base/strings.h"
#include "metrics/definition_texts.h"

namespace sonde::metrics {
namespace {

constexpr std::array<std::string_view, 6> kGpus = {"gfx908", "gfx90a", "gfx940",
                                                   "gfx941", "gfx942", "gfx950"};
constexpr std::array<std::string_view, 16> kGpuFacts = {
    "se_per_gpu",       "pipes_per_gpu", "cu_per_gpu",       "simd_per_cu",   "sqc_per_gpu",
    "wave_size",        "max_sclk",      "lds_banks_per_cu", "num_xcd",       "cur_sclk",
    "max_waves_per_cu", "cur_mclk",      "max_mclk",         "total_l2_chan", "per",
    "num_hbm_channels"};

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_gpu(std::string_view word) {
  return std::find(kGpus.begin(), kGpus.end(), word) != kGpus.end();
}

// gfx940 and gfx941 are early forms of gfx942, with the same counters.
bool is_for(std::string_view word, std::string_view gpu) {
  return word == gpu || (word == "gfx942" && (gpu == "gfx940" || gpu == "gfx941"));
}

// "each gfx942 gfx950" -> "each", and whether that is for this GPU.
struct Key {
  std::vector<std::string_view> words;  // without GPUs
  bool is_wanted = true;
};

Key key_of(std::string_view text, std::string_view gpu) {
  Key key;
  bool names_any = false;
  bool names_this = false;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!is_gpu(word)) {
      key.words.push_back(word);
      continue;
    }
    names_any = true;
    names_this = names_this || is_for(word, gpu);
  }
  key.is_wanted = !names_any || names_this;
  return key;
}

struct StatisticsName {
  std::string_view name;
  Statistics statistics;
};
constexpr StatisticsName kStatistics[] = {
    {"mean", Statistics::kMean},       {"mean peak", Statistics::kMeanPeak},
    {"rounded", Statistics::kRounded}, {"mean min max", Statistics::kMeanMinMax},
    {"box", Statistics::kBox},         {"mean deviation min max", Statistics::kMeanDeviation}};

class Reader {
 public:
  Reader(const std::string& place, Definitions& definitions)
      : place_(place), definitions_(definitions) {}

  Status line(std::string_view text) {
    ++row_;
    text = trim(text);
    if (text.empty() || text.front() == '#') return ok_status();
    if (text.front() == '[') return heading(text);
    const size_t equals = text.find(" = ");
    if (equals == text.npos) return wrong("neither [table ID], [metric NAME] nor KEY = TEXT");
    const Key key = key_of(text.substr(0, equals), definitions_.gpu);
    if (key.words.empty()) return wrong("a key is missing before '='");
    const std::string_view value = trim(text.substr(equals + 3));
    if (key.words.size() == 2) return shared(key, value);
    if (metric_ != nullptr) return of_metric(key, value);
    return of_table(key, value);
  }

  // Leaves out the metrics that this GPU does not have and numbers the others.
  void finish() {
    for (MetricTable& table : definitions_.tables) {
      std::erase_if(table.metrics, [&](const Metric& metric) {
        return left_out_.count({table.id, metric.name}) != 0;
      });
      for (size_t i = 0; i < table.metrics.size(); ++i) {
        table.metrics[i].id = fmt::format("{}.{}", table.id, i);
      }
    }
  }

 private:
  Error wrong(const std::string& what) const {
    return make_error(ErrorCode::kInvalidArgument, what, fmt::format("{}:{}", place_, row_));
  }

  Status heading(std::string_view text) {
    constexpr std::string_view kTable = "[table ";
    constexpr std::string_view kMetric = "[metric ";
    if (text.back() != ']') return wrong("']' is missing");
    const std::string_view inside = text.substr(0, text.size() - 1);
    if (inside.substr(0, kTable.size()) == kTable) {
      definitions_.tables.emplace_back();
      definitions_.tables.back().id = inside.substr(kTable.size());
      metric_ = nullptr;
      return ok_status();
    }
    if (inside.substr(0, kMetric.size()) != kMetric) return wrong("neither a table nor a metric");
    if (definitions_.tables.empty()) return wrong("a metric before any table");
    definitions_.tables.back().metrics.emplace_back();
    metric_ = &definitions_.tables.back().metrics.back();
    metric_->name = inside.substr(kMetric.size());
    return ok_status();
  }

  Status of_table(const Key& key, std::string_view value) {
    if (definitions_.tables.empty()) return wrong("a line before any table");
    MetricTable& table = definitions_.tables.back();
    if (key.words[0] == "title") {
      table.title = value;
      return ok_status();
    }
    if (key.words[0] == "rows" && value == "channels") {
      table.per_channel = true;
      return ok_status();
    }
    if (key.words[0] != "columns") return wrong("a table has title, columns and rows = channels");
    for (const StatisticsName& known : kStatistics) {
      if (known.name != value) continue;
      table.statistics = known.statistics;
      return ok_status();
    }
    return wrong("there are no such columns");
  }

  Status of_metric(const Key& key, std::string_view value) {
    const std::string_view word = key.words[0];
    if (word == "gpus") {
      const auto gpus = split(value, ' ');
      const bool is_here = std::any_of(gpus.begin(), gpus.end(), [&](std::string_view gpu) {
        return is_for(gpu, definitions_.gpu);
      });
      if (!is_here) left_out_.insert({definitions_.tables.back().id, metric_->name});
      return ok_status();
    }
    if (!key.is_wanted) return ok_status();
    for (auto [name, text] :
         {std::pair{"unit", &metric_->unit}, std::pair{"about", &metric_->about},
          std::pair{"pass", &metric_->pass}}) {
      if (word == name) {
        *text = value;
        return ok_status();
      }
    }
    if (word != "each" && word != "peak")
      return wrong("a metric has no '" + std::string(word) + "'");
    return formula(value, word == "each" ? metric_->each : metric_->peak);
  }

  Status formula(std::string_view value, Expression& into) {
    SONDE_ASSIGN(into, parse_expression(value, fmt::format("{}:{}", place_, row_)));
    return ok_status();
  }

  Status shared(const Key& key, std::string_view value) {
    const std::string name(key.words[1]);
    if (key.words[0] == "renamed") {
      definitions_.renamed.emplace_back(name, value);
      return ok_status();
    }
    if (!key.is_wanted) return ok_status();
    if (key.words[0] == "per") return formula(value, definitions_.per[name]);
    if (key.words[0] != "let" && key.words[0] != "main") return wrong("unknown kind of line");
    Variable& variable = definitions_.variables[name];
    variable.main = key.words[0] == "main";
    return formula(value, variable.formula);
  }

  const std::string& place_;
  Definitions& definitions_;
  Metric* metric_ = nullptr;
  size_t row_ = 0;
  std::set<std::pair<std::string, std::string>> left_out_;
};

// Depth first; `open` are the variables that are being looked at.
Status check_variables(const Definitions& definitions, const Expression& expression,
                       std::set<std::string>& open, std::set<std::string>& done) {
  for (const std::string& name : expression.names(Op::kVariable)) {
    if (is_gpu_fact(name) || done.count(name) != 0) continue;
    const auto found = definitions.variables.find(name);
    if (found == definitions.variables.end()) {
      return make_error(ErrorCode::kInvalidArgument, "there is no variable $" + name,
                        expression.source);
    }
    if (!open.insert(name).second) {
      return make_error(ErrorCode::kInvalidArgument, "the variable refers to itself", "$" + name);
    }
    SONDE_TRY(check_variables(definitions, found->second.formula, open, done));
    open.erase(name);
    done.insert(name);
  }
  return ok_status();
}

}  // namespace

bool is_gpu_fact(std::string_view name) {
  return std::find(kGpuFacts.begin(), kGpuFacts.end(), name) != kGpuFacts.end();
}

const Metric* Definitions::find(std::string_view id_or_name) const {
  for (const MetricTable& table : tables) {
    for (const Metric& metric : table.metrics) {
      if (metric.id == id_or_name) return &metric;
    }
  }
  for (const MetricTable& table : tables) {
    for (const Metric& metric : table.metrics) {
      if (same_name(metric.name, id_or_name)) return &metric;
    }
  }
  return nullptr;
}

std::vector<std::string> known_gpus() { return {kGpus.begin(), kGpus.end()}; }

Status add_definitions(std::string_view text, const std::string& place, Definitions& definitions) {
  Reader reader(place, definitions);
  for (const std::string_view line : split(text, '\n')) SONDE_TRY(reader.line(line));
  reader.finish();
  return ok_status();
}

Status check_definitions(const Definitions& definitions) {
  std::set<std::string> open, done;
  const auto check = [&](const Expression& expression) {
    return check_variables(definitions, expression, open, done);
  };
  for (const auto& [name, variable] : definitions.variables) {
    open = {name};
    SONDE_TRY(check(variable.formula));
    open.clear();
  }
  for (const auto& [name, formula] : definitions.per) SONDE_TRY(check(formula));
  for (const MetricTable& table : definitions.tables) {
    for (const Metric& metric : table.metrics) {
      SONDE_TRY(check(metric.each));
      SONDE_TRY(check(metric.peak));
    }
  }
  return ok_status();
}

Result<Definitions> definitions_for(std::string_view gpu) {
  if (!is_gpu(gpu)) {
    return make_error(ErrorCode::kUnsupported, "there are no metrics for this kind of GPU",
                      std::string(gpu), fmt::format("known are {}", fmt::join(kGpus, ", ")));
  }
  Definitions definitions;
  definitions.gpu = gpu;
  for (size_t i = 0; i < kDefinitionTexts; ++i) {
    SONDE_TRY(add_definitions(kDefinitionText[i].text, kDefinitionText[i].name, definitions));
  }
  const auto number = [](const MetricTable& table) {
    const auto parts = split(table.id, '.');
    return std::pair(parse_int(parts[0]).value_or(0), parse_int(parts.back()).value_or(0));
  };
  std::sort(definitions.tables.begin(), definitions.tables.end(),
            [&](const MetricTable& a, const MetricTable& b) { return number(a) < number(b); });
  return definitions;
}

}  // namespace sonde::metrics
