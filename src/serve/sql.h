// SQL that the page sends, and what there is to ask. Private to src/serve.
#pragma once

#include <string>

#include "base/result.h"
#include "store/reader.h"

namespace sonde::serve {

// {"columns": [...], "cut": false, "rows": [[...]]}. An error is the asker's.
Result<std::string> sql_json(store::Reader& reader, const std::string& sql);
// {"tables": [{"name": "v_op", "view": true, "columns": ["id", ...]}]}: first the views that are
// the same in every file.
Result<std::string> schema_json(store::Reader& reader);

}  // namespace sonde::serve
