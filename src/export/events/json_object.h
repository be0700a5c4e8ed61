// Looks into JSON that a trace brought with it (the arguments of its events), so that it can be
// written again as it stands. Used by the Chrome JSON exporter.
#pragma once

#include <string_view>
#include <vector>

namespace sonde::exporting {

struct JsonMember {
  std::string_view key;    // without quotes, with the escapes of the text
  std::string_view value;  // as it stands in the text
};

// The members of the object that `text` is. False if it is not an object, or not valid JSON: then
// it must not be copied into a JSON document. `members` is reused memory.
bool json_members(std::string_view text, std::vector<JsonMember>& members);

// True for any value that may stand in a JSON document as it is.
bool is_json(std::string_view text);

}  // namespace sonde::exporting
