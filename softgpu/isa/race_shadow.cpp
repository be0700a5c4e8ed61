#include "isa/race_shadow.h"

#include <algorithm>

namespace softgpu::isa {
namespace {

// Flags in the upper address bits, which user space does not use.
constexpr uint64_t kIsByte = uint64_t{1} << 63, kIsLocal = uint64_t{1} << 62;

size_t hash(uint64_t key) {
  key *= 0x9e3779b97f4a7c15;
  return static_cast<size_t>(key ^ key >> 31);
}

}  // namespace

// Cells of an earlier epoch count as empty.
void RaceShadow::clear() {
  used_ = 0;
  is_full_ = is_full_told_ = false;
  if (++epoch_ != 0) return;
  std::fill(cells_.begin(), cells_.end(), Cell{});
  epoch_ = 1;
}

RaceShadow::Cell* RaceShadow::find_or_add(uint64_t key) {
  if (used_ * 2 >= cells_.size()) grow();
  const size_t mask = cells_.size() - 1;
  for (size_t at = hash(key) & mask;; at = (at + 1) & mask) {
    Cell& cell = cells_[at];
    if (cell.epoch == epoch_ && cell.key == key) return &cell;
    if (cell.epoch == epoch_) continue;
    if (used_ * 2 >= cells_.size()) {
      is_full_ = true;
      return nullptr;
    }
    ++used_;
    cell = Cell{};
    cell.key = key;
    cell.epoch = epoch_;
    return &cell;
  }
}

void RaceShadow::grow() {
  if (cells_.size() >= kMost) return;
  std::vector<Cell> before(std::max(kFewest, cells_.size() * 4));
  before.swap(cells_);
  const size_t mask = cells_.size() - 1;
  for (const Cell& cell : before) {
    if (cell.epoch != epoch_) continue;
    size_t at = hash(cell.key) & mask;
    while (cells_[at].epoch == epoch_) at = (at + 1) & mask;
    cells_[at] = cell;
  }
}

std::optional<RaceShadow::Conflict> RaceShadow::access_cell(Cell& cell, bool writes,
                                                            const Mark& mark) {
  const auto is_another = [&](const Mark& known) {
    return known.is_there && known.wave != mark.wave;
  };
  std::optional<Conflict> conflict;
  if (is_another(cell.writer)) conflict = Conflict{cell.writer, true, 0};
  if (writes && !conflict && is_another(cell.reader)) conflict = Conflict{cell.reader, false, 0};
  if (writes && !conflict && is_another(cell.other_reader))
    conflict = Conflict{cell.other_reader, false, 0};
  if (writes) {
    if (!cell.writer.is_there) cell.writer = mark;
  } else if (!cell.reader.is_there) {
    cell.reader = mark;
  } else if (is_another(cell.reader) && !cell.other_reader.is_there) {
    cell.other_reader = mark;
  }
  return conflict;
}

std::optional<RaceShadow::Conflict> RaceShadow::access_byte(uint64_t key, bool writes,
                                                            const Mark& mark) {
  Cell* const cell = find_or_add(key | kIsByte);
  return cell == nullptr ? std::nullopt : access_cell(*cell, writes, mark);
}

std::optional<RaceShadow::Conflict> RaceShadow::access_dword(uint64_t key, bool writes,
                                                             const Mark& mark) {
  Cell* const cell = find_or_add(key);
  if (cell == nullptr) return std::nullopt;
  if (!cell->is_split) return access_cell(*cell, writes, mark);
  std::optional<Conflict> first;
  for (uint64_t byte = 0; byte < 4; ++byte) {
    auto conflict = access_byte(key + byte, writes, mark);
    if (!conflict || first) continue;
    first = conflict;
    first->address = byte;
  }
  return first;
}

std::optional<RaceShadow::Conflict> RaceShadow::access(uint64_t address, uint32_t bytes,
                                                       bool is_local, bool writes,
                                                       const Mark& mark) {
  std::optional<Conflict> first;
  const auto take = [&](std::optional<Conflict> conflict, uint64_t at) {
    if (!conflict || first) return;
    first = conflict;
    first->address += at;
  };
  const uint64_t space = is_local ? kIsLocal : 0, end = address + bytes;
  for (uint64_t at = address; at < end;) {
    if (at % 4 == 0 && end - at >= 4) {
      take(access_dword(at | space, writes, mark), at);
      at += 4;
      continue;
    }
    const uint64_t dword = at & ~uint64_t{3};
    Cell* const whole = find_or_add(dword | space);
    if (whole == nullptr) return first;
    if (!whole->is_split) {
      const Cell known = *whole;
      whole->is_split = true;
      // Adding cells may move this one.
      for (uint64_t byte = 0; byte < 4; ++byte) {
        Cell* const part = find_or_add((dword + byte) | space | kIsByte);
        if (part == nullptr) return first;
        part->writer = known.writer;
        part->reader = known.reader;
        part->other_reader = known.other_reader;
      }
    }
    take(access_byte(at | space, writes, mark), at);
    ++at;
  }
  return first;
}

}  // namespace softgpu::isa
