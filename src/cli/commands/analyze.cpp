#include <fmt/format.h>
#include <unistd.h>

#include <future>

#include "base/join.h"
#include "base/strings.h"
#include "cli/common.h"
#include "cli/terminal.h"
#include "report/layout.h"
#include "report/render.h"
#include "report/sort.h"
#include "trace/window.h"

namespace sonde::cli {
namespace {

using analysis::Analysis;
using analysis::Parameters;

// Of some of the analyses.
constexpr trace::Request kNeeds{.ops = true, .explains_idle = true};

std::vector<const Analysis*> overview() {
  std::vector<const Analysis*> chosen;
  for (const Analysis& candidate : analysis::all_analyses()) {
    if (candidate.in_overview) chosen.push_back(&candidate);
  }
  return chosen;
}

Result<std::vector<const Analysis*>> chosen_analyses(const Arguments& arguments) {
  const auto only = arguments.value("only");
  if (!only) return overview();
  std::vector<const Analysis*> chosen;
  for (const std::string_view name : split(*only, ',')) {
    const Analysis* found = analysis::find_analysis(trim(name));
    if (found == nullptr) {
      return make_error(ErrorCode::kInvalidArgument, "no analysis '" + std::string(name) + "'",
                        "--only",
                        "there are: " + join(analysis::all_analyses(), ", ", &Analysis::name));
    }
    chosen.push_back(found);
  }
  return chosen;
}

// What a rendered report needs besides the table itself.
struct Style {
  const report::Renderer* renderer;
  report::RenderOptions options;
  size_t limit = 0;
  bool explains = false;
};

struct Answer {
  const Analysis* analysis = nullptr;
  std::string text;
  std::vector<std::string> warnings;
  std::optional<Error> error;
};

Answer answer(const Analysis& analysis, const trace::Trace& trace, const Style& style) {
  auto report = analysis.run(trace, Parameters(analysis.options));
  if (!report) return {&analysis, {}, {}, report.error()};
  Answer answer{&analysis, {}, std::move(report->warnings), {}};
  report->warnings.clear();  // of the file: said once for all
  for (report::Section& section : report->sections) {
    report::limit_table(section.table, style.limit);
  }
  if (style.explains) report->definition = analysis.definition;
  answer.text = style.renderer->render(*report, style.options);
  return answer;
}

// On two threads: analyses only read the trace.
std::vector<Answer> answers_of(const std::vector<const Analysis*>& analyses,
                               const trace::Trace& trace, const Style& style) {
  std::vector<Answer> answers(analyses.size());
  const auto every_second = [&](size_t first) {
    for (size_t i = first; i < analyses.size(); i += 2) {
      answers[i] = answer(*analyses[i], trace, style);
    }
  };
  auto odd = std::async(std::launch::async, every_second, 1);
  every_second(0);
  odd.get();
  return answers;
}

// The trace is read once for all analyses. Those that want whole operations where the others have
// them cut by the window get a trace of their own.
Result<std::vector<Answer>> ask_all(const Arguments& arguments,
                                    const std::vector<const Analysis*>& analyses,
                                    const Choice& choice, const Style& style) {
  const bool has_window = window_text(arguments).given();
  std::vector<Answer> all(analyses.size());
  for (const bool whole : {false, true}) {
    std::vector<const Analysis*> mine;
    std::vector<size_t> places;
    trace::Request request;
    for (size_t i = 0; i < analyses.size(); ++i) {
      const trace::Request needs = analyses[i]->needs(Parameters(analyses[i]->options));
      if ((has_window && needs.whole) != whole) continue;
      mine.push_back(analyses[i]);
      places.push_back(i);
      request = trace::united(request, needs);
    }
    if (mine.empty()) continue;
    request.whole = whole;
    request.all_apis = request.ops;
    choice.apply(request);
    SONDE_ASSIGN(const trace::Trace trace, load_trace(arguments, request));
    std::vector<Answer> answers = answers_of(mine, trace, style);
    for (size_t i = 0; i < answers.size(); ++i) all[places[i]] = std::move(answers[i]);
  }
  return all;
}

std::string joined_text(const std::vector<Answer>& answers, const std::string& format,
                        size_t width) {
  std::string out;
  for (const Answer& answer : answers) {
    if (format == "json") {
      out += out.empty() ? "[" : ", ";
      out += answer.text;
      continue;
    }
    if (!out.empty()) out += '\n';
    if (format == "text") {
      const std::string title =
          fmt::format("== {}: {}", answer.analysis->name, answer.analysis->summary);
      out += report::wrap(title, width == 0 ? 100 : width, 3) + "\n";
    }
    out += answer.text;
  }
  return format == "json" ? (out.empty() ? "[" : out) + "]\n" : out;
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(const auto analyses, chosen_analyses(arguments));
  if (arguments.positionals().empty()) {
    std::string definitions;
    for (const Analysis* analysis : analyses) definitions += analysis->definition + "\n";
    return print_definition(definitions + trace::kWindowDefinition);
  }
  SONDE_ASSIGN(const auto choice, choice_of(arguments, kNeeds));
  const std::string format = arguments.value_or("format", "text");
  SONDE_ASSIGN(const auto limit, whole_number(arguments, "limit"));
  Style style;
  style.renderer = report::find_renderer(format);
  style.options.width = report::terminal_width(STDOUT_FILENO);
  style.options.colour = report::wants_colour(STDOUT_FILENO);
  style.options.full_names = arguments.flag("full-names");
  style.explains = arguments.flag("explain");
  style.limit = static_cast<size_t>(limit.value_or(style.renderer->for_people ? 10 : 0));
  SONDE_ASSIGN(const auto answers, ask_all(arguments, analyses, choice, style));
  for (const Answer& answer : answers) {
    if (answer.error) return *answer.error;
  }
  SONDE_TRY(write_stdout(joined_text(answers, format, style.options.width)));
  if (!answers.empty()) {
    for (const std::string& warning : answers.front().warnings) {
      print_error_line(arguments.positionals().at(0) + ": warning: " + warning);
    }
  }
  return 0;
}

constexpr const char* kText = R"(
analyze - Run all standard analyses on a trace

Runs the analyses that apply to every trace, or those of --only, and reads the trace only once. Each
is also a command with its own options; here they have their defaults. Losses of the recording are
printed on the standard error.

Arguments:
FILE

Options:
--only NAMES  these analyses, separated by commas [those for every trace]
--as --from --to --window --gpu --rank
--format FORMAT=text|markdown|json  format of the output [text]
--limit  [10 rows of each table for people, else all]
--full-names  show names whole
--explain

Examples:
sonde analyze trace.json  where the time went, and why
sonde analyze trace.rpd --only breakdown,idle --from 20% --format json
    two answers as an array, for a script
)";

}  // namespace

Command analyze_command() { return make_command(kText, run); }

}  // namespace sonde::cli
