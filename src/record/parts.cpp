#include "record/parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/strings.h"
#include "base/time.h"
#include "record/drain.h"
#include "record/metrics.h"
#include "record/session_dir.h"
#include "record/symbols.h"
#include "store/ingest/unfinished.h"
#include "store/input_file.h"

namespace sonde::record {

namespace fs = std::filesystem;

namespace {

constexpr size_t kDigits = 4;         // at least
constexpr int kPatienceMs = 600'000;  // with programs that read a part when it ends

bool is_number(std::string_view text) {
  return text.size() >= kDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string part_name(const std::string& base, int number) {
  const fs::path path(base);
  return (path.parent_path() / fmt::format("{}.{:0{}}{}", path.stem().string(), number, kDigits,
                                           path.extension().string()))
      .string();
}

std::optional<std::string> base_of_part(const std::string& part) {
  const fs::path path(part);
  const fs::path stem = path.stem();
  const std::string number = stem.extension().string();
  if (number.empty() || !is_number(std::string_view(number).substr(1))) return std::nullopt;
  return (path.parent_path() / (stem.stem().string() + path.extension().string())).string();
}

std::vector<std::string> parts_of(const std::string& base) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code error;
  const fs::path folder = fs::path(base).parent_path();
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const std::string path = (folder / entry.path().filename()).string();
    if (base_of_part(path) != base) continue;
    const std::string number = entry.path().stem().extension().string().substr(1);
    found.emplace_back(parse_int(number).value_or(0), path);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> parts;
  for (auto& [number, path] : found) parts.push_back(std::move(path));
  return parts;
}

namespace {

// The part `step` parts after this one, if it exists and has not released the session.
std::optional<std::string> neighbour(const std::string& part, int step,
                                     const std::string& session) {
  const auto base = base_of_part(part);
  if (!base) return std::nullopt;
  const std::string number = fs::path(part).stem().extension().string().substr(1);
  std::string other = part_name(*base, static_cast<int>(parse_int(number).value_or(0)) + step);
  std::error_code error;
  if (!fs::exists(other, error)) return std::nullopt;
  auto database = store::open_input(other);
  if (!database) return std::nullopt;
  const auto owner = store::unfinished_session(*database);
  return owner && *owner == session ? std::optional(std::move(other)) : std::nullopt;
}

}  // namespace

std::optional<std::string> part_not_ended(const std::string& current, const std::string& session) {
  return neighbour(current, -1, session);
}

void remove_stray_part(const std::string& current, const std::string& session) {
  std::error_code error;
  if (const auto next = neighbour(current, 1, session)) fs::remove(*next, error);
}

Parts::Parts(const RotationOptions& options, std::string session, uint64_t session_id,
             const std::string& first, int64_t now_ns)
    : options_(options),
      session_(std::move(session)),
      base_(base_of_part(first).value_or(first)),
      session_id_(session_id),
      due_ns_(now_ns + options.every_ns) {}

Parts::~Parts() { (void)wait(); }

Status Parts::wait() { return finishing_.valid() ? finishing_.get() : ok_status(); }

Result<bool> Parts::are_whole() {
  if (finishing_.valid() &&
      finishing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return false;
  }
  SONDE_TRY(wait());
  forget_old();
  return true;
}

void Parts::forget_old() {
  while (options_.keep != 0 && ended_.size() > static_cast<size_t>(options_.keep)) {
    ::unlink(ended_.front().c_str());
    ended_.pop_front();
  }
}

// The order makes it safe to kill the recorder at any moment; the session continues in one file or
// the other: the next part exists before the session names it, and is named before the ended part
// releases the session.
Result<bool> Parts::rotate(const PartSinks& sinks) {
  SONDE_ASSIGN(const bool whole, are_whole());
  if (!whole) return false;
  if (auto committed = sinks.drain.commit(true); !committed) {
    if (store::is_busy(committed.error())) return false;
    return std::move(committed).error();
  }
  // What follows cannot stop half-way: whoever begins to read now is waited for.
  sinks.writer->database().wait_for_others(kPatienceMs);
  if (sinks.metrics != nullptr) SONDE_TRY(sinks.metrics->finish(*sinks.ingest));
  SONDE_TRY(name_frames(sinks.writer->database()));
  SONDE_TRY(sinks.drain.commit(true));
  const int64_t now = monotonic_now_ns();
  const std::string ended = part_name(base_, number_), next = part_name(base_, number_ + 1);
  SONDE_ASSIGN(start_, store::hand_over(sinks.writer->database(), start_, next, now));
  SONDE_TRY(write_output_name(session_, next));
  SONDE_TRY(sinks.ingest->end_part());
  totals_.apis += sinks.ingest->apis();
  totals_.ops += sinks.ingest->ops();
  totals_.lost += sinks.ingest->lost();
  SONDE_ASSIGN(store::Writer writer, store::Writer::open(next, store::Writer::Mode::kAppend));
  SONDE_TRY(writer.keep_small());
  sinks.ingest.reset();  // it holds statements of the old file
  auto old = std::make_shared<store::Writer>(std::move(*sinks.writer));
  *sinks.writer = std::move(writer);
  SONDE_ASSIGN(auto ingest, store::Ingest::open(*sinks.writer, session_id_, session_));
  sinks.ingest = std::make_unique<store::Ingest>(std::move(ingest));
  sinks.drain.go_on_with(*sinks.ingest);
  finishing_ = std::async(std::launch::async, [old = std::move(old)] { return old->finish(); });
  ended_.push_back(ended);
  ++number_;
  due_ns_ = options_.every_ns == 0 ? INT64_MAX : now + options_.every_ns;
  return true;
}

Result<std::string> Parts::finish(const std::string& last_part) {
  SONDE_TRY(wait());
  forget_old();
  if (options_.last_ns == 0) return last_part;
  std::vector<std::string> parts(ended_.begin(), ended_.end());
  parts.push_back(last_part);
  SONDE_TRY(store::join_parts(parts, base_, options_.last_ns));
  for (const std::string& part : parts) ::unlink(part.c_str());
  return base_;
}

}  // namespace sonde::record
