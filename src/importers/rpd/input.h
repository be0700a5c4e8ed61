// An .rpd as a file to import: how `sonde merge` brings recordings together. It is not an entry of
// all_importers(), because every command reads an .rpd as it is.
#pragma once

#include "importers/importer.h"

namespace sonde::importers {

const Importer& rpd_input();

}  // namespace sonde::importers
