#include "cli/print_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <set>

#include "base/strings.h"
#include "cli/terminal.h"
#include "report/layout.h"
#include "report/render.h"
#include "store/read_only.h"

namespace sonde::cli {
namespace {

report::Value value_of(const store::Statement& rows, int column) {
  switch (store::value_type(rows, column)) {
    case store::ValueType::kInteger:
      return rows.integer(column);
    case store::ValueType::kReal:
      return rows.real(column);
    case store::ValueType::kNull:
      return std::monostate{};
    case store::ValueType::kBlob:
      return "x'" + hex_text(rows.text(column)) + "'";
    default:
      return std::string(rows.text(column));
  }
}

// JSON needs different keys: a second "start" becomes "start:1", as in SQLite's own views.
void add_columns(const store::Statement& rows, report::Table& table) {
  std::set<std::string> taken;
  for (int c = 0; c < rows.column_count(); ++c) {
    const std::string name = rows.column_name(c);
    std::string key = name;
    for (int n = 1; !taken.insert(key).second; ++n) key = fmt::format("{}:{}", name, n);
    report::Column column{key, key, report::Kind::kId};
    table.add_column(column);
  }
}

// Text aligns left, numbers right; decided by what the column holds.
void choose_alignment(report::Table& table) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    for (const auto& row : table.rows) {
      if (std::holds_alternative<std::string>(row[c])) {
        table.columns[c].kind = report::Kind::kText;
        break;
      }
    }
  }
}

// The rows are printed as they come, a part at a time: a result may be larger than memory. Text is
// laid out by the first part.
constexpr size_t kRowsOfPart = 1000;

class Printer {
 public:
  Printer(const Arguments& arguments, size_t limit)
      : renderer_(*report::find_renderer(arguments.value_or("format", "text"))), limit_(limit) {
    options_.width = report::terminal_width(STDOUT_FILENO);
    options_.colour = report::wants_colour(STDOUT_FILENO);
    report_.name = "query";
    report_.subject = arguments.positionals()[0];
    report_.sections.push_back({"rows", "", {}, {}, ""});
  }

  Status print(store::Statement& rows) {
    add_columns(rows, table());
    for (;;) {
      SONDE_ASSIGN(const bool more, rows.step());
      if (!more) break;
      if (limit_ != 0 && part_.rows_before + table().rows.size() >= limit_) {
        ++table().rows_left_out;
        continue;
      }
      if (table().rows.size() == kRowsOfPart) SONDE_TRY(write(false));
      std::vector<report::Value> row;
      for (int c = 0; c < rows.column_count(); ++c) row.push_back(value_of(rows, c));
      table().add_row(std::move(row));
    }
    return write(true);
  }

 private:
  report::Table& table() { return report_.sections.front().table; }

  Status write(bool last) {
    if (part_.first) choose_alignment(table());
    part_.last = last;
    SONDE_TRY(write_stdout(renderer_.render_part(report_, options_, part_)));
    part_.first = false;
    part_.rows_before += table().rows.size();
    table().rows.clear();
    return ok_status();
  }

  const report::Renderer& renderer_;
  const size_t limit_;
  report::RenderOptions options_;
  report::Report report_;
  report::Part part_;
};

}  // namespace

Status print_rows(const Arguments& arguments, store::Statement& rows, size_t limit) {
  return Printer(arguments, limit).print(rows);
}

}  // namespace sonde::cli
