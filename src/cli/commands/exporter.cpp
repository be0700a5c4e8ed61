// sonde exporter: what the GPUs and the host do now, for Prometheus to collect.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "base/host_name.h"
#include "base/strings.h"
#include "base/time.h"
#include "cli/common.h"
#include "cli/end_signals.h"
#include "cli/push.h"
#include "cli/roots.h"
#include "cli/terminal.h"
#include "http/guard.h"
#include "http/server.h"
#include "monitor/kept_file.h"
#include "record/backend.h"
#include "watch/exposition.h"
#include "watch/watcher.h"

namespace sonde::cli {
namespace {

// Connections at a time. Collectors keep theirs, and each has a thread that sleeps between
// requests; slow ones must leave enough for the others.
constexpr size_t kThreads = 64;
constexpr int64_t kDefaultPort = 8001;          // that of omnistat
constexpr int64_t kKeptNs = 100'000'000;        // one reading answers all requests within this time
constexpr int64_t kFirstPauseNs = 250'000'000;  // rates need two readings
constexpr int64_t kLookForEndNs = 100'000'000;
constexpr size_t kLeastToken = 32;

// Reads when asked, but no more often than is useful: many collectors cost no more than one.
class Metrics {
 public:
  Metrics(const watch::WatchOptions& options, watch::Naming naming)
      : watcher_(options), naming_(naming), host_(host_name()) {
    watcher_.look();
    const timespec pause = {0, kFirstPauseNs};
    ::nanosleep(&pause, nullptr);
  }

  std::string text() {
    const std::lock_guard lock(mutex_);
    const int64_t now_ns = monotonic_now_ns();
    if (text_.empty() || now_ns - looked_ns_ >= kKeptNs) {
      text_ = watch::exposition(watcher_.look(), naming_, host_);
      looked_ns_ = now_ns;
    }
    return text_;
  }

  http::Answer answer(const http::Request& request) {
    if (request.method != "GET") return {.status = 405, .body = "only GET\n"};
    if (request.path == "/metrics") {
      return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = text()};
    }
    if (request.path == "/") return {.body = "sonde exporter: the metrics are at /metrics\n"};
    return {.status = 404, .body = "the metrics are at /metrics\n"};
  }

 private:
  std::mutex mutex_;
  watch::Watcher watcher_;
  watch::Naming naming_;
  std::string host_, text_;
  int64_t looked_ns_ = 0;
};

Result<std::string> token_in(const std::string& path) {
  const auto text = monitor::read_file(path);
  if (!text) {
    return make_error(ErrorCode::kNotFound, "cannot be read", path,
                      "write a token of 32 or more characters into it, for example: openssl rand "
                      "-hex 32");
  }
  const std::string token(trim(*text));
  if (token.size() < kLeastToken || token.find_first_of(" \t\r\n") != token.npos) {
    return make_error(ErrorCode::kBadData, "holds no token of 32 or more characters without blanks",
                      path);
  }
  return token;
}

Result<http::Options> options_of(const Arguments& arguments) {
  http::Options options;
  options.for_programs = true;
  options.threads = kThreads;
  options.waiting = kThreads;
  options.address = arguments.value_or("address", options.address);
  SONDE_ASSIGN(const auto port, whole_number(arguments, "port"));
  if (port && (*port < 0 || *port > 65535)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "is not a number from 0 to 65535: " + std::to_string(*port), "--port");
  }
  options.port = static_cast<int>(port.value_or(kDefaultPort));
  if (const auto path = arguments.value("token-file")) {
    SONDE_ASSIGN(options.token, token_in(*path));
  }
  return options;
}

int64_t now_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Until a signal ends it.
Result<int> push_for_ever(const Arguments& arguments, Metrics& metrics,
                          const std::string& library) {
  SONDE_ASSIGN(const std::string url, import_url(arguments.value_or("push", ""), host_name()));
  const auto interval =
      parse_duration_ns(arguments.value_or("interval", "10s"), 1'000'000'000).value_or(0);
  if (interval < kFirstPauseNs) {
    return make_error(ErrorCode::kInvalidArgument, "is not a time of 250 ms or more", "--interval");
  }
  std::string token;
  if (const auto path = arguments.value("token-file")) {
    SONDE_ASSIGN(token, token_in(*path));
  }
  std::atomic<bool> ended = false;
  SONDE_ASSIGN(const auto signals, EndSignals::catch_them([&ended] { ended = true; }));
  PushQueue queue(
      [&](const std::string& text) { return http::post(library, url, "text/plain", token, text); });
  SONDE_TRY(write_stdout(fmt::format("pushing to {} every {}\n", url, format_duration(interval))));
  for (int64_t due_ns = monotonic_now_ns(); !ended;) {
    if (monotonic_now_ns() >= due_ns) {
      queue.push(with_time(metrics.text(), now_ms()));
      due_ns = std::max(due_ns + interval, monotonic_now_ns());
    }
    const timespec pause = {0, kLookForEndNs};
    ::nanosleep(&pause, nullptr);
  }
  return 0;
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(auto options, options_of(arguments));
  SONDE_TRY(check_roots(arguments));
  Metrics metrics(watch_options(arguments),
                  *watch::naming_of(arguments.value_or("names", "omnistat")));
  if (arguments.flag("once")) {
    SONDE_TRY(write_stdout(metrics.text()));
    return 0;
  }
  const std::string library = record::library_folder() + "/tool/libsonde-http.so";
  if (arguments.value("push")) return push_for_ever(arguments, metrics, library);
  options.handler = [&metrics](const http::Request& request) { return metrics.answer(request); };
  const std::string host = http::host_of(options.address);
  SONDE_ASSIGN(const std::unique_ptr<http::Server> server,
               http::make_server(library, std::move(options)));
  SONDE_ASSIGN(const auto signals, EndSignals::catch_them([&server] { server->stop(); }));
  SONDE_TRY(write_stdout(fmt::format("http://{}:{}/metrics\n", host, server->port())));
  SONDE_TRY(server->serve());
  return 0;
}

constexpr const char* kText = R"(
exporter - Serve what the GPUs, the processes on them and the host do to Prometheus

Prints its URL and answers /metrics in Prometheus' text format until Ctrl-C: for each GPU how busy
it is, its memory, power, energy, temperatures, clocks and errors; the memory of each process on a
GPU with its job and rank; and the host. It reads the GPUs when it is asked, opens none and wakes
none.

Names and labels are those of omnistat, or with --names those of AMD's device metrics exporter (dme)
or NVIDIA's dcgm-exporter (dcgm), so that dashboards made for these work. A value that is not known
has no series. The 256 processes with the most memory have series of their own, the others share
one.

Without a token it listens on an address of loopback only and answers everybody on this machine.
With --token-file it may listen on any address, and answers only requests with the token
(authorization: {credentials_file: FILE} in Prometheus' scrape_config); the connection is not
encrypted.

With --push, it sends the metrics to a server instead, in the text format that VictoriaMetrics and
vmagent import, each value with its time. Metrics that cannot be sent are kept, an hour's worth at
10 s, and sent when the server is back. With --token-file, the token is sent along.

Options:
--port N  the port to listen on; 0 is any free port [8001]
--address ADDRESS  the IP address to listen on [127.0.0.1]
--token-file FILE  answer only requests with the token in this file, of 32 or more characters
    [answer all]
--push URL  send the metrics to a server that imports them, as VictoriaMetrics does, instead of
    serving them [serve them]
--interval TIME  how often to send them [10s]
--names HOW=omnistat|dme|dcgm  the names and labels of the metrics [omnistat]
--once  print the metrics once and end; for a file that node_exporter's textfile collector reads
--proc-root --sys-root --nvml

Examples:
sonde exporter  http://127.0.0.1:8001/metrics, until Ctrl-C
sonde exporter --names dcgm --port 9400  for dashboards of dcgm-exporter
sonde exporter --push http://127.0.0.1:8428  to a VictoriaMetrics here
sonde exporter --once  print what Prometheus would get
)";

}  // namespace

Command exporter_command() { return make_command(kText, run); }

}  // namespace sonde::cli
