// Sampled call stacks of the CPU as paths of Stacks: process, thread, and the functions from the
// outermost to the innermost, those that were inlined too.
#pragma once

#include "base/result.h"
#include "export/exporter.h"
#include "export/stacks/stacks.h"

namespace sonde::exporting {

// Adds the CPU time of the samples of the file that `options` asks for.
Status add_samples(store::Reader& reader, const Options& options, StackBuilder& builder);

}  // namespace sonde::exporting
