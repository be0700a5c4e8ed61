#include "store/scan.h"

#include <sqlite3.h>

namespace sonde::store {

namespace {

struct Call {
  RowFunction function;
  void* context;
};

void on_row(sqlite3_context* context, int, sqlite3_value** values) {
  const Call& call = *static_cast<const Call*>(sqlite3_user_data(context));
  call.function(call.context, Row(values));
}

void on_end(sqlite3_context* context) { sqlite3_result_null(context); }

constexpr const char* kFunction = "sonde_scan";

}  // namespace

bool Row::is_null(int column) const { return sqlite3_value_type(values_[column]) == SQLITE_NULL; }

int64_t Row::integer(int column) const { return sqlite3_value_int64(values_[column]); }

int64_t Row::integer_or(int column, int64_t fallback) const {
  const int64_t value = integer(column);  // 0 for NULL
  return value == 0 && is_null(column) ? fallback : value;
}

double Row::real(int column) const { return sqlite3_value_double(values_[column]); }

std::string_view Row::text(int column) const {
  const unsigned char* text = sqlite3_value_text(values_[column]);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_value_bytes(values_[column]))};
}

Status scan_rows(Database& database, const std::string& columns, const std::string& source,
                 std::initializer_list<int64_t> parameters, RowFunction function, void* context) {
  Call call{function, context};
  // DIRECTONLY: a view in the file cannot call it.
  const int code =
      sqlite3_create_function(database.handle(), kFunction, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                              &call, nullptr, on_row, on_end);
  if (code != SQLITE_OK) {
    return make_error(ErrorCode::kInternal, sqlite3_errstr(code), database.path());
  }
  SONDE_ASSIGN(Statement statement,
               database.prepare("SELECT sonde_scan(" + columns + ") FROM " + source));
  int index = 0;
  for (const int64_t parameter : parameters) statement.bind(++index, parameter);
  return statement.run();
}

}  // namespace sonde::store
