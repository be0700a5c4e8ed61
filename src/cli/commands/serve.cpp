// sonde serve: a trace as a page in the user's browser.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/strings.h"
#include "cli/browser.h"
#include "cli/common.h"
#include "cli/end_signals.h"
#include "cli/terminal.h"
#include "http/guard.h"
#include "record/backend.h"
#include "serve/api.h"
#include "serve/page.h"
#include "serve/traces.h"

namespace sonde::cli {
namespace {

constexpr const char* kIdle = "8h";
constexpr const char* kAnalysisTime = "5m";

Result<http::Options> options_of(const Arguments& arguments) {
  http::Options options;
  SONDE_ASSIGN(const auto port, whole_number(arguments, "port"));
  if (port && (*port < 0 || *port > 65535)) {
    return make_error(ErrorCode::kInvalidArgument, "is not a number from 0 to 65535", "--port");
  }
  options.port = static_cast<int>(port.value_or(0));
  const std::string idle = arguments.value_or("idle", kIdle);
  const auto idle_ns = parse_duration_ns(idle, 1'000'000'000);
  if (!idle_ns || *idle_ns < 0) {
    return make_error(ErrorCode::kInvalidArgument, "'" + idle + "' is not a time", "--idle",
                      "as in --idle 30m; 0 is for ever");
  }
  options.idle_ns = *idle_ns;
  options.body_bytes = serve::kMostSent;
  return options;
}

Result<serve::ApiOptions> api_options_of(const Arguments& arguments) {
  serve::ApiOptions options;
  if (!arguments.flag("no-cache")) options.cache_folder = serve::user_cache_folder();
  if (const auto memory = arguments.value("analysis-memory")) {
    const auto bytes = parse_size(*memory);
    if (!bytes || *bytes == 0) {
      return make_error(ErrorCode::kInvalidArgument, "'" + *memory + "' is not a size",
                        "--analysis-memory", "as in --analysis-memory 8G");
    }
    options.limits.memory_bytes = *bytes;
  }
  const std::string time = arguments.value_or("analysis-time", kAnalysisTime);
  const auto time_ns = parse_duration_ns(time, 1'000'000'000);
  if (!time_ns || *time_ns <= 0) {
    return make_error(ErrorCode::kInvalidArgument, "'" + time + "' is not a time",
                      "--analysis-time", "as in --analysis-time 10m");
  }
  options.limits.time_ns = *time_ns;
  return options;
}

Result<std::unique_ptr<http::Server>> server_of(http::Options options) {
  const std::string library = record::library_folder() + "/tool/libsonde-http.so";
  return http::make_server(library, std::move(options));
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(auto options, options_of(arguments));
  std::vector<serve::Source> sources;
  for (const std::string& path : arguments.positionals()) {
    sources.push_back({path, arguments.value_or("as", "")});
  }
  SONDE_ASSIGN(const auto api_options, api_options_of(arguments));
  SONDE_ASSIGN(const serve::Api api, serve::Api::open(sources, api_options));
  SONDE_ASSIGN(options.token, http::new_token());
  options.handler = [&api](const http::Request& request) {
    auto file = serve::page_file(request);
    return file ? std::move(*file) : api.answer(request);
  };
  SONDE_ASSIGN(const std::unique_ptr<http::Server> server, server_of(options));
  SONDE_ASSIGN(const auto signals, EndSignals::catch_them([&server] { server->stop(); }));
  const std::string url = http::url_of(options, server->port());
  SONDE_TRY(write_stdout(url + "\n"));
  std::unique_ptr<LeadingPage> page;
  if (arguments.flag("open")) {
    auto made = LeadingPage::make(url);
    const Status opened = made ? (*made)->open() : Status(made.error());
    if (!opened) print_error_line(opened.error().to_line());
    if (made) page = std::move(*made);
  }
  SONDE_TRY(server->serve());
  return 0;
}

constexpr const char* kText = R"(
serve - Look at traces in a browser: a timeline, findings and tables of a selection

Prints one URL and serves it until Ctrl-C, or until --idle has passed without a request. The page
shows GPUs with their queues and processes with their threads on a timeline, what stands out and
where, and for a part of time the tables that sonde kernels, breakdown, idle and the others print
for it, with their command lines. ? lists its keys.

It listens on 127.0.0.1 only and admits only requests with the token of the URL: other users of the
machine cannot get in. From another machine: ssh -L 8080:127.0.0.1:PORT HOST with the port of the
URL, then open the URL with port 8080. The page needs no network, and the files are not changed.

Traces are read in the background, and a file that grows is read again. The index of a large .rpd is
kept in $XDG_CACHE_HOME/sonde/serve (~/.cache), so that it opens at once the next time; it is made
again when the file has changed. Analyses of a selection run in separate processes, which are ended
when they exceed their limits.

Arguments:
FILE...

Options:
--open  also open it in the browser (xdg-open)
--port N  the port to listen on; 0 is any free port [0]
--idle TIME  end after this long without a request; 0 means never [{}]
--no-cache  keep no index, and use none
--analysis-memory SIZE  limit on the memory of one analysis [half of the machine's]
--analysis-time TIME  limit on the time of one analysis [{}]
--as

Examples:
sonde serve trace.rpd  prints the URL to open
sonde serve --open trace.json  also opens it
)";

}  // namespace

Command serve_command() { return make_command(fmt::format(kText, kIdle, kAnalysisTime), run); }

}  // namespace sonde::cli
