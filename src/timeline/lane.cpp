#include "timeline/lane.h"

#include <algorithm>

#include "base/check.h"

namespace sonde::timeline {
namespace {

constexpr size_t kBlock = 64;
constexpr size_t kFan = 8;

}  // namespace

size_t blocks_of(size_t events) { return (events + kBlock - 1) / kBlock; }

size_t level_entries_of(size_t events) {
  size_t entries = 0;
  for (size_t level = blocks_of(events); level > 1; level = (level + kFan - 1) / kFan) {
    entries += level;
  }
  return entries;
}

void Lane::add(const Event& event) {
  SONDE_CHECK(event.start_ns <= event.end_ns &&
              (size() == 0 || end_ns(size() - 1) <= event.start_ns));
  const int64_t length_ns = event.end_ns - event.start_ns;
  if (length_ns >= int64_t{kLong}) longs_.push_back({size(), length_ns});
  start_ns_.push_back(event.start_ns);
  duration_ns_.push_back(length_ns >= int64_t{kLong} ? kLong : static_cast<uint32_t>(length_ns));
  name_.push_back(event.name);
  row_.push_back(event.row);
  columns_ = {start_ns_, duration_ns_, name_, row_, longs_, {}, {}};
}

void Lane::finish() {
  SONDE_CHECK(columns_.sum_ns.empty() && size() < UINT32_MAX);
  sum_ns_.reserve(blocks_of(size()));
  levels_.reserve(level_entries_of(size()));
  std::vector<uint32_t> level;
  int64_t sum_ns = 0;
  for (size_t i = 0; i < size(); ++i) {
    if (i % kBlock == 0) {
      sum_ns_.push_back(sum_ns);
      level.push_back(static_cast<uint32_t>(i));
    }
    level.back() = static_cast<uint32_t>(longer(level.back(), i));
    sum_ns += duration_ns(i);
  }
  while (level.size() > 1) {
    levels_.insert(levels_.end(), level.begin(), level.end());
    std::vector<uint32_t> above;
    for (size_t i = 0; i < level.size(); ++i) {
      if (i % kFan == 0) above.push_back(level[i]);
      above.back() = static_cast<uint32_t>(longer(above.back(), level[i]));
    }
    level = std::move(above);
  }
  for (auto* column : {&duration_ns_, &name_, &row_}) column->shrink_to_fit();
  start_ns_.shrink_to_fit();
  if (!start_ns_.empty()) columns_ = {start_ns_, duration_ns_, name_, row_, longs_, {}, {}};
  columns_.sum_ns = sum_ns_;
  columns_.levels = levels_;
}

Event Lane::event(size_t i) const {
  return {columns_.start_ns[i], end_ns(i), columns_.name[i], columns_.row[i]};
}

int64_t Lane::long_ns(size_t i) const {
  const auto found =
      std::lower_bound(columns_.longs.begin(), columns_.longs.end(), i,
                       [](const Long& each, size_t event) { return each.event < event; });
  return found == columns_.longs.end() ? int64_t{kLong} : found->duration_ns;
}

size_t Lane::with_row(uint32_t row) const {
  const auto found = std::lower_bound(columns_.row.begin(), columns_.row.end(), row);
  if (found == columns_.row.end() || *found != row) return kNoEvent;
  return static_cast<size_t>(found - columns_.row.begin());
}

size_t Lane::first_from(int64_t time_ns, size_t from) const {
  const auto& start_ns = columns_.start_ns;
  size_t step = 1;
  while (from + step < size() && start_ns[from + step] < time_ns) {
    from += step;
    step *= 2;
  }
  const auto begin = start_ns.begin();
  const size_t end = std::min(size(), from + step + 1);
  return static_cast<size_t>(std::lower_bound(begin + static_cast<ptrdiff_t>(from),
                                              begin + static_cast<ptrdiff_t>(end), time_ns) -
                             begin);
}

Content Lane::content(trace::Interval time) const {
  const size_t first = first_from(time.start_ns);
  return content(time, first, first_from(time.end_ns, first));
}

Content Lane::content(trace::Interval time, size_t first, size_t end) const {
  Content content{end - first, 0, kNoEvent};
  int64_t most_ns = 0;
  if (end > first) {
    content.longest = longest(first, end);
    content.busy_ns = sum_before(end) - sum_before(first);
    most_ns = duration_ns(content.longest);
    if (const int64_t over_ns = end_ns(end - 1) - time.end_ns; over_ns > 0) {
      content.busy_ns -= over_ns;
      if (content.longest == end - 1) {  // cut; another may have more of this part
        most_ns -= over_ns;
        const size_t other = end - 1 > first ? longest(first, end - 1) : kNoEvent;
        if (other != kNoEvent && duration_ns(other) > most_ns) {
          content.longest = other;
          most_ns = duration_ns(other);
        }
      }
    }
  }
  if (first > 0) {  // the one that runs when this part begins
    const int64_t inside_ns = std::min(end_ns(first - 1), time.end_ns) - time.start_ns;
    if (inside_ns > 0) content.busy_ns += inside_ns;
    if (inside_ns > most_ns) content.longest = first - 1;
  }
  return content;
}

int64_t Lane::sum_before(size_t i) const {
  if (columns_.sum_ns.empty()) return 0;
  const size_t block = std::min(i / kBlock, columns_.sum_ns.size() - 1);
  int64_t sum_ns = columns_.sum_ns[block];
  for (size_t k = block * kBlock; k < i; ++k) sum_ns += duration_ns(k);
  return sum_ns;
}

// The longer event; of two equally long ones the first.
size_t Lane::longer(size_t a, size_t b) const {
  const int64_t a_ns = duration_ns(a), b_ns = duration_ns(b);
  return a_ns > b_ns || (a_ns == b_ns && a < b) ? a : b;
}

// From single events up through ever larger blocks, and down again at the end. Not empty.
size_t Lane::longest(size_t first, size_t end) const {
  size_t best = first;
  const auto single = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) best = longer(best, i);
  };
  size_t from = (first + kBlock - 1) / kBlock, to = end / kBlock;  // whole blocks
  if (columns_.levels.empty() || from >= to) {
    single(first, end);
    return best;
  }
  single(first, from * kBlock);
  single(to * kBlock, end);
  size_t begin = 0, entries = blocks_of(size());  // of this level
  while (from < to) {
    const uint32_t* blocks = &columns_.levels[begin];
    const bool top = begin + entries == columns_.levels.size();
    const size_t above_from = top ? to : std::min(to, (from + kFan - 1) / kFan * kFan);
    const size_t above_to = top ? to : std::max(above_from, to / kFan * kFan);
    for (size_t i = from; i < above_from; ++i) best = longer(best, blocks[i]);
    for (size_t i = above_to; i < to; ++i) best = longer(best, blocks[i]);
    from = above_from / kFan;
    to = above_to / kFan;
    begin += entries;
    entries = (entries + kFan - 1) / kFan;
  }
  return best;
}

}  // namespace sonde::timeline
