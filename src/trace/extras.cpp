#include "trace/extras.h"

#include <algorithm>

#include "base/number.h"
#include "store/scan.h"
#include "trace/row_index.h"

namespace sonde::trace {
namespace {

int64_t handle_of(std::string_view text) {
  if (text.substr(0, 2) == "0x") text.remove_prefix(2);
  const auto value = number_in<uint64_t>(text, 16);
  return value ? static_cast<int64_t>(*value) : kNoStream;
}

}  // namespace

Status load_streams(store::Database& database, const std::vector<int64_t>& api_ids, Trace& trace) {
  SONDE_ASSIGN(const bool kernels, database.has_table("rocpd_kernelapi"));
  SONDE_ASSIGN(const bool copies, database.has_table("rocpd_copyapi"));
  if (!kernels || !copies) return ok_status();
  trace.apis.stream.assign(trace.apis.size(), kNoStream);
  trace.apis.blocks.assign(trace.apis.size(), 0);
  RowIndex of_kernels(api_ids), of_copies(api_ids);
  SONDE_TRY(store::scan(database, "api_ptr_id, stream", "rocpd_kernelapi", {},
                        [&](const store::Row& row) {
                          const auto api = of_kernels.row(row.integer(0));
                          if (api && !row.is_null(1))
                            trace.apis.stream[*api] = handle_of(row.text(1));
                        }));
  SONDE_TRY(store::scan(database, "api_ptr_id, stream, sync, srcDevice, dstDevice", "rocpd_copyapi",
                        {}, [&](const store::Row& row) {
                          const auto api = of_copies.row(row.integer(0));
                          if (!api) return;
                          if (!row.is_null(1)) trace.apis.stream[*api] = handle_of(row.text(1));
                          trace.apis.blocks[*api] = row.integer_or(2, 0) != 0 ? 1 : 0;
                          const int64_t from = row.integer_or(3, -1), to = row.integer_or(4, -1);
                          if (from < 0 || to < 0 || from == to) return;
                          trace.apis.between_gpus.resize(trace.apis.size());
                          trace.apis.between_gpus[*api] = 1;
                        }));
  const auto& streams = trace.apis.stream;
  const auto& blocks = trace.apis.blocks;
  const bool says_nothing =
      std::all_of(streams.begin(), streams.end(), [](int64_t of) { return of == kNoStream; }) &&
      std::all_of(blocks.begin(), blocks.end(), [](uint8_t of) { return of == 0; });
  if (says_nothing) {
    trace.apis.stream.clear();
    trace.apis.blocks.clear();
  }
  return ok_status();
}

}  // namespace sonde::trace
