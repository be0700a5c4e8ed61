// The arguments of a call one by one, from the two forms in which an .rpd has them: "name = value |
// name = value", as RPD writes them, and a JSON object. Used by the Perfetto exporter, whose viewer
// shows a table of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "export/events/json_object.h"

namespace sonde::exporting {

struct CallArgument {
  enum class Kind : uint8_t { kInteger, kText, kJson };
  std::string_view name;
  Kind kind = Kind::kText;
  int64_t integer = 0;
  std::string_view text;  // of kText, and of kJson as it stands
};

class CallArguments {
 public:
  // False if the text has neither form: it is one argument then. Views of the text are valid as
  // long as it is.
  bool split(std::string_view text);

  const std::vector<CallArgument>& list() const { return list_; }
  bool was_json() const { return was_json_; }

 private:
  bool split_json(std::string_view text);
  bool split_pairs(std::string_view text);

  std::vector<CallArgument> list_;
  std::vector<JsonMember> members_;
  bool was_json_ = false;
};

// What the arguments of the second form are marked by, so that an importer puts them back together;
// and no argument may have the names that mean something else there.
constexpr std::string_view kPairsName = "sonde args";

}  // namespace sonde::exporting
