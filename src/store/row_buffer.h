// RowBuffer<N>: collects rows of one table and inserts 64 of them with one statement, which is more
// than twice as fast as one statement a row. Used by Writer and upgrade; nothing reaches SQLite
// before flush() or full().
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

// A negative value stands for NULL.
struct Nullable {
  int64_t value;
};

template <int kColumns>
class RowBuffer {
 public:
  static constexpr int kRows = 64;

  // `insert` is "INSERT INTO table (a, b)" or "INSERT OR IGNORE INTO ...", without VALUES.
  Status prepare(Database& database, const std::string& insert) {
    std::string row = "(?";
    for (int i = 1; i < kColumns; ++i) row += ",?";
    row += ")";
    const std::string one = insert + " VALUES " + row;
    std::string many = one;
    for (int i = 1; i < kRows; ++i) many += "," + row;
    SONDE_ASSIGN(one_, database.prepare(one));
    SONDE_ASSIGN(many_, database.prepare(many));
    cells_.resize(static_cast<size_t>(kRows) * kColumns);
    return ok_status();
  }

  template <typename... Values>
  void add(const Values&... values) {
    static_assert(sizeof...(Values) == kColumns);
    Cell* cell = &cells_[static_cast<size_t>(count_) * kColumns];
    (set(*cell++, values), ...);
    ++count_;
  }

  bool full() const { return count_ == kRows; }

  // Inserts what was added. On failure the rows are dropped.
  Status flush() {
    auto status = count_ == kRows ? insert_many() : insert_singly();
    count_ = 0;
    text_.clear();
    return status;
  }

 private:
  enum class Kind : uint32_t { kInteger, kReal, kText, kNull };
  struct Cell {
    int64_t value;  // the integer, the bits of the double, or the place in text_
    uint32_t size;
    Kind kind;
  };

  void set(Cell& cell, int64_t value) { cell = {value, 0, Kind::kInteger}; }
  void set(Cell& cell, Nullable value) {
    cell = {value.value, 0, value.value < 0 ? Kind::kNull : Kind::kInteger};
  }
  void set(Cell& cell, double value) {
    std::memcpy(&cell.value, &value, sizeof value);
    cell.kind = Kind::kReal;
  }
  void set(Cell& cell, std::string_view text) {
    cell = {static_cast<int64_t>(text_.size()), static_cast<uint32_t>(text.size()), Kind::kText};
    text_.insert(text_.end(), text.begin(), text.end());
  }

  void bind(Statement& statement, int index, const Cell& cell) const {
    switch (cell.kind) {
      case Kind::kInteger:
        statement.bind(index, cell.value);
        break;
      case Kind::kNull:
        statement.bind_null(index);
        break;
      case Kind::kText:
        statement.bind_static(index, std::string_view(text_.data() + cell.value, cell.size));
        break;
      case Kind::kReal: {
        double value;
        std::memcpy(&value, &cell.value, sizeof value);
        statement.bind(index, value);
      }
    }
  }

  Status insert_many() {
    for (int i = 0; i < kRows * kColumns; ++i) bind(many_, i + 1, cells_[static_cast<size_t>(i)]);
    return many_.run();
  }

  Status insert_singly() {
    for (int row = 0; row < count_; ++row) {
      for (int i = 0; i < kColumns; ++i) {
        bind(one_, i + 1, cells_[static_cast<size_t>(row) * kColumns + static_cast<size_t>(i)]);
      }
      SONDE_TRY(one_.run());
    }
    return ok_status();
  }

  Statement one_, many_;
  std::vector<Cell> cells_;
  std::vector<char> text_;
  int count_ = 0;
};

}  // namespace sonde::store
