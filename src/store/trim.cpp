#include "store/trim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <unordered_set>

#include "base/redact.h"
#include "base/strings.h"
#include "base/unique_fd.h"
#include "store/copy_rows.h"
#include "store/ingest/unfinished.h"
#include "store/schema/definitions.h"

namespace sonde::store {

namespace {

struct Reference {
  std::string column, table;
};

struct Table {
  std::string name, sql;
  std::vector<std::string> columns;
  std::vector<Reference> references;
};

// Kept as far as something refers to them, in an order in which a table's users come before it.
constexpr std::string_view kDictionaries[] = {"sonde_stack", "sonde_frame", "sonde_module",
                                              "rocpd_string", "rocpd_ustring"};
constexpr std::string_view kSpans[] = {"rocpd_api", "rocpd_op", "rocpd_monitor"};
constexpr std::string_view kMoments[] = {"sonde_counter", "sonde_flow", "sonde_sample",
                                         "sonde_blocked"};

// What older versions stored unchanged, and may hold secrets: hidden as in an export.
struct Told {
  std::string_view table, name, value;
};
constexpr Told kTold[] = {{"sonde_process", "", "command"},
                          {"sonde_note", "key", "value"},
                          {"rocpd_metadata", "tag", "value"}};

template <size_t kCount>
bool contains(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_known(const Table& table) { return starts_with_any(table.name, {"rocpd_", "sonde_"}); }

// As arrange() has it: what is zero long has to lie in the window, all else to share time with it.
std::string overlaps(const std::string& row, const TrimWindow& window) {
  return fmt::format(
      "iif({0}.\"end\" = {0}.start, {0}.start >= {1}, {0}.\"end\" > {1}) AND {0}.start < {2}", row,
      window.start_ns, window.end_ns);
}

class Trimming {
 public:
  Trimming(Database& in, Database& out, const TrimWindow& window)
      : in_(in), out_(out), window_(window) {}

  Status write(const std::string& origin);
  TrimReport report;

 private:
  Status find_tables();
  Status describe(Table& table);
  std::string condition(const Table& table) const;
  Status copy(const Table& table, const std::string& condition);
  Status copy_used(const Table& dictionary);
  Result<std::unordered_set<int64_t>> used_of(const Table& dictionary);
  Status follow(const Table& dictionary, const std::string& column,
                std::unordered_set<int64_t>& used);
  Result<bool> can_thin_strings();
  Status define(const char* kind);
  Status limit_processes();

  Database& in_;
  Database& out_;
  TrimWindow window_;
  std::vector<Table> tables_;
};

Status Trimming::describe(Table& table) {
  SONDE_ASSIGN(table.columns, columns_of(in_, table.name));
  SONDE_TRY(each_row(
      in_, "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?1)",
      [&](const Statement& keys) {
        table.references.push_back({std::string(keys.text(0)), std::string(keys.text(1))});
      },
      table.name));
  // Tables of old tools do not always declare them.
  for (const std::string& column : table.columns) {
    const bool known = std::any_of(table.references.begin(), table.references.end(),
                                   [&](const Reference& other) { return other.column == column; });
    if (known || table.name == "sonde_op_detail") continue;
    if (column == "api_id" || column == "api_ptr_id")
      table.references.push_back({column, "rocpd_api"});
    if (column == "op_id" || column == "op_ptr_id")
      table.references.push_back({column, "rocpd_op"});
  }
  return ok_status();
}

Status Trimming::find_tables() {
  SONDE_TRY(
      each_row(in_,
               "SELECT name, sql FROM main.sqlite_master WHERE type = "
               "'table' AND rootpage > 0 AND name NOT LIKE 'sqlite^_%' "
               "ESCAPE '^' ORDER BY rowid",
               [&](const Statement& rows) {
                 tables_.push_back({std::string(rows.text(0)), std::string(rows.text(1)), {}, {}});
               }));
  for (Table& table : tables_) {
    SONDE_TRY(describe(table));
    SONDE_TRY(run_definition_of_file(out_, table.sql));
  }
  return ok_status();
}

// The SQL condition for the rows, as t, that stay.
std::string Trimming::condition(const Table& table) const {
  std::string text = "1";
  if (contains(kSpans, table.name)) text += " AND " + overlaps("t", window_);
  if (contains(kMoments, table.name)) {
    text +=
        fmt::format(" AND t.time_ns >= {} AND t.time_ns < {}", window_.start_ns, window_.end_ns);
  }
  for (const Reference& reference : table.references) {
    if (reference.table != "rocpd_api" && reference.table != "rocpd_op") continue;
    text += fmt::format(
        " AND (t.{0} IS NULL OR EXISTS (SELECT 1 FROM main.{1} r WHERE r.id = t.{0} AND {2}))",
        quoted_name(reference.column), reference.table, overlaps("r", window_));
  }
  return text;
}

void bind_told(const Table& table, const Told& told, const Statement& from, Statement& to) {
  const auto place_of = [&](std::string_view column) {
    const auto found = std::find(table.columns.begin(), table.columns.end(), column);
    return found == table.columns.end() ? -1 : static_cast<int>(found - table.columns.begin());
  };
  const int name = place_of(told.name), value = place_of(told.value);
  if (value < 0 || from.is_null(value)) return;
  to.bind(value + 1, redact_fact(name < 0 ? "" : from.text(name), from.text(value)));
}

Status Trimming::copy(const Table& table, const std::string& condition) {
  std::string columns;
  for (const std::string& column : table.columns) {
    std::string value = "t." + quoted_name(column);
    if (table.name == "sonde_op_detail" && column == "api_id") {
      // The operation stays without the call that launched it.
      value = "(SELECT r.id FROM main.rocpd_api r WHERE r.id = t.api_id AND " +
              overlaps("r", window_) + ")";
    }
    columns += (columns.empty() ? "" : ", ") + value;
  }
  SONDE_ASSIGN(auto from, in_.prepare("SELECT " + columns + " FROM main." +
                                      quoted_name(table.name) + " t WHERE " + condition));
  SONDE_ASSIGN(auto to, insert_into(out_, table.name, table.columns));
  const Told* const told = std::find_if(std::begin(kTold), std::end(kTold),
                                        [&](const Told& one) { return one.table == table.name; });
  if (told == std::end(kTold)) return copy_rows(from, to);
  return each_row(from, [&](const Statement& row) {
    for (int i = 0; i < row.column_count(); ++i) to.bind_column(i + 1, row, i);
    bind_told(table, *told, row, to);
    return to.run();
  });
}

// The ids that the rows hold that stayed.
Result<std::unordered_set<int64_t>> Trimming::used_of(const Table& dictionary) {
  std::unordered_set<int64_t> used;
  const auto add = [&](Database& database, const std::string& sql) -> Status {
    return each_row(database, sql, [&](const Statement& rows) { used.insert(rows.integer(0)); });
  };
  for (const Table& table : tables_) {
    for (const Reference& reference : table.references) {
      if (reference.table != dictionary.name || table.name == dictionary.name) continue;
      const std::string column = quoted_name(reference.column);
      SONDE_TRY(add(out_, fmt::format("SELECT DISTINCT {0} FROM main.{1} WHERE {0} IS NOT NULL",
                                      column, quoted_name(table.name))));
    }
  }
  for (const Reference& reference : dictionary.references) {
    if (reference.table == dictionary.name) SONDE_TRY(follow(dictionary, reference.column, used));
  }
  // The empty text stands for "none", and views look for it.
  if (dictionary.columns.size() > 1 && dictionary.columns[1] == "string") {
    SONDE_TRY(add(in_, "SELECT id FROM main." + quoted_name(dictionary.name) +
                           " WHERE id = 1 OR string = ''"));
  }
  return used;
}

// Rows of the dictionary that others of it refer to, as a frame's caller is.
Status Trimming::follow(const Table& dictionary, const std::string& column,
                        std::unordered_set<int64_t>& used) {
  SONDE_ASSIGN(auto row, in_.prepare("SELECT " + quoted_name(column) + " FROM main." +
                                     quoted_name(dictionary.name) + " WHERE id = ?1"));
  std::vector<int64_t> open(used.begin(), used.end());
  while (!open.empty()) {
    row.bind(1, open.back());
    open.pop_back();
    SONDE_ASSIGN(const bool found, row.step());
    if (found && !row.is_null(0) && used.insert(row.integer(0)).second) {
      open.push_back(row.integer(0));
    }
    row.reset();
  }
  return ok_status();
}

// Not where tables of others may refer to texts without saying so.
Result<bool> Trimming::can_thin_strings() {
  for (const Table& table : tables_) {
    if (table.name == "rocpd_api" && table.references.empty()) return false;
    if (is_known(table)) continue;
    SONDE_ASSIGN(const int64_t any,
                 in_.integer("SELECT EXISTS (SELECT 1 FROM main." + quoted_name(table.name) + ")"));
    if (any != 0) return false;
  }
  return true;
}

Status Trimming::copy_used(const Table& dictionary) {
  SONDE_ASSIGN(const bool thin, can_thin_strings());
  if (!thin && starts_with_any(dictionary.name, {"rocpd_"})) return copy(dictionary, "1");
  SONDE_ASSIGN(const auto used, used_of(dictionary));
  std::vector<int64_t> ids(used.begin(), used.end());
  std::sort(ids.begin(), ids.end());
  SONDE_ASSIGN(auto from, in_.prepare("SELECT " + list_of(dictionary.columns) + " FROM main." +
                                      quoted_name(dictionary.name) + " WHERE id = ?1"));
  SONDE_ASSIGN(auto to, insert_into(out_, dictionary.name, dictionary.columns));
  for (const int64_t id : ids) {
    from.bind(1, id);
    SONDE_ASSIGN(const bool found, from.step());
    if (found) {
      SONDE_TRY(copy_row(from, to));
    }
    from.reset();
  }
  return ok_status();
}

Status Trimming::define(const char* kind) {
  return each_row(
      in_,
      "SELECT name, sql FROM main.sqlite_master WHERE type = ?1 AND "
      "sql IS NOT NULL AND name NOT LIKE 'sqlite^_%' ESCAPE '^' "
      "ORDER BY rowid",
      [&](const Statement& rows) {
        if (auto made = run_definition_of_file(out_, std::string(rows.text(1))); !made) {
          report.notes.push_back(fmt::format("the {} {} was not kept: {}", kind,
                                             std::string(rows.text(0)), made.error().message));
        }
      },
      std::string_view(kind));
}

// As in a part of a recording: what a program did before and after the window would be idle time.
Status Trimming::limit_processes() {
  SONDE_ASSIGN(const bool has_processes, out_.has_table("sonde_process"));
  if (!has_processes) return ok_status();
  return run(out_,
             "UPDATE sonde_process SET start_ns = max(start_ns, ?1), end_ns = min(end_ns, ?2) "
             "WHERE start_ns < ?2 AND ifnull(end_ns, ?2) > ?1",
             window_.start_ns, window_.end_ns);
}

Status Trimming::write(const std::string& origin) {
  SONDE_TRY(
      out_.exec("PRAGMA page_size=8192; PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY;"
                "PRAGMA foreign_keys=OFF"));
  SONDE_ASSIGN(auto transaction, Transaction::begin(out_));
  SONDE_TRY(find_tables());
  for (const Table& table : tables_) {
    if (!contains(kDictionaries, table.name)) SONDE_TRY(copy(table, condition(table)));
  }
  for (const std::string_view name : kDictionaries) {
    for (const Table& table : tables_) {
      if (table.name == name) SONDE_TRY(copy_used(table));
    }
  }
  SONDE_TRY(limit_processes());
  SONDE_TRY(define("index"));
  SONDE_TRY(define("view"));
  SONDE_ASSIGN(const bool facts, out_.has_table("rocpd_metadata"));
  if (facts) {
    SONDE_TRY(
        run(out_, "INSERT INTO rocpd_metadata (tag, value) VALUES ('sonde::trimmed', ?1)", origin));
  }
  SONDE_TRY(out_.exec("PRAGMA analysis_limit=400; ANALYZE"));
  SONDE_TRY(transaction.commit());
  return out_.exec("PRAGMA journal_mode=DELETE");
}

Status sync_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid() && ::fsync(file.get()) == 0) return ok_status();
  return errno_error("cannot be written", path, errno);
}

Status move_to(const std::string& made, const std::string& output, bool replace) {
  SONDE_TRY(sync_file(made));
  struct stat old {};
  if (replace && ::stat(output.c_str(), &old) == 0) ::chmod(made.c_str(), old.st_mode & 07777);
  // A link does not replace a file that was made meanwhile; some file systems have no links.
  const bool linked = !replace && ::link(made.c_str(), output.c_str()) == 0;
  if (linked) {
    ::unlink(made.c_str());
    return ok_status();
  }
  if (!replace && errno == EEXIST) {
    return make_error(ErrorCode::kIo, "already exists", output, "choose another name with -o");
  }
  if (std::rename(made.c_str(), output.c_str()) == 0) return ok_status();
  return errno_error("cannot be written", output, errno);
}

}  // namespace

Result<TrimReport> count_trimmed(Reader& reader, const TrimWindow& window) {
  Database& in = reader.database();
  TrimReport report;
  for (const auto& [rows, table] :
       {std::pair(&report.apis, "rocpd_api"), std::pair(&report.ops, "rocpd_op")}) {
    const std::string all = fmt::format("SELECT count(*) FROM main.{} t", table);
    SONDE_ASSIGN(rows->before, in.integer(all));
    SONDE_ASSIGN(rows->after, in.integer(all + " WHERE " + overlaps("t", window)));
  }
  return report;
}

Result<TrimReport> trim(Reader& reader, const std::string& output, const TrimWindow& window,
                        const std::string& origin, bool replace) {
  Database& in = reader.database();
  SONDE_ASSIGN(const auto unfinished, unfinished_session(in));
  if (unfinished) {
    return make_error(ErrorCode::kUnsupported, "the recording is not finished", reader.path(),
                      "sonde recover finishes it");
  }
  SONDE_ASSIGN(auto snapshot, Transaction::begin(in));
  SONDE_ASSIGN(TrimReport counts, count_trimmed(reader, window));
  const std::filesystem::path path(output);
  const std::string made =
      (path.parent_path() / fmt::format(".{}.{}", path.filename().string(), ::getpid())).string();
  const auto write = [&]() -> Status {
    auto out = Database::open(made, Database::Mode::kCreate);
    if (!out) {
      Error error = std::move(out).error();
      error.context = output;  // the name that the user knows
      return error;
    }
    Trimming trimming(in, *out, window);
    SONDE_TRY(trimming.write(origin));
    counts.notes = std::move(trimming.report.notes);
    return ok_status();
  };
  Status status = write();
  if (status) status = move_to(made, output, replace);
  if (!status) {
    ::unlink(made.c_str());
    return std::move(status).error();
  }
  return counts;
}

}  // namespace sonde::store
