// What MIOpen prints with MIOPEN_ENABLE_LOGGING=1 and MIOPEN_ENABLE_LOGGING_CMD=1
// (docs/formats.md): calls with their arguments, and the command lines that repeat them. The log
// has no times, so each entry gets the time of its line: the row number in microseconds.
#include <fmt/format.h>

#include <string>

#include "base/strings.h"
#include "importers/importer.h"

namespace sonde::importers {

namespace {

constexpr int64_t kLineNs = 1000;

// The text behind "MIOpen(HIP): ", "MIOpen(OpenCL): " or "MIOpen: ", also behind what else the line
// begins with (pid and tid).
bool message_of(std::string_view line, std::string_view& message) {
  for (const std::string_view prefix : {"MIOpen(HIP): ", "MIOpen(OpenCL): ", "MIOpen: "}) {
    const size_t at = line.find(prefix);
    if (at == std::string_view::npos || at > 64) continue;
    message = line.substr(at + prefix.size());
    return true;
  }
  return false;
}

Sure sniff(const Head& head) {
  std::string_view message;
  for (const std::string_view line : split(head.bytes, '\n')) {
    if (message_of(line, message)) return Sure::kLikely;
  }
  return Sure::kNo;
}

// "miopenStatus_t miopenConvolutionForward(miopenHandle_t, ...){" -> the function's name.
std::string_view function_name(std::string_view message) {
  const size_t open = message.find('(');
  if (open == std::string_view::npos || message.back() != '{') return {};
  const std::string_view before = message.substr(0, open);
  const size_t blank = before.find_last_of(" *&");
  std::string_view name = blank == std::string_view::npos ? before : before.substr(blank + 1);
  constexpr std::string_view kSuffix = "_impl";
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name.substr(0, 6) == "miopen" ? name : std::string_view();
}

std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

class Reader {
 public:
  Reader(Source& source, Sink& sink, Tally& tally)
      : source_(source),
        sink_(sink),
        tally_(tally),
        process_(sink.process(0)),
        domain_(sink.name("miopen")) {}

  Status read() {
    Lines lines(source_);
    std::string_view text, message;
    while (true) {
      SONDE_ASSIGN(const bool more, lines.next(text));
      if (!more) break;
      now_ns_ = static_cast<int64_t>(lines.row()) * kLineNs;
      if (!message_of(text, message)) {
        other_lines_ += !text.empty();
      } else if (!entry(message)) {
        tally_.skip("messages that are neither a call nor a command",
                    fmt::format("{}:{}", source_.path(), lines.row()));
      }
      if (lines.row() % 4096 == 0) SONDE_TRY(sink_.status());
    }
    if (in_call_) {
      sink_.unfinished(add_call());
    }
    if (other_lines_ > 0) {
      tally_.remark(fmt::format("{} lines are not MIOpen's", other_lines_));
    }
    tally_.remark("this log has no times: entries are placed one microsecond apart per line");
    return sink_.status();
  }

 private:
  bool entry(std::string_view message) {
    message = without_line_end(message);
    if (message.empty()) return true;
    if (in_call_ && message == "}") {
      add_call();
      return true;
    }
    if (in_call_ && (message[0] == '\t' || message[0] == ' ')) {
      if (!arguments_.empty()) arguments_ += " | ";
      arguments_ += trim(message);
      return true;
    }
    if (const std::string_view name = function_name(message); !name.empty()) {
      if (in_call_) sink_.unfinished(add_call());
      in_call_ = true;
      name_ = name;
      start_ns_ = now_ns_;
      return true;
    }
    return command(message) || text(message);
  }

  // "Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 128 ..."
  bool command(std::string_view message) {
    if (message.substr(0, 9) != "Command [") return false;
    const size_t close = message.find("] ");
    if (close == std::string_view::npos) return false;
    mark("command", message.substr(close + 2));
    tally_.count("commands");
    return true;
  }

  // "Info [Function] text"
  bool text(std::string_view message) {
    for (const std::string_view level : {"Error", "Warning", "Info", "Info2", "Trace"}) {
      if (message.substr(0, level.size() + 2) != std::string(level) + " [") continue;
      mark(level, message);
      tally_.count("messages");
      return true;
    }
    return false;
  }

  void mark(std::string_view category, std::string_view message) {
    const std::string args = valid_utf8(message);
    sink_.api({process_, 0, now_ns_, now_ns_, sink_.name("UserMarker"), sink_.name(category),
               domain_, args});
  }

  int64_t add_call() {
    const std::string args = valid_utf8(arguments_);
    const int64_t id = sink_.api(
        {process_, 0, start_ns_, now_ns_, sink_.name(valid_utf8(name_)), 0, domain_, args});
    tally_.count("calls");
    in_call_ = false;
    arguments_.clear();
    return id;
  }

  Source& source_;
  Sink& sink_;
  Tally& tally_;
  const int64_t process_;
  const Name domain_;
  int64_t now_ns_ = 0, start_ns_ = 0;
  bool in_call_ = false;
  std::string name_, arguments_;
  uint64_t other_lines_ = 0;
};

Status read(Source& source, Sink& sink, Tally& tally) { return Reader(source, sink, tally).read(); }

}  // namespace

Importer miopen_log_importer() {
  return {"miopen-log", "what MIOpen prints with MIOPEN_ENABLE_LOGGING or _LOGGING_CMD", sniff,
          read};
}

}  // namespace sonde::importers
