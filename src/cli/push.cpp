#include "cli/push.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/terminal.h"

namespace sonde::cli {

std::string with_time(const std::string& text, int64_t time_ms) {
  std::string timed;
  for (const auto line : split(text, '\n')) {
    if (line.empty()) continue;
    timed += line;
    if (line[0] != '#') timed += " " + std::to_string(time_ms);
    timed += '\n';
  }
  return timed;
}

Result<std::string> import_url(const std::string& url, const std::string& node) {
  const bool known = url.starts_with("http://") || url.starts_with("https://");
  const size_t host = known ? url.find("://") + 3 : url.size();
  if (host >= url.size() || url[host] == '/') {
    return make_error(ErrorCode::kInvalidArgument, "'" + url + "' is not a URL", "--push",
                      "give one like http://127.0.0.1:8428");
  }
  const size_t slash = url.find('/', host);
  if (slash != url.npos && slash + 1 < url.size()) return url;
  return url.substr(0, slash) + "/api/v1/import/prometheus?extra_label=instance=" + node;
}

void PushQueue::push(std::string text) {
  waiting_.push_back(std::move(text));
  for (; waiting_.size() > most_; waiting_.pop_front()) ++lost_;
  while (!waiting_.empty()) {
    if (auto sent = send_(waiting_.front()); !sent) {
      if (!failing_) print_error_line(sent.error().to_line() + "; will retry");
      failing_ = true;
      return;
    }
    waiting_.pop_front();
  }
  if (failing_) {
    print_error_line(lost_ == 0 ? "pushing works again, and nothing was lost"
                                : fmt::format("pushing works again; {} readings were lost", lost_));
  }
  failing_ = false;
  lost_ = 0;
}

}  // namespace sonde::cli
