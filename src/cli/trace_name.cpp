#include "cli/trace_name.h"

#include <fmt/format.h>

#include "base/new_file.h"
#include "base/quoted.h"
#include "export/output/output_name.h"

namespace sonde::cli {

Status check_trace_name(const std::string& path) {
  SONDE_TRY(require_file_name(path));
  const exporting::Exporter* exporter = exporting::exporter_of_name(path);
  if (exporter == nullptr || exporting::is_database(*exporter)) return ok_status();
  return make_error(
      ErrorCode::kInvalidArgument, "a trace is an .rpd file, but this name is one of another kind",
      path, fmt::format("-o NAME.rpd, and then sonde export NAME.rpd -o {}", shell_word(path)));
}

}  // namespace sonde::cli
