// The options of a panel as the page sends them, checked as the command line checks its own.
// Private to src/serve.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/pinned.h"
#include "report/report.h"
#include "serve/panel.h"
#include "trace/window.h"

namespace sonde::serve {

// Takes options out as they are understood: what is left is not known.
class Taken {
 public:
  explicit Taken(PanelOptions options) : left_(std::move(options)) {}

  std::optional<std::string> text(const std::string& name);
  Result<std::optional<int64_t>> number(const std::string& name);  // not negative
  Status all_known() const;

 private:
  PanelOptions left_;
};

Error wrong_option(const std::string& option, const std::string& what);

trace::WindowText window_of(Taken& taken);
// What all panels can choose: a window, a GPU or rank, names, and which rows are shown.
struct Choice : Pinned {
  trace::Request request;  // refers to `names`
  trace::WindowText window;
  trace::NameFilter names;
  std::optional<std::string> sort;
  std::optional<int64_t> limit;
  std::string format = "json";  // or svg, the picture of the report
  Choice() = default;
};
Status take_choice(Taken& taken, const trace::Request& needs, Choice& choice);
// The part of it that every panel has.
Status take_format(Taken& taken, Choice& choice);
// The bytes that the command prints of a report.
Result<std::string> finished(report::Report report, const Choice& choice);

}  // namespace sonde::serve
