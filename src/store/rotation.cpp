#include "store/rotation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/strings.h"
#include "store/copy_rows.h"
#include "store/input_file.h"
#include "store/reader.h"
#include "store/trim.h"
#include "store/writer.h"

namespace sonde::store {

namespace {

// Selects the processes that go on.
constexpr std::string_view kRunning = "IN (SELECT id FROM sonde_process WHERE end_ns IS NULL)";

struct Copied {
  std::string_view table;
  std::string where;
};

std::vector<Copied> copied_tables() {
  const std::string running(kRunning);
  return {
      {"rocpd_metadata", "true"},
      {"rocpd_string", "true"},
      {"rocpd_ustring", "id = 1 OR id IN (SELECT id FROM moved_text)"},
      {"sonde_process", "end_ns IS NULL"},
      {"sonde_thread", "process_id " + running},
      {"sonde_device", "true"},
      {"sonde_queue", "true"},
      {"sonde_note", "process_id IS NULL OR process_id " + running},
      {"sonde_module", "true"},
      {"sonde_frame", "true"},
      {"sonde_stack", "true"},
      // As late as an event can come after the clocks were read.
      {"sonde_clock_snapshot", "id > (SELECT max(id) FROM sonde_clock_snapshot) - 600"},
      {"sonde_ingest", "key NOT LIKE 'drop %'"},
  };
}

// What goes on in the next part, by the table that says so.
struct Moved {
  std::string_view table, column, ids;
};
constexpr Moved kMoved[] = {
    {"rocpd_copyapi", "api_ptr_id", "moved_api"},  {"rocpd_kernelapi", "api_ptr_id", "moved_api"},
    {"sonde_launch_stack", "api_id", "moved_api"}, {"rocpd_api", "id", "moved_api"},
    {"sonde_op_detail", "op_id", "moved_op"},      {"rocpd_counter", "op_id", "moved_op"},
    {"sonde_op_counter", "op_id", "moved_op"},     {"rocpd_op", "id", "moved_op"},
};

Status copy_table(Database& from, Database& to, std::string_view table, const std::string& where,
                  bool without_id = false) {
  SONDE_ASSIGN(auto columns, columns_of(from, table));
  if (without_id) std::erase(columns, "id");
  SONDE_ASSIGN(auto rows, from.prepare("SELECT " + list_of(columns) + " FROM main." +
                                       quoted_name(table) + " WHERE " + where));
  SONDE_ASSIGN(auto insert, insert_into(to, table, columns));
  return copy_rows(rows, insert);
}

// Notes which rows go on, and leaves out of the state which calls and operations do not any more.
class Pending {
 public:
  static Result<Pending> open(Database& part, const PartStart& start) {
    SONDE_TRY(
        part.exec("CREATE TEMP TABLE moved_api (id integer PRIMARY KEY);"
                  "CREATE TEMP TABLE moved_op (id integer PRIMARY KEY);"
                  "CREATE TEMP TABLE moved_text (id integer PRIMARY KEY)"));
    Pending pending(start);
    SONDE_ASSIGN(pending.api_, part.prepare("INSERT OR IGNORE INTO moved_api VALUES (?1)"));
    SONDE_ASSIGN(pending.op_, part.prepare("INSERT OR IGNORE INTO moved_op VALUES (?1)"));
    SONDE_ASSIGN(pending.text_, part.prepare("INSERT OR IGNORE INTO moved_text VALUES (?1)"));
    return pending;
  }

  Result<std::string> take(std::string_view state) {
    std::string kept;
    for (const auto line : split(state, '\n')) {
      const auto words = split(line, ' ');
      const auto number = [&](size_t i) {
        return i < words.size() ? parse_int(words[i]).value_or(0) : 0;
      };
      if (line.empty()) continue;
      const bool call = line[0] == 'c', op = line[0] == 'w' && number(2) != 0;
      // What has waited for a part already stays in this one.
      if ((call && number(2) <= start_.api_id) || (op && number(2) <= start_.op_id)) continue;
      if (call) SONDE_TRY(add(api_, number(2)));
      if (op) SONDE_TRY(add(op_, number(2)));
      if (line[0] == 's') SONDE_TRY(add(text_, number(4)));
      kept += std::string(line) + "\n";
    }
    return kept;
  }

 private:
  explicit Pending(const PartStart& start) : start_(start) {}
  static Status add(Statement& insert, int64_t id) {
    insert.bind(1, id);
    return insert.run();
  }

  PartStart start_;
  Statement api_, op_, text_;
};

// The state's lines of what is pending are rewritten in `part`, from where they are copied.
Status find_pending(Database& part, const PartStart& start) {
  SONDE_ASSIGN(auto pending, Pending::open(part, start));
  std::vector<std::pair<std::string, std::string>> states;
  SONDE_TRY(each_row(part, "SELECT key, value FROM sonde_ingest WHERE key LIKE 'pending %'",
                     [&](const Statement& rows) -> Status {
                       SONDE_ASSIGN(std::string kept, pending.take(rows.text(1)));
                       states.emplace_back(rows.text(0), std::move(kept));
                       return ok_status();
                     }));
  SONDE_ASSIGN(auto update, part.prepare("UPDATE sonde_ingest SET value = ?2 WHERE key = ?1"));
  for (const auto& [key, value] : states) {
    bind_all(update, key, value);
    SONDE_TRY(update.run());
  }
  return part.exec(
      "INSERT OR IGNORE INTO moved_text SELECT args_id FROM rocpd_api "
      "WHERE id IN (SELECT id FROM moved_api)");
}

std::string moved_condition(const Moved& moved) {
  return std::string(moved.column) + " IN (SELECT id FROM temp." + std::string(moved.ids) + ")";
}

Status fill_next(Database& part, Database& next, int64_t now_ns) {
  SONDE_TRY(
      next.exec("DELETE FROM rocpd_metadata; DELETE FROM rocpd_string; "
                "DELETE FROM rocpd_ustring; DELETE FROM sqlite_sequence"));
  for (const Copied& each : copied_tables()) {
    SONDE_TRY(copy_table(part, next, each.table, each.where));
  }
  for (const Moved& each : kMoved) {
    SONDE_TRY(copy_table(part, next, each.table, moved_condition(each)));
  }
  // The numbers go on; inserting has begun some of these rows already.
  SONDE_TRY(next.exec("DELETE FROM sqlite_sequence"));
  SONDE_ASSIGN(auto rows, part.prepare("SELECT name, seq FROM sqlite_sequence"));
  SONDE_ASSIGN(auto insert, next.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)"));
  SONDE_TRY(copy_rows(rows, insert));
  return run(next, "UPDATE sonde_process SET start_ns = ?1", now_ns);
}

Status take_out(Database& part, int64_t now_ns) {
  for (const Moved& each : kMoved) {
    SONDE_TRY(
        part.exec("DELETE FROM " + std::string(each.table) + " WHERE " + moved_condition(each)));
  }
  return run(part, "UPDATE sonde_process SET end_ns = max(?1, start_ns) WHERE end_ns IS NULL",
             now_ns);
}

Result<int64_t> last_number(Database& part, std::string_view table) {
  return part.integer(fmt::format("SELECT seq FROM sqlite_sequence WHERE name = '{}'", table));
}

}  // namespace

Result<PartStart> hand_over(Database& part, const PartStart& start, const std::string& next,
                            int64_t now_ns) {
  SONDE_ASSIGN(const int64_t last_api, last_number(part, "rocpd_api"));
  SONDE_ASSIGN(const int64_t last_op, last_number(part, "rocpd_op"));
  SONDE_TRY(find_pending(part, start));
  // It has its name when it is whole.
  const std::filesystem::path path(next);
  const std::string made = (path.parent_path() / ("." + path.filename().string())).string();
  ::unlink(made.c_str());  // of a recorder that was killed
  const auto fill = [&]() -> Status {
    SONDE_ASSIGN(Writer writer, Writer::open(made, Writer::Mode::kCreate));
    SONDE_TRY(fill_next(part, writer.database(), now_ns));
    return writer.commit();
  };
  auto filled = fill();
  if (filled && std::rename(made.c_str(), next.c_str()) != 0) {
    filled = errno_error("cannot be renamed", next, errno);
  }
  if (!filled) {
    ::unlink(made.c_str());
    return std::move(filled).error();
  }
  SONDE_TRY(take_out(part, now_ns));
  SONDE_TRY(part.exec("DROP TABLE moved_api; DROP TABLE moved_op; DROP TABLE moved_text"));
  return PartStart{last_api, last_op};
}

Result<std::string> rotated_recording(Database& database) {
  SONDE_ASSIGN(const bool there, database.has_table("rocpd_metadata"));
  if (!there) return std::string();
  return database.text(
      fmt::format("SELECT value FROM rocpd_metadata WHERE tag = '{}'", kRecordingTag));
}

namespace {

// How the rows of a table of several parts become those of one.
enum class Join {
  kByKey,    // equal keys are the same row, which several parts have
  kAll,      // each row is of one part, and has a number there that means nothing
  kNoTwice,  // equal rows are one
};
struct Joined {
  std::string_view table;
  Join how = Join::kByKey;
};
constexpr Joined kJoined[] = {
    {"rocpd_string"},
    {"rocpd_ustring"},
    {"rocpd_api"},
    {"rocpd_op"},
    {"rocpd_api_ops"},
    {"rocpd_copyapi"},
    {"rocpd_kernelapi"},
    {"rocpd_counter"},
    {"rocpd_monitor"},
    {"rocpd_stackframe"},
    {"sonde_process"},
    {"sonde_thread", Join::kNoTwice},
    {"sonde_device"},
    {"sonde_queue"},
    {"sonde_clock_snapshot"},
    {"sonde_diagnostic", Join::kAll},
    {"sonde_drop", Join::kAll},
    {"sonde_op_detail"},
    {"sonde_counter", Join::kAll},
    {"sonde_op_args"},
    {"sonde_flow", Join::kAll},
    {"sonde_note", Join::kNoTwice},
    {"sonde_unfinished"},
    {"sonde_module"},
    {"sonde_frame"},
    {"sonde_stack"},
    {"sonde_sample", Join::kAll},
    {"sonde_blocked", Join::kAll},
    {"sonde_launch_stack"},
    {"sonde_op_counter", Join::kAll},
    {"sonde_fault", Join::kAll},
};

// Each part has a process's time within that part: joins them.
Status extend_processes(Database& from, Database& to) {
  SONDE_ASSIGN(auto rows, from.prepare("SELECT id, start_ns, end_ns, exit FROM sonde_process"));
  SONDE_ASSIGN(auto update,
               to.prepare("UPDATE sonde_process SET start_ns = min(start_ns, ?2), end_ns = "
                          "max(end_ns, ?3), exit = iif(?3 >= end_ns, ?4, exit) WHERE id = ?1"));
  return copy_rows(rows, update);
}

Status make_distinct(Database& database, std::string_view table, std::string_view key) {
  return database.exec("DELETE FROM " + std::string(table) +
                       " WHERE rowid NOT IN (SELECT min(rowid) FROM " + std::string(table) +
                       " GROUP BY " + std::string(key) + ")");
}

Status join_one(Database& from, Database& to) {
  for (const Joined& each : kJoined) {
    SONDE_ASSIGN(const bool there, from.has_table(each.table));
    if (!there) continue;
    SONDE_ASSIGN(const bool known, to.has_table(each.table));
    if (!known) {
      SONDE_ASSIGN(const std::string sql, from.text("SELECT sql FROM sqlite_master WHERE name = '" +
                                                    std::string(each.table) + "'"));
      SONDE_TRY(to.exec(sql));
    }
    SONDE_TRY(copy_table(from, to, each.table, "true", each.how != Join::kByKey));
  }
  SONDE_TRY(extend_processes(from, to));
  SONDE_TRY(make_distinct(to, "sonde_thread", "process_id, tid"));
  return make_distinct(to, "sonde_note", "process_id, key, value");
}

Status join_into(Writer& writer, const std::vector<std::string>& parts) {
  Database& out = writer.database();
  for (const std::string& path : parts) {
    SONDE_ASSIGN(auto part, open_input(path));  // a killed recorder leaves a journal beside it
    if (path == parts.front()) SONDE_TRY(out.exec("DELETE FROM rocpd_metadata"));
    SONDE_TRY(join_one(part, out));
    SONDE_ASSIGN(auto known, out.prepare("SELECT 1 FROM rocpd_metadata WHERE tag = ?1 AND (value = "
                                         "?2 OR tag NOT LIKE 'references::%')"));
    SONDE_ASSIGN(auto insert,
                 out.prepare("INSERT INTO rocpd_metadata (tag, value) VALUES (?1, ?2)"));
    SONDE_TRY(each_row(part, "SELECT tag, value FROM rocpd_metadata ORDER BY id",
                       [&](const Statement& rows) -> Status {
                         known.bind_column(1, rows, 0);
                         known.bind_column(2, rows, 1);
                         SONDE_ASSIGN(const bool twice, known.step());
                         known.reset();
                         if (twice) return ok_status();
                         insert.bind_column(1, rows, 0);
                         insert.bind_column(2, rows, 1);
                         return insert.run();
                       }));
    SONDE_TRY(writer.commit());
  }
  SONDE_TRY(
      out.exec("CREATE TEMP TABLE sum AS SELECT source, reason, sum(count) AS count FROM "
               "sonde_drop GROUP BY 1, 2; DELETE FROM sonde_drop; "
               "INSERT INTO sonde_drop SELECT * FROM sum; DROP TABLE sum"));
  return writer.finish();
}

Status join_all(const std::vector<std::string>& parts, const std::string& output) {
  SONDE_ASSIGN(Writer writer, Writer::open(output, Writer::Mode::kCreate));
  auto joined = join_into(writer, parts);
  if (!joined) ::unlink(output.c_str());
  return joined;
}

Status cut_last(const std::string& whole, const std::string& output, int64_t last_ns) {
  SONDE_ASSIGN(auto reader, Reader::open(whole));
  SONDE_ASSIGN(const int64_t end,
               reader.database().integer("SELECT max(end_ns) FROM sonde_process"));
  const TrimWindow window{.start_ns = end - last_ns};
  const std::string origin = "the last " + format_duration(last_ns) + " of a recording";
  const auto report = trim(reader, output, window, origin, false);
  return report ? ok_status() : Status(report.error());
}

}  // namespace

Status join_parts(const std::vector<std::string>& parts, const std::string& output,
                  int64_t last_ns) {
  if (last_ns == 0) return join_all(parts, output);
  const std::filesystem::path path(output);
  const std::string whole =
      (path.parent_path() / fmt::format(".{}.{}.joined", path.filename().string(), ::getpid()))
          .string();
  auto status = join_all(parts, whole);
  if (status) status = cut_last(whole, output, last_ns);
  ::unlink(whole.c_str());
  return status;
}

}  // namespace sonde::store
