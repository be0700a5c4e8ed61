// Which code objects are traced; decided once for each, by file and name.
#pragma once

namespace sonde::python {

// "user": all code except Python's library and installed packages; "all": everything;
// "user!EXPRESSION" or "all!EXPRESSION": without matches ("!EXPRESSION" alone: from the user's
// code); any other text: only matches. An extended regular expression that is searched for in
// "FILE: NAME". False if it is invalid.
bool choose(const char* which);

// Sonde's own code is never traced.
bool is_chosen(const char* file, const char* name);

}  // namespace sonde::python
