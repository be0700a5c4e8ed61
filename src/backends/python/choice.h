// Which code objects are traced, decided once for each by its file and name.
#pragma once

namespace sonde::python {

// "user": all but Python's library and installed packages; "all"; either without what "!EXPRESSION"
// behind it finds ("!EXPRESSION" alone: of the user's); else only what an expression finds. It is
// an extended regular expression that is looked for in "FILE: NAME". False if it is none.
bool choose(const char* which);

// Sonde's own code never is.
bool is_chosen(const char* file, const char* name);

}  // namespace sonde::python
