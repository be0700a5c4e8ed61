#include "importers/sink/call_table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace sonde::importers {

size_t CallTable::slot_of(int64_t process, int64_t correlation) const {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio
  constexpr uint64_t kNear = 8;  // numbers that follow each other do so in memory
  const auto number = static_cast<uint64_t>(correlation);
  const uint64_t key = static_cast<uint64_t>(process) * kGolden ^ number / kNear;
  const uint64_t mixed = (key ^ (key >> 32)) * kGolden;
  const size_t mask = slots_.size() - 1;
  for (size_t slot = ((mixed >> 32) * kNear + number % kNear) & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == kNone) return slot;
    const Call& call = calls_[slots_[slot]].call;
    if (call.correlation == correlation && call.process == process) return slot;
  }
}

void CallTable::grow() {
  constexpr size_t kFewest = 64;
  std::vector<uint32_t> old(std::max(kFewest, 2 * slots_.size()), kNone);
  old.swap(slots_);
  for (const uint32_t first : old) {
    if (first == kNone) continue;
    const Call& call = calls_[first].call;
    slots_[slot_of(call.process, call.correlation)] = first;
  }
}

void CallTable::add(const Call& call) {
  if (2 * used_slots_ >= slots_.size()) grow();
  const auto index = static_cast<uint32_t>(calls_.size());
  uint32_t& first = slots_[slot_of(call.process, call.correlation)];
  if (first == kNone) {
    first = index;
    ++used_slots_;
    if (std::find(processes_.rbegin(), processes_.rend(), call.process) == processes_.rend()) {
      processes_.push_back(call.process);
    }
  } else {
    uint32_t& more = calls_[first].more;
    const uint32_t last = more == kNone ? first : more_[more].back();
    if (call.start_ns < calls_[last].call.end_ns) return;
    if (more == kNone) {
      more = static_cast<uint32_t>(more_.size());
      more_.emplace_back();
    }
    more_[more].push_back(index);
  }
  calls_.push_back({call});
}

const CallTable::Call* CallTable::call(int64_t process, int64_t correlation,
                                       int64_t start_ns) const {
  if (slots_.empty()) return nullptr;
  const uint32_t first = slots_[slot_of(process, correlation)];
  if (first == kNone) return nullptr;
  const Kept& kept = calls_[first];
  if (kept.more == kNone) return &kept.call;
  const std::vector<uint32_t>& more = more_[kept.more];
  const auto after = std::upper_bound(
      more.begin(), more.end(), start_ns,
      [&](int64_t time_ns, uint32_t index) { return time_ns < calls_[index].call.start_ns; });
  return after == more.begin() ? &kept.call : &calls_[after[-1]].call;
}

int64_t CallTable::find(int64_t process, int64_t correlation, int64_t start_ns) const {
  const Call* found = call(process, correlation, start_ns);
  return found == nullptr ? 0 : found->id;
}

namespace {

constexpr size_t kNobody = ~size_t{0};

// Words of letters and digits; numbers of less than three digits are those of GPUs and not of
// processes.
std::set<std::string> words_of(const std::string& label) {
  std::set<std::string> words;
  std::string word;
  const auto finish = [&] {
    const bool is_number = word.find_first_not_of("0123456789") == word.npos;
    if (!word.empty() && (!is_number || word.size() >= 3)) words.insert(word);
    word.clear();
  };
  for (const char c : label) {
    std::isalnum(static_cast<unsigned char>(c)) != 0 ? void(word += c) : finish();
  }
  finish();
  return words;
}

// Which tracks may belong to which process.
class Owners {
 public:
  Owners(const CallTable& calls, std::span<const TrackedOp> ops,
         std::span<const std::string> track_labels, std::span<const std::string> process_labels)
      : calls_(calls),
        ops_(ops),
        tracks_(track_labels.size()),
        processes_(calls.processes().size()),
        evidence_(tracks_ * processes_) {
    compare_labels(track_labels, process_labels);
    compare_times();
    for (size_t track = 0; track < tracks_; ++track) find_candidates(track);
    give();
  }

  // kNobody: of several
  size_t owner(size_t track) const { return owner_[track]; }
  uint64_t guessed() const { return guessed_; }

 private:
  struct Evidence {
    size_t words = 0;      // in both labels, and not in those of all processes
    uint64_t found = 0;    // operations whose number a call of the process has
    uint64_t early = 0;    // of these, how many begin before the call
    double log_delay = 0;  // sum of the logarithms of how long after it the others begin
    double typical_delay_ns() const {
      const uint64_t late = found - early;
      return late == 0 ? 0 : std::exp2(log_delay / static_cast<double>(late));
    }
    bool is_candidate = false;
  };
  Evidence& at(size_t track, size_t process) { return evidence_[track * processes_ + process]; }

  void compare_labels(std::span<const std::string> track_labels,
                      std::span<const std::string> process_labels) {
    std::vector<std::set<std::string>> words;
    std::map<std::string, size_t> processes_with;
    for (const std::string& label : process_labels) {
      words.push_back(words_of(label));
      for (const std::string& word : words.back()) ++processes_with[word];
    }
    for (size_t track = 0; track < tracks_; ++track) {
      for (const std::string& word : words_of(track_labels[track])) {
        for (size_t process = 0; process < words.size(); ++process) {
          const bool tells = words[process].count(word) != 0 && processes_with[word] < processes_;
          at(track, process).words += tells ? 1 : 0;
        }
      }
    }
  }

  void compare_times() {
    for (const TrackedOp& op : ops_) {
      for (size_t process = 0; process < processes_; ++process) {
        const auto* call = calls_.call(calls_.processes()[process], op.correlation, op.start_ns);
        if (call == nullptr) continue;
        Evidence& one = at(op.track, process);
        ++one.found;
        if (call->start_ns > op.start_ns) {
          ++one.early;
        } else {
          one.log_delay += std::log2(static_cast<double>(op.start_ns - call->start_ns) + 1);
        }
      }
    }
  }

  // A process may lack calls that it made before the recording began, but no operation begins
  // before its call: of the right process few do, and only because clocks of GPUs drift.
  void find_candidates(size_t track) {
    Evidence best;
    uint64_t least_early = ~uint64_t{0};
    for (size_t process = 0; process < processes_; ++process) {
      const Evidence& one = at(track, process);
      if (one.found > 0) best.words = std::max(best.words, one.words);
      best.found = std::max(best.found, one.found);
    }
    const auto may_be = [&](const Evidence& one) {
      return one.found > 0 && one.words == best.words && one.found >= best.found / 2;
    };
    for (size_t process = 0; process < processes_; ++process) {
      const Evidence& one = at(track, process);
      if (may_be(one)) least_early = std::min(least_early, one.early);
    }
    double least_delay_ns = std::numeric_limits<double>::max();
    for (size_t process = 0; process < processes_; ++process) {
      Evidence& one = at(track, process);
      one.is_candidate = may_be(one) && one.early <= least_early + one.found / 1000;
      if (one.is_candidate) least_delay_ns = std::min(least_delay_ns, one.typical_delay_ns());
    }
    // The calls of a process from long before lie far back.
    constexpr double kFar = 4, kNearNs = 20'000;
    for (size_t process = 0; process < processes_; ++process) {
      Evidence& one = at(track, process);
      one.is_candidate &= one.typical_delay_ns() <= kFar * least_delay_ns + kNearNs;
    }
  }

  void give() {
    owner_.assign(tracks_, kNobody);
    std::vector<size_t> owned(processes_, 0);
    for (size_t track = 0; track < tracks_; ++track) {
      const size_t by_order = track * processes_ / tracks_;
      size_t candidates = 0;
      for (size_t process = 0; process < processes_; ++process) {
        if (!at(track, process).is_candidate) continue;
        ++candidates;
        const auto away = [&](size_t of) { return of > by_order ? of - by_order : by_order - of; };
        if (owner_[track] == kNobody || away(process) < away(owner_[track])) {
          owner_[track] = process;
        }
      }
      if (candidates > 1) ++guessed_;
      if (owner_[track] != kNobody) ++owned[owner_[track]];
    }
    for (size_t process = 0; process < processes_; ++process) {
      std::vector<bool> seen(tracks_, false);
      if (owned[process] == 0) find_track(process, owned, seen);
    }
    for (size_t process = 0; process < processes_; ++process) {
      if (owned[process] == 0) share_track(process);
    }
  }

  // Takes a track from a process that has several, or that finds another one.
  bool find_track(size_t process, std::vector<size_t>& owned, std::vector<bool>& seen) {
    for (size_t track = 0; track < tracks_; ++track) {
      if (seen[track] || !at(track, process).is_candidate) continue;
      seen[track] = true;
      const size_t before = owner_[track];
      if (before == process) continue;
      if (owned[before] == 1 && !find_track(before, owned, seen)) continue;
      --owned[before];
      ++owned[process];
      owner_[track] = process;
      return true;
    }
    return false;
  }

  // A process without a track of its own shares one on which its numbers come more than once, or
  // are none of the owner's and come after its calls.
  void share_track(size_t process) {
    struct Times {
      uint64_t count = 0;
      int64_t first_ns = std::numeric_limits<int64_t>::max();
    };
    std::map<std::pair<uint32_t, int64_t>, Times> times;
    for (const TrackedOp& op : ops_) {
      Times& of = times[{op.track, op.correlation}];
      ++of.count;
      of.first_ns = std::min(of.first_ns, op.start_ns);
    }
    std::vector<uint64_t> shared(tracks_, 0), of_process(tracks_, 0);
    for (const auto& [key, of] : times) {
      const auto& [track, correlation] = key;
      const auto* call = calls_.call(calls_.processes()[process], correlation, of.first_ns);
      if (call == nullptr) continue;
      ++of_process[track];
      const size_t owner = owner_[track];
      const bool is_owners = owner != kNobody && calls_.call(calls_.processes()[owner], correlation,
                                                             of.first_ns) != nullptr;
      if (of.count > 1 || (!is_owners && call->start_ns <= of.first_ns)) ++shared[track];
    }
    for (size_t track = 0; track < tracks_; ++track) {
      if (of_process[track] > 0 && shared[track] * 2 >= of_process[track]) owner_[track] = kNobody;
    }
  }

  const CallTable& calls_;
  std::span<const TrackedOp> ops_;
  size_t tracks_, processes_;
  std::vector<Evidence> evidence_;  // by track and process
  std::vector<size_t> owner_;
  uint64_t guessed_ = 0;
};

// Operations of one number on a track of several processes: in order if there are as many as calls,
// else each to the nearest call before it.
void link_shared(const CallTable& table, std::span<const TrackedOp> ops, std::vector<size_t> rows,
                 std::vector<const CallTable::Call*>& calls) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return ops[a].start_ns < ops[b].start_ns; });
  std::vector<const CallTable::Call*> made;
  for (const int64_t process : table.processes()) {
    const auto* call = table.call(process, ops[rows.back()].correlation, ops[rows.back()].start_ns);
    if (call != nullptr) made.push_back(call);
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  for (size_t i = 0; i < rows.size(); ++i) {
    const CallTable::Call* best = nullptr;
    for (const auto* call : made) {
      if (best == nullptr || call->start_ns <= ops[rows[i]].start_ns) best = call;
    }
    if (made.size() == rows.size()) best = made[i];
    calls[rows[i]] = best;
  }
}

}  // namespace

Launchers who_launched(const CallTable& calls, std::span<const TrackedOp> ops,
                       std::span<const std::string> track_labels,
                       std::span<const std::string> process_labels) {
  Launchers launchers;
  launchers.calls.assign(ops.size(), nullptr);
  if (calls.empty()) return launchers;
  const Owners owners(calls, ops, track_labels, process_labels);
  launchers.guessed_tracks = owners.guessed();
  std::map<std::pair<uint32_t, int64_t>, std::vector<size_t>> shared;  // by track and number
  for (size_t i = 0; i < ops.size(); ++i) {
    const size_t owner = owners.owner(ops[i].track);
    if (owner == kNobody) {
      shared[{ops[i].track, ops[i].correlation}].push_back(i);
    } else {
      launchers.calls[i] =
          calls.call(calls.processes()[owner], ops[i].correlation, ops[i].start_ns);
    }
  }
  for (const auto& [key, rows] : shared) link_shared(calls, ops, rows, launchers.calls);
  return launchers;
}

}  // namespace sonde::importers
