#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "export/chrome/writer.h"
#include "store/api_domain.h"

namespace sonde::exporting {

namespace {

// What PyTorch's profiler calls its kinds of events. Its readers go by these words.
bool is_kineto_category(std::string_view text) {
  static constexpr std::string_view kCategories[] = {
      "cpu_op",         "cuda_runtime", "cuda_driver", "python_function",     "user_annotation",
      "cuda_sync",      "cuda_event",   "overhead",    "gpu_user_annotation", "cpu_instant_event",
      "collective_comm"};
  return std::find(std::begin(kCategories), std::end(kCategories), text) != std::end(kCategories);
}

// The categories of calls that importers link operations to.
bool is_launching_category(std::string_view text) {
  return text == "cuda_runtime" || text == "cuda_driver" || text == "Runtime";
}

bool is_runtime(std::string_view domain) { return domain == "hip" || domain == "cuda"; }

}  // namespace

// What stands between the name and the time of an event.
std::string ChromeWriter::place_text(const Place& place) {
  return ",\"pid\":" + std::to_string(place.pid) + ",\"tid\":" + std::to_string(place.tid) +
         ",\"ts\":";
}

// The cat that readers of PyTorch's traces know; they use it for HIP calls, too.
std::string_view ChromeWriter::api_category(const Api& api) const {
  if (events_.is_mark(api)) return "user_annotation";
  const std::string_view domain = events_.domain(api);
  const std::string_view category = events_.names.at(api.category);
  if (imported() && category.empty() && domain == "api") return category;  // nothing is known
  if (imported() && !category.empty() && (is_kineto_category(category) || !is_runtime(domain))) {
    return category;
  }
  return is_runtime(domain) ? std::string_view("cuda_runtime") : domain;
}

namespace {

// The domain that an importer takes from the category and the name.
std::string_view implied_domain(std::string_view category, std::string_view name) {
  if (category == "python_function") return "python";
  if (category == "cpu_op" || category == "user_annotation" || category == "gpu_user_annotation" ||
      category == "Operator") {
    return "torch";
  }
  return store::domain_of_api(name);
}

}  // namespace

// Recorders make moments on purpose; a call that was measured as 0 ns long is still a call.
bool ChromeWriter::is_instant(const Api& api) const {
  if (api.duration_ns() != 0) return false;
  const std::string_view category = events_.names.at(api.category);
  return !imported() || events_.is_mark(api) || category.empty() || category == "cpu_instant_event";
}

void ChromeWriter::apis() {
  if (imported()) correlations_.resize(events_.api_count());
  const Layout layout = lay_out_calls(events_);
  for (const Lane& lane : layout.lanes) api_lane(lane, layout);
}

void ChromeWriter::api_lane(const Lane& lane, const Layout& layout) {
  const Thread& thread = events_.threads[lane.track];
  const int64_t tid =
      lane.lane == 0 ? numbers_.tid(thread.pid, thread.tid) : numbers_.free_tid(thread.pid);
  thread_name(thread, tid, lane.lane);
  const std::string place = place_text({numbers_.pid(thread.pid), tid});
  for (uint32_t i = lane.begin; i < lane.end; ++i) {
    const size_t index = layout.order[i];
    api(events_.apis[index], index, place);
  }
}

void ChromeWriter::api(const Api& api, size_t index, const std::string& place) {
  ++counts_.apis;
  begin_event();
  const bool instant = is_instant(api);
  sink_.append(instant ? "\"ph\":\"i\",\"s\":\"t\",\"cat\":" : "\"ph\":\"X\",\"cat\":");
  sink_.append(words_of(api).category);
  sink_.append(",\"name\":");
  if (events_.is_mark(api)) {
    text(events_.title(api));
  } else {
    sink_.append(quoted_name(api.name));
  }
  sink_.append(place);
  time(api.start_ns);
  if (!instant) {
    sink_.append(",\"dur\":");
    append_thousandths(sink_, api.duration_ns());
  }
  const uint32_t links_end = events_.apis[index + 1].first_link;
  const bool is_linked = api.first_link < links_end;
  sink_.append(",\"args\":{");
  if (imported() && json_members(events_.arguments(api), members_)) {
    correlations_[index] = given_api_arguments(api, is_linked);
  } else {
    own_api_arguments(api);
    if (imported()) correlations_[index] = api.id;
  }
  sink_.append("}}");
  for (uint32_t link = api.first_link; link < links_end; ++link) {
    if (!has_arrow(events_.links[link])) continue;
    ++counts_.flows;
    number_arrow(link);
    flow("{\"ph\":\"s\",\"id\":", link, place, api.start_ns);
    sink_.append("}");
  }
}

// What the .rpd knows of the call. In an export of an import, the first member says so.
void ChromeWriter::own_api_arguments(const Api& api) {
  const bool mark = events_.is_mark(api);
  if (mark || imported()) sink_.append(mark ? "\"sonde mark\":1," : "\"sonde row\":1,");
  member("\"correlation\":", api.id);
  if (const std::string_view arguments = events_.arguments(api); !arguments.empty()) {
    member(",\"args\":", arguments);
  }
  sonde_members(api);
}

// The arguments that the imported file had. Returns the number that links operations to the call.
int64_t ChromeWriter::given_api_arguments(const Api& api, bool is_linked) {
  std::string_view separator;
  std::optional<int64_t> correlation;
  for (const JsonMember& given : members_) {
    const bool links = given.key == "correlation";
    if (links && keep_correlations_) correlation = parse_int(given.value);
    if (links && !correlation) continue;  // the id takes its place
    sink_.append(separator);
    sink_.append("\"");
    sink_.append(given.key);
    sink_.append("\":");
    sink_.append(given.value);
    separator = ",";
  }
  if (is_linked && !correlation) {
    sink_.append(separator);
    member("\"correlation\":", api.id);
    separator = ",";
  }
  if (separator.empty()) sink_.append("\"sonde given\":1");
  sonde_members(api);
  return correlation.value_or(api.id);
}

std::optional<int64_t> ChromeWriter::given_correlation(std::string_view arguments) {
  if (arguments.find("\"correlation\"") == arguments.npos) return std::nullopt;
  if (!json_members(arguments, members_)) return std::nullopt;
  for (const JsonMember& given : members_) {
    if (given.key == "correlation") return parse_int(given.value);
  }
  return std::nullopt;
}

// Whether each number by which the imported file links is one process's. The numbers are those of a
// process, and readers of a document look for them in all of it.
bool ChromeWriter::correlations_are_unambiguous() {
  const std::vector<Thread>& threads = events_.threads;
  const auto is_other = [&](const Thread& thread) { return thread.pid != threads.front().pid; };
  if (std::none_of(threads.begin(), threads.end(), is_other)) return true;
  std::unordered_map<int64_t, int64_t> pids;  // by number
  for (size_t i = 0; i < events_.api_count(); ++i) {
    const Api& api = events_.apis[i];
    const auto number = given_correlation(events_.arguments(api));
    if (!number || !is_launching_category(api_category(api))) continue;
    const int64_t pid = threads[api.thread].pid;
    if (pids.try_emplace(*number, pid).first->second != pid) return false;
  }
  // An operation whose call is not there must not find one of another process.
  for (const Op& op : events_.ops) {
    if (op.first_link != kNone) continue;
    const auto number = given_correlation(events_.op_args.at(op.args));
    if (number && pids.count(*number) > 0) return false;
  }
  return true;
}

// What a call's name, domain and category say; few calls differ in them.
const ChromeWriter::CallWords& ChromeWriter::words_of(const Api& api) {
  const auto [number, added] = words_numbers_.number({api.name, api.domain, api.category});
  if (!added) return words_[number];
  CallWords& words = words_.emplace_back();
  const std::string_view written = api_category(api);
  words.category = json_quote(written);
  // What cannot be told from the name and the category that are written.
  const std::string_view category = events_.names.at(api.category);
  const std::string_view expected = imported() ? written : std::string_view();
  if (category != expected) words.members = ",\"sonde category\":" + json_quote(category);
  const std::string_view domain = events_.names.at(api.domain);
  if (!domain.empty() && domain != implied_domain(written, events_.names.at(api.name))) {
    words.members += ",\"sonde domain\":" + json_quote(domain);
  }
  return words;
}

void ChromeWriter::sonde_members(const Api& api) {
  sink_.append(words_of(api).members);
  if (!facts_.unfinished.empty() && facts_.unfinished.count(api.id) > 0) {
    sink_.append(",\"sonde unfinished\":1");
  }
}

}  // namespace sonde::exporting
