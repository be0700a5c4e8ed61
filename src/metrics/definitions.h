// What a metric is, for one kind of GPU: the files of definitions/, which are built into the tool.
// Used by panels.h (which evaluates them) and by `sonde sol --explain`.
//
// A file is lines: [table ID], [metric NAME] and KEY = TEXT, and the shared formulas of
// variables.ini. After the key may stand the GPUs that a line is for; without any it is for all.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "metrics/expression.h"

namespace sonde::metrics {

// Which figures over the dispatches a table has for each metric.
enum class Statistics { kMean, kMeanPeak, kRounded, kMeanMinMax, kMeanDeviation, kBox };

struct Metric {
  std::string id;  // "2.1.4"
  std::string name;
  std::string unit;   // "Req per $": $ is what --per divides by
  std::string about;  // may be empty
  std::string pass;   // the pass whose counters it takes; "" = the main ones
  Expression each;    // of one dispatch; empty where this GPU has no counters for it
  Expression peak;
};

struct MetricTable {
  std::string id;  // "2.1"
  std::string title;
  Statistics statistics = Statistics::kMean;
  bool per_channel = false;  // a row for each channel of the L2, a column for each metric
  std::vector<Metric> metrics;
};

struct Variable {
  Expression formula;
  bool main = false;  // always of the main pass
};

struct Definitions {
  std::string gpu;  // "gfx90a"
  std::vector<MetricTable> tables;
  std::map<std::string, Variable, std::less<>> variables;
  std::map<std::string, Expression, std::less<>> per;        // "wave" ...
  std::vector<std::pair<std::string, std::string>> renamed;  // beginnings of names: new, old

  // By id, or by name ignoring case; "ID NAME" of a table too. nullptr if there is none.
  const Metric* find(std::string_view id_or_name) const;
};

// The GPUs with definitions.
std::vector<std::string> known_gpus();
// Fails for a GPU without definitions.
Result<Definitions> definitions_for(std::string_view gpu);
// Adds the lines of one file; errors name `place`.
Status add_definitions(std::string_view text, const std::string& place, Definitions& definitions);
// Fails where a formula uses a variable that is not there, or that uses itself. `facts` are the
// variables that the GPU gives.
Status check_definitions(const Definitions& definitions);
// Variables that describe the GPU: "cu_per_gpu" ...
bool is_gpu_fact(std::string_view name);

}  // namespace sonde::metrics
