// RowBuffer<N>: collects rows of one table and inserts 128 of them with one statement, which is
// more than twice as fast as one statement a row. NumberedRows<N>: the same for tables whose ids
// ascend by one. Used by Writer; nothing reaches SQLite before flush().
#pragma once

#include <algorithm>
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
  static constexpr int kRows = 128;

  // `insert` is "INSERT OR FAIL INTO table (a, b)", without VALUES. With plain INSERT, which is to
  // be undone alone when it fails, SQLite would copy every page that it changes. `database` must
  // outlive this.
  Status prepare(Database& database, const std::string& insert) {
    database_ = &database;
    insert_ = insert;
    SONDE_ASSIGN(one_, database.prepare(insert + " VALUES " + placeholders()));
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
  bool empty() const { return count_ == 0; }

  Status make_room() { return full() ? flush() : ok_status(); }

  // Inserts what was added. On failure the rows are dropped.
  Status flush() {
    auto status = count_ == kRows ? insert_many() : insert_singly();
    count_ = 0;
    text_.clear();
    return status;
  }

  int64_t inserted_id() const { return one_.inserted_id(); }

 private:
  enum class Kind : uint32_t { kInteger, kReal, kText, kNull, kUnbound };
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
    cell.size = 0;
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
        break;
      }
      case Kind::kUnbound:
        break;
    }
  }

  static std::string placeholders() {
    std::string row = "(?";
    for (int i = 1; i < kColumns; ++i) row += ",?";
    return row + ")";
  }

  // Only when there are that many rows: it takes SQLite a millisecond or more.
  Status prepare_many() {
    std::string sql = insert_ + " VALUES " + placeholders();
    for (int i = 1; i < kRows; ++i) sql += "," + placeholders();
    SONDE_ASSIGN(many_, database_->prepare(sql));
    bound_.assign(cells_.size(), Cell{0, 0, Kind::kUnbound});
    return ok_status();
  }

  // Most columns of most rows say what those 128 rows ago said, and a statement keeps what is
  // bound.
  Status insert_many() {
    if (bound_.empty()) SONDE_TRY(prepare_many());
    for (size_t i = 0; i < cells_.size(); ++i) {
      const Cell& cell = cells_[i];
      Cell& bound = bound_[i];
      if (cell.kind == bound.kind && cell.value == bound.value && cell.kind != Kind::kText)
        continue;
      bind(many_, static_cast<int>(i) + 1, cell);
      bound = cell;
    }
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

  Database* database_ = nullptr;
  std::string insert_;
  Statement one_, many_;
  std::vector<Cell> cells_;
  std::vector<Cell> bound_;  // to many_
  std::vector<char> text_;
  int count_ = 0;
};

// SQLite numbers the rows itself, because it appends them without a search then; that it comes to
// the ids given out here is checked.
template <int kColumns>
class NumberedRows {
 public:
  // `columns` without the id.
  Status prepare(Database& database, const std::string& table, const std::string& columns) {
    table_ = table;
    return rows_.prepare(database, "INSERT OR FAIL INTO " + table + " (" + columns + ")");
  }

  // After the rows the table has, and had.
  Status go_on(Database& database) {
    SONDE_ASSIGN(const int64_t last, database.integer("SELECT max(rowid) FROM " + table_));
    SONDE_ASSIGN(const int64_t most,
                 database.integer("SELECT seq FROM sqlite_sequence WHERE name = '" + table_ + "'"));
    next_id_ = std::max(last, most) + 1;
    return ok_status();
  }

  int64_t next_id() const { return next_id_; }
  void set_next_id(int64_t id) { next_id_ = id; }

  template <typename... Values>
  void add(const Values&... values) {
    rows_.add(values...);
    ++next_id_;
  }

  bool full() const { return rows_.full(); }
  Status make_room() { return full() ? flush() : ok_status(); }

  Status flush() {
    if (rows_.empty()) return ok_status();
    SONDE_TRY(rows_.flush());
    if (rows_.inserted_id() == next_id_ - 1) return ok_status();
    return make_error(ErrorCode::kInternal, "its rows got other ids than expected", table_);
  }

 private:
  RowBuffer<kColumns> rows_;
  std::string table_;
  int64_t next_id_ = 1;
};

}  // namespace sonde::store
