#include "export/rocprof/compute_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "export/output/sink.h"
#include "store/scan.h"

namespace sonde::exporting {
namespace {

constexpr std::string_view kAccumulated = "_ACCUM";

Status write_text(const std::string& path, std::string_view text) {
  SONDE_ASSIGN(Sink sink, Sink::create(path, Sink::Encoding::kPlain));
  sink.append(text);
  return sink.finish();
}

Result<std::string> metadata(store::Database& database, const std::string& tag) {
  std::string value;
  SONDE_TRY(store::scan(database, "value", "rocpd_metadata WHERE tag = '" + tag + "'", {},
                        [&](const store::Row& row) { value = row.text(0); }));
  return value;
}

// A string of YAML: those of JSON are some.
std::string yaml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The panels that `sonde profile --set` counts for; none are all.
std::vector<std::string> panels_of(std::string_view profile) {
  constexpr std::string_view kSet = "set ";
  if (profile.substr(0, kSet.size()) != kSet) return {};
  const std::string_view set = profile.substr(kSet.size(), profile.find(',') - kSet.size());
  if (set == "sol") return {"2"};
  if (set == "memory") return {"3"};
  if (set == "roofline") return {"4"};
  if (set == "launch") return {"6", "7"};
  return {};
}

std::string config_text(std::string_view command, std::string_view profile, bool has_roofs,
                        const std::string& path) {
  const std::vector<std::string> panels = panels_of(profile);
  std::string text = "filter_blocks:";
  if (panels.empty()) text += " []";
  for (const std::string& panel : panels) text += "\n- " + yaml_text(panel);
  text += "\nformat_rocprof_output: csv\nhip_trace: true\njoin_type: grid\nmode: profile\n";
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(path, error).lexically_normal();
  text += "name: " + yaml_text(folder.filename().string());
  text += fmt::format("\nno_roof: {}\nroof_only: {}\n", !has_roofs,
                      panels == std::vector<std::string>{"4"});
  // The trace has the command as one text.
  return text + "remaining:\n- --\n- " + yaml_text(command) + "\nspatial_multiplexing: null\n";
}

}  // namespace

Result<std::vector<CountedPass>> counted_passes(store::Database& database) {
  std::vector<CountedPass> passes;
  int64_t last = -1;
  SONDE_TRY(store::scan_of(database, "sonde_op_counter", "pass, string",
                           "(SELECT c.pass AS pass, s.string AS string, min(c.rowid) AS first FROM "
                           "sonde_op_counter c JOIN rocpd_string s ON s.id = c.name_id GROUP BY "
                           "c.pass, c.name_id ORDER BY 1, 3)",
                           [&](const store::Row& row) {
                             if (passes.empty() || row.integer(0) != last) passes.emplace_back();
                             last = row.integer(0);
                             passes.back().counters.emplace_back(row.text(1));
                           }));
  size_t number = 0;
  for (CountedPass& pass : passes) {
    for (const std::string& counter : pass.counters) {
      if (!counter.ends_with(kAccumulated)) continue;
      pass.name = counter.substr(0, counter.size() - kAccumulated.size());
    }
    if (pass.name.empty()) pass.name = fmt::format("pmc_perf_{}", number++);
  }
  return passes;
}

Status write_compute_files(store::Database& database, const std::vector<CountedPass>& passes,
                           const std::string& trace, const std::string& path) {
  SONDE_ASSIGN(const std::string command, metadata(database, "sonde::command"));
  SONDE_ASSIGN(const std::string profile, metadata(database, "sonde::profile"));
  SONDE_ASSIGN(const std::string version, metadata(database, "sonde::version"));
  SONDE_ASSIGN(
      const int64_t roofs,
      database.integer("SELECT count(*) FROM rocpd_metadata WHERE tag LIKE 'sonde::roofs::%'"));
  std::string log = fmt::format("made from {} by sonde export\n",
                                std::filesystem::path(trace).filename().string());
  if (!version.empty()) log += fmt::format("recorded by sonde {}: {}\n", version, command);
  if (!profile.empty()) log += "counted: " + profile + "\n";
  log += roofs == 0 ? "roofs: not measured\n" : fmt::format("roofs: of {} GPUs\n", roofs);
  if (!passes.empty()) {
    std::error_code error;
    std::filesystem::create_directory(path + "/perfmon", error);
    if (error) return make_error(ErrorCode::kIo, error.message(), path + "/perfmon");
  }
  for (const CountedPass& pass : passes) {
    const std::string counters = fmt::format("{}", fmt::join(pass.counters, " "));
    log += fmt::format("pass {}: {}\n", pass.name, counters);
    SONDE_TRY(write_text(fmt::format("{}/perfmon/{}.txt", path, pass.name),
                         fmt::format("pmc: {}\n\ngpu:\nrange:\nkernel:\n", counters)));
  }
  SONDE_TRY(
      write_text(path + "/profiling_config.yaml", config_text(command, profile, roofs > 0, path)));
  return write_text(path + "/log.txt", log);
}

}  // namespace sonde::exporting
