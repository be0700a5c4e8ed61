#include "store/frames.h"
#include "store/each_row.h"

namespace sonde::store {

Result<std::vector<UnnamedModule>> unnamed_modules(Database& database) {
  std::vector<UnnamedModule> modules;
  SONDE_TRY(each_row(database,
                     "SELECT id, path, build_id FROM sonde_module WHERE id IN (SELECT "
                     "module_id FROM sonde_frame WHERE function IS NULL)",
                     [&](const Statement& statement) {
                       modules.push_back({statement.integer(0), std::string(statement.text(1)),
                                          std::string(statement.text(2))});
                     }));
  return modules;
}

Result<std::vector<UnnamedFrame>> unnamed_frames(Database& database, int64_t module) {
  std::vector<UnnamedFrame> frames;
  SONDE_TRY(each_row(
      database,
      "SELECT id, address FROM sonde_frame WHERE module_id = ?1 AND "
      "function IS NULL AND address IS NOT NULL ORDER BY address",
      [&](const Statement& statement) {
        frames.push_back({statement.integer(0), static_cast<uint64_t>(statement.integer(1))});
      },
      module));
  return frames;
}

Result<FrameNamer> FrameNamer::open(Database& database) {
  SONDE_ASSIGN(auto update,
               database.prepare("UPDATE sonde_frame SET function = ?2, file = nullif(?3, ''), line "
                                "= nullif(?4, 0), inlined_into = nullif(?5, 0) WHERE id = ?1"));
  SONDE_ASSIGN(
      auto insert,
      database.prepare("INSERT INTO sonde_frame (id, kind, module_id, function, file, line, "
                       "inlined_into) SELECT ?1, kind, module_id, ?3, nullif(?4, ''), nullif(?5, "
                       "0), nullif(?6, 0) FROM sonde_frame WHERE id = ?2"));
  SONDE_ASSIGN(const int64_t last, database.integer("SELECT max(id) FROM sonde_frame"));
  return FrameNamer(std::move(update), std::move(insert), last + 1);
}

Status FrameNamer::name(const UnnamedFrame& frame, const std::vector<FrameName>& names) {
  // From the outermost, so that each can point to the one that it is inlined into.
  int64_t outer = 0;
  for (size_t i = names.size(); i-- > 1;) {
    const auto& [function, file, line] = names[i];
    bind_all(insert_, next_id_, frame.id, function, file, line, outer);
    SONDE_TRY(insert_.run());
    outer = next_id_++;
  }
  const auto& [function, file, line] = names[0];
  bind_all(update_, frame.id, function, file, line, outer);
  return update_.run();
}

}  // namespace sonde::store
