#include "metrics/workload/choose.h"

#include <algorithm>

namespace sonde::metrics {

Result<Workload> chosen_dispatches(const DispatchChoice& choice, Workload workload) {
  if (choice.kernels.wants_all() && !choice.gpu && choice.dispatches.empty()) return workload;
  std::vector<bool> keep(workload.rows());
  for (size_t i = 0; i < workload.rows(); ++i) {
    const int64_t number = workload.dispatches[i];
    const bool in_range =
        choice.dispatches.empty() ||
        std::any_of(choice.dispatches.begin(), choice.dispatches.end(), [&](const auto& range) {
          return range.first <= number && number <= range.second;
        });
    keep[i] = in_range && choice.kernels.wants(workload.kernels[i]) &&
              (!choice.gpu || workload.gpus[i] == *choice.gpu);
  }
  if (std::find(keep.begin(), keep.end(), true) == keep.end()) {
    return make_error(ErrorCode::kNotFound, "no dispatch matches the filters", workload.path);
  }
  return only_rows(workload, keep);
}

}  // namespace sonde::metrics
