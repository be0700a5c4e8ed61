#include "cli/common.h"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "analysis/critical_path/words.h"
#include "base/strings.h"
#include "cli/command_text.h"
#include "cli/print_rows.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "importers/import.h"
#include "report/layout.h"
#include "report/render.h"
#include "report/sort.h"
#include "store/read_only.h"
#include "trace/other_tools.h"
#include "trace/window.h"

namespace sonde::cli {
Result<std::optional<int64_t>> whole_number(const Arguments& arguments, const char* name) {
  const auto text = arguments.value(name);
  if (!text) return std::optional<int64_t>();
  const auto value = parse_int(*text);
  if (!value || *value < 0) {
    return make_error(ErrorCode::kInvalidArgument, "'" + *text + "' is not a whole number",
                      std::string("--") + name);
  }
  return value;
}

namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"text"};
  for (const report::Renderer& renderer : report::all_renderers()) {
    if (renderer.name != "text") names.push_back(renderer.name);
  }
  return names;
}

std::vector<std::string> kinds_of_traces() {
  std::vector<std::string> kinds = {"rpd"};
  for (const importers::Importer& importer : importers::all_importers()) {
    kinds.push_back(importer.name);
  }
  return kinds;
}

constexpr const char* kShared = R"(
shared - What several commands take

Arguments:
FILE  an .rpd file of any version, or the trace of another tool; also gzip-compressed
WHICH  a process or a trace, e.g. 4711 or trace.rpd

Options:
--format FORMAT  format of the output [text]
--limit N  show at most N rows, 0 for all [25 in text, else all]
--sort COLUMN  sort by this column of the CSV output, largest first (--sort=-COLUMN: smallest first)
    [the order of the command]
--full-names  show names whole in text (csv and json always do)
--exact  in text, times in nanoseconds and sizes in bytes (csv and json always do)
--table NAME  only this table [all; csv is always one: the first]
--explain  say what each figure means, exactly; needs no file
--as KIND  what kind of trace FILE is [recognised by its contents]
--align HOW=clocks|start|none  how the times of several files become one time line: by their clocks,
    by letting all files start together, or not at all [clocks]
--from TIME  start of the window, from the start of the trace: 1.5s, 200ms, 10us, 20%, or seconds;
    --from=-1s counts from its end [start]
--to TIME  end of the window, in the same way [end]
--window WHAT  only this part: marker:REGEX, marker:REGEX#K, kernel:REGEX, step:N, step:N..M or
    launched:N; --from and --to are then relative to it [the whole trace]
--kernel REGEX  only names in which this extended regular expression is found [all]
--name REGEX  only names in which this extended regular expression is found [all]
--gpu N  only this GPU [all]
--rank N  only what this rank launched [all]
--all  all your recordings on this machine
--proc-root DIR  look here instead of in /proc [/proc]
--sys-root DIR  look here instead of in /sys [/sys]
--nvml FILE  the library for NVIDIA GPUs [libnvidia-ml.so.1]
)";

constexpr const char* kWindowOptions = "--as --from --to --window";
constexpr const char* kReportOptions =
    "--format --limit --sort --full-names --exact --table --explain";

// Options whose choices are known only at run time.
Command shared_command() {
  Command shared = read_command(kShared, {});
  for (Option& option : shared.options) {
    if (option.names == "--format") option.choices = format_names();
    if (option.names == "--as") option.choices = kinds_of_traces();
    option.stands_alone = option.names == "--explain";
  }
  return shared;
}

const Command& shared() {
  static const Command kCommand = shared_command();
  return kCommand;
}

// What --limit says: only formats for people have a default limit; scripts get every row.
Result<size_t> row_limit(const Arguments& arguments, const report::Renderer& renderer,
                         size_t rows_for_people) {
  SONDE_ASSIGN(const auto given, whole_number(arguments, "limit"));
  if (given) return static_cast<size_t>(*given);
  return renderer.for_people ? rows_for_people : size_t{0};
}

const char* name_option(const trace::Request& needs) { return needs.ops ? "--kernel" : "--name"; }

trace::Request usual_needs(const analysis::Analysis& analysis) {
  return analysis.needs(analysis::Parameters(analysis.options));
}

analysis::Parameters parameters_of(const analysis::Analysis& analysis, const Arguments& arguments) {
  analysis::Parameters parameters(analysis.options);
  for (const analysis::Option& option : analysis.options) {
    const bool is_flag = option.value.empty();
    if (is_flag && arguments.flag(option.name)) parameters.set(option.name, "yes");
    if (const auto value = arguments.value(option.name); value && !is_flag) {
      parameters.set(option.name, *value);
    }
  }
  return parameters;
}

// RPD's own figures, from its view in the file: no window, no filter.
Result<int> print_rpd_view(const analysis::Analysis& analysis, const Arguments& arguments) {
  for (const char* option : {"from", "to", "window", "kernel", "gpu", "rank", "sort", "table"}) {
    if (arguments.value(option)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "RPD's views always cover the whole trace, in their own order",
                        std::string("--") + option, "leave it out, or --rpd");
    }
  }
  SONDE_ASSIGN(const auto limit, whole_number(arguments, "limit"));
  SONDE_ASSIGN(auto reader, open_trace(arguments));
  SONDE_ASSIGN(auto rows, store::prepare_read_only(reader.database(),
                                                   "SELECT * FROM " + rpd_view_of(analysis.name)));
  SONDE_TRY(print_rows(arguments, rows, static_cast<size_t>(limit.value_or(0))));
  return 0;
}

Result<int> run_analysis(const analysis::Analysis& analysis, const Arguments& arguments) {
  SONDE_ASSIGN(auto choice, choice_of(arguments, usual_needs(analysis)));
  if (arguments.flag("rpd")) return print_rpd_view(analysis, arguments);
  const analysis::Parameters parameters = parameters_of(analysis, arguments);
  trace::Request request = analysis.needs(parameters);
  choice.apply(request);
  SONDE_ASSIGN(const trace::Trace trace, load_trace(arguments, request));
  SONDE_ASSIGN(report::Report report, analysis.run(trace, parameters));
  report.definition = analysis.definition;
  return print_report(arguments, std::move(report));
}

// Tables of some MB come and go while a file is read and analysed. As a rule malloc() gives each
// back, and the system zeroes as many pages for the next: a fifth of all CPU time.
void keep_freed_memory() {
  constexpr int kMiB = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // the most that glibc takes
  ::mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
}

Result<trace::Trace> load_one(const Arguments& arguments, const std::string& path,
                              const trace::Request& request) {
  keep_freed_memory();
  return trace::load_file(path, arguments.value_or("as", ""), request, window_text(arguments));
}

Result<std::vector<trace::Trace>> load_runs(const Arguments& arguments,
                                            const trace::Request& request) {
  std::vector<trace::Trace> traces;
  for (const std::string& path : arguments.positionals()) {
    SONDE_ASSIGN(trace::Trace trace, load_one(arguments, path, request));
    traces.push_back(std::move(trace));
  }
  return traces;
}

// A rank that is given twice would be two. Links to one file are one file.
Status check_named_once(const std::vector<std::string>& paths) {
  std::map<std::pair<dev_t, ino_t>, std::string> known;
  for (const std::string& path : paths) {
    struct stat about {};
    if (path == "-" ? ::fstat(STDIN_FILENO, &about) != 0 : ::stat(path.c_str(), &about) != 0) {
      continue;  // who opens it says why
    }
    const auto [entry, is_new] = known.emplace(std::pair(about.st_dev, about.st_ino), path);
    if (is_new) continue;
    const std::string& first = entry->second;
    return make_error(ErrorCode::kInvalidArgument,
                      first == path ? "is given twice" : "is the same file as " + first, path,
                      "give each file once");
  }
  return ok_status();
}

}  // namespace

trace::WindowText window_text(const Arguments& arguments) {
  return {arguments.value("from"), arguments.value("to"), arguments.value("window")};
}

Result<Choice> choice_of(const Arguments& arguments, const trace::Request& needs) {
  Choice choice;
  const std::string option = name_option(needs);
  if (const auto pattern = arguments.value(option.substr(2)); pattern && !needs.explains_idle) {
    SONDE_ASSIGN(choice.names, trace::NameFilter::compile(*pattern, option));
  }
  SONDE_ASSIGN(choice.gpu, whole_number(arguments, "gpu"));
  SONDE_ASSIGN(choice.rank, whole_number(arguments, "rank"));
  SONDE_TRY(trace::check_window(window_text(arguments)));
  SONDE_TRY(whole_number(arguments, "limit"));
  return choice;
}

void Choice::apply(trace::Request& request) const {
  request.gpu = gpu;
  request.rank = rank;
  (request.ops ? request.op_names : request.api_names) = &names;
}

std::vector<Option> choice_options(const trace::Request& needs) {
  const bool has_memory = (needs.args_of & bit_of(trace::ApiKind::kMemory)) != 0;
  std::vector<Option> options;
  if (!needs.explains_idle) options = shared_options(name_option(needs));
  if (needs.ops || has_memory) options = joined(std::move(options), shared_options("--gpu"));
  options = joined(std::move(options), shared_options("--rank"));
  if (!needs.ops) options.back().help = "only what this rank did";
  return options;
}

Result<store::Reader> open_trace(const Arguments& arguments) {
  return importers::open_trace(arguments.positionals().at(0), arguments.value_or("as", ""));
}

Result<trace::Trace> load_trace(const Arguments& arguments, const trace::Request& request) {
  return load_one(arguments, arguments.positionals().at(0), request);
}

Result<std::vector<trace::Trace>> load_traces(const Arguments& arguments,
                                              const trace::Request& request) {
  SONDE_TRY(check_named_once(arguments.positionals()));
  keep_freed_memory();
  return trace::load_files(arguments.positionals(), arguments.value_or("as", ""), request,
                           window_text(arguments));
}

std::vector<Option> shared_options(std::string_view names) {
  return read_options(names, shared().options);
}

Command make_command(std::string_view text, Run run, std::string definition,
                     const std::vector<Option>& more) {
  Command known = shared();
  known.options.insert(known.options.begin(), more.begin(), more.end());
  Command command = read_command(text, known);
  command.run = std::move(run);
  command.definition = std::move(definition);
  return command;
}

Result<int> print_definition(const std::string& definition) {
  const size_t width = report::terminal_width(STDOUT_FILENO);
  SONDE_TRY(write_stdout(report::wrap(definition, width == 0 ? 100 : width, 0)));
  return 0;
}

Result<int> print_report(const Arguments& arguments, report::Report report,
                         size_t rows_for_people) {
  if (!arguments.flag("explain")) report.definition.clear();
  const report::Renderer* renderer = report::find_renderer(arguments.value_or("format", "text"));
  SONDE_CHECK(renderer != nullptr);  // the parser has checked the choices
  const bool is_csv = renderer->name == "csv";
  if (arguments.value("table") || is_csv) {
    SONDE_ASSIGN(const auto others, report::choose_table(report, arguments.value_or("table", "")));
    if (!arguments.value("table") && !others.empty()) {
      print_error_line(report.subject + ": other tables (--table NAME): " + others);
    }
  }
  if (!report.sections.empty()) {
    report::Table& table = report.sections.front().table;
    if (const auto column = arguments.value("sort")) {
      SONDE_TRY(report::sort_table(table, *column));
    }
    SONDE_ASSIGN(const auto limit, row_limit(arguments, *renderer, rows_for_people));
    report::limit_tables(report, limit, arguments.value("limit").has_value());
  }
  if (renderer->for_people) analysis::put_words_for_keys(report);
  report::RenderOptions options;
  options.width = report::terminal_width(STDOUT_FILENO);
  options.colour = report::wants_colour(STDOUT_FILENO);
  options.full_names = arguments.flag("full-names");
  options.exact = arguments.flag("exact");
  SONDE_TRY(write_stdout(renderer->render(report, options)));
  if (!renderer->shows_warnings) {
    for (const report::Section& section : report.sections) {
      if (section.table.rows.empty() && !section.empty_text.empty()) {
        print_error_line(report.subject + ": " + section.empty_text);
      }
    }
    for (const std::string& warning : report.warnings) {
      print_error_line(report.subject + ": warning: " + warning);
    }
  }
  return 0;
}

Command analysis_command(analysis::Analysis analysis) {
  Command command;
  command.name = analysis.name;
  command.summary = analysis.summary;
  command.description = analysis.description;
  command.positionals = {shared().positionals.front()};
  for (const analysis::Option& option : analysis.options) {
    command.options.push_back(
        {"--" + option.name, option.value, option.help, option.fallback, option.choices});
  }
  if (const std::string view = rpd_view_of(analysis.name); !view.empty()) {
    command.options.push_back(
        {"--rpd", "", "RPD's own figures instead, as its view " + view + " gives them", ""});
  }
  command.options = joined(std::move(command.options), shared_options(kWindowOptions),
                           choice_options(usual_needs(analysis)), shared_options(kReportOptions));
  for (const analysis::Example& example : analysis.examples) {
    command.examples.push_back({example.command, example.explanation});
  }
  command.definition = analysis.definition;
  command.run = [analysis = std::move(analysis)](const Arguments& arguments) {
    return run_analysis(analysis, arguments);
  };
  return command;
}

Command joint_command(const JointAnalysis& analysis) {
  Command command = make_command(analysis.text, {}, analysis.definition);
  command.options = joined(shared_options(kWindowOptions), choice_options(analysis.needs()),
                           shared_options(kReportOptions));
  command.run = [analysis](const Arguments& arguments) -> Result<int> {
    trace::Request request = analysis.needs();
    SONDE_ASSIGN(const auto choice, choice_of(arguments, request));
    choice.apply(request);
    SONDE_ASSIGN(const auto traces, analysis.compares_runs ? load_runs(arguments, request)
                                                           : load_traces(arguments, request));
    report::Report report = analysis.report_of(traces);
    report.definition = analysis.definition;
    return print_report(arguments, std::move(report));
  };
  return command;
}

}  // namespace sonde::cli
