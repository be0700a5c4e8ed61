#include "importers/kineto/args.h"

#include <simdjson.h>

#include "base/strings.h"

namespace sonde::importers {

void each_argument(std::string_view object,
                   const std::function<void(std::string_view key, std::string_view value)>& take) {
  namespace od = simdjson::ondemand;
  if (object.empty()) return;
  od::parser parser;
  const simdjson::padded_string padded(object);
  od::document document;
  od::object members;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(members) != simdjson::SUCCESS) {
    return;
  }
  for (auto member : members) {
    od::field field;
    std::string_view key;
    if (std::move(member).get(field) != simdjson::SUCCESS ||
        field.unescaped_key().get(key) != simdjson::SUCCESS) {
      return;
    }
    od::value value = field.value();
    std::string_view text = value.raw_json_token();
    if (!text.empty() && text.front() == '"') {
      if (value.get_string().get(text) != simdjson::SUCCESS) return;
    } else {
      text = trim(text);
    }
    take(key, text);
  }
}

}  // namespace sonde::importers
