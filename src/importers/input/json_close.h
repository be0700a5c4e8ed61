// close_json(): a JSON document that breaks off, cut after its last whole object or array and
// closed there. Used by importers that read a document at once.
#pragma once

#include <string>

namespace sonde::importers {

// False if nothing in the document is whole, or if its brackets do not match.
bool close_json(std::string& document);

}  // namespace sonde::importers
