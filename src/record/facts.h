// What a trace says about the recording itself: command, environment, version, clock.
#pragma once

#include "record/options.h"
#include "store/writer.h"
#include "wire/session.h"

namespace sonde::record {

void store_facts(store::Writer& writer, const Options& options,
                 const wire::SessionControl& control);

}  // namespace sonde::record
