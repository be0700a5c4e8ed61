#include "cli/scraped_job.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/strings.h"
#include "http/server.h"
#include "record/backend.h"

namespace sonde::cli {

namespace {

constexpr double kHoldsS = 300;  // of a value without a next one, as in Prometheus

struct Series {
  std::map<std::string, std::string> labels;
  std::vector<std::pair<double, double>> values;  // seconds since 1970, value
};

std::string escaped(std::string_view text) {
  std::string url;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

// A text within quotes of a query.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

double number_in(std::string_view text) {
  double value = NAN;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<std::vector<Series>> parse(const std::string& answer, const std::string& url) {
  std::vector<Series> found;
  try {
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.parse(answer);
    for (const simdjson::dom::object each : root["data"]["result"].get_array()) {
      Series series;
      for (const auto& [name, value] : each["metric"].get_object()) {
        series.labels[std::string(name)] = std::string(std::string_view(value));
      }
      for (const simdjson::dom::array pair : each["values"].get_array()) {
        const double value = number_in(std::string_view(pair.at(1)));
        if (std::isfinite(value)) series.values.emplace_back(double(pair.at(0)), value);
      }
      found.push_back(std::move(series));
    }
  } catch (const simdjson::simdjson_error& error) {
    return make_error(ErrorCode::kBadData, fmt::format("unexpected answer: {}", error.what()), url,
                      "give the URL of a Prometheus or VictoriaMetrics server");
  }
  return found;
}

class Server {
 public:
  explicit Server(std::string url) : url_(std::move(url)) {
    while (url_.ends_with('/')) url_.pop_back();
  }
  // Every value that a metric had in the time before `at_s`, or before now where that is 0.
  Result<std::vector<Series>> values(const std::string& metric, const std::string& time,
                                     double at_s) const {
    std::string url = url_ + "/api/v1/query?query=" + escaped(metric + "[" + time + "]");
    if (at_s > 0) url += fmt::format("&time={:.3f}", at_s);
    const std::string library = record::library_folder() + "/tool/libsonde-http.so";
    SONDE_ASSIGN(const std::string answer, http::get(library, url, ""));
    return parse(answer, url_);
  }

 private:
  std::string url_;
};

struct Source {
  watch::JobFigure figure;
  const char* metric;
};
constexpr Source kSources[] = {
    {watch::JobFigure::kBusy, "rocm_utilization_percentage"},
    {watch::JobFigure::kMemory, "rocm_vram_used_percentage"},
    {watch::JobFigure::kPower, "rocm_average_socket_power_watts"},
    {watch::JobFigure::kTemperature, "rocm_temperature_celsius"},
};

std::string label(const Series& series, const char* name) {
  const auto found = series.labels.find(name);
  return found == series.labels.end() ? "" : found->second;
}

int64_t card_of(const Series& series) { return parse_int(label(series, "card")).value_or(0); }

// Of a card that has a series of its hottest place, the junction, the others are left out.
void keep_hottest_places(std::vector<Series>& found) {
  const auto is_hottest = [](const Series& each) { return label(each, "location") == "junction"; };
  std::set<int64_t> cards;
  for (const Series& each : found) {
    if (is_hottest(each) && !each.values.empty()) cards.insert(card_of(each));
  }
  std::erase_if(found, [&](const Series& each) {
    return !is_hottest(each) && cards.count(card_of(each)) != 0;
  });
}

struct Span {
  double begin_s = INFINITY, end_s = -INFINITY;
};

class Collector {
 public:
  Collector(const Server& server, watch::Job& job) : server_(server), job_(job) {}

  Status add_node(const std::string& instance, const Span& span) {
    const std::string time =
        fmt::format("{}s", static_cast<int64_t>(span.end_s - span.begin_s) + 1);
    const std::string which = "{instance=" + quoted(instance) + "}";
    const double end_s = span.end_s;
    std::map<int64_t, double> total;
    SONDE_ASSIGN(const auto totals, server_.values("rocm_vram_total_bytes" + which, time, end_s));
    for (const Series& series : totals) {
      if (!series.values.empty()) total[card_of(series)] = series.values.back().second;
    }
    for (const Source& source : kSources) {
      SONDE_ASSIGN(auto found, server_.values(source.metric + which, time, end_s));
      if (source.figure == watch::JobFigure::kTemperature) keep_hottest_places(found);
      for (const Series& series : found) {
        const bool memory = source.figure == watch::JobFigure::kMemory;
        const double unit = memory ? total[card_of(series)] / 100 : 1;
        add(source.figure, number_of(instance, card_of(series)), series, unit, end_s);
      }
    }
    return ok_status();
  }

 private:
  size_t number_of(const std::string& instance, int64_t card) {
    const std::string node = instance.substr(0, instance.find(':'));
    const auto [found, fresh] = numbers_.try_emplace({node, card}, job_.gpus.size());
    if (fresh) job_.gpus.push_back({node, card});
    return found->second;
  }
  void add(watch::JobFigure figure, size_t gpu, const Series& series, double unit, double end_s) {
    for (size_t i = 0; i < series.values.size(); ++i) {
      const auto& [time_s, value] = series.values[i];
      const double next_s = i + 1 < series.values.size() ? series.values[i + 1].first : end_s;
      const double until_s = std::min(next_s, time_s + kHoldsS);
      job_.samples.push_back(
          {gpu, figure, std::llround(time_s * 1e9), std::llround(until_s * 1e9), value * unit});
    }
  }

  const Server& server_;
  watch::Job& job_;
  std::map<std::pair<std::string, int64_t>, size_t> numbers_;
};

}  // namespace

Result<watch::Job> scraped_job(const std::string& server_url, const std::string& id,
                               const std::string& since) {
  const Server server(server_url);
  SONDE_ASSIGN(const auto told, server.values("rmsjob_info{jobid=" + quoted(id) + "}", since, 0));
  std::map<std::string, Span> nodes;  // by instance
  for (const Series& series : told) {
    Span& span = nodes[label(series, "instance")];
    for (const auto& [time_s, value] : series.values) {
      span.begin_s = std::min(span.begin_s, time_s);
      span.end_s = std::max(span.end_s, time_s);
    }
  }
  std::erase_if(nodes, [](const auto& node) { return node.second.end_s < node.second.begin_s; });
  if (nodes.empty()) {
    return make_error(ErrorCode::kNotFound,
                      "the server has no metrics of it from the last " + since, "job " + id,
                      "--since says how far back to look");
  }
  watch::Job job;
  job.id = id;
  Collector collector(server, job);
  for (const auto& [instance, span] : nodes) SONDE_TRY(collector.add_node(instance, span));
  return job;
}

}  // namespace sonde::cli
