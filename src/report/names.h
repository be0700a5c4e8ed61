// Names of kernels and functions for people: demangled, and without what makes C++ names long.
// Used by the text renderer; files and machine formats keep names as they were recorded.
//
// A shortened name loses its return type, template arguments, parameters and anonymous namespaces.
// Names that would look alike get their arguments back, as deep as it takes to distinguish them;
// where that is too long, the one or two identifiers that differ; and a number if nothing else
// helps. Names that are not C++, like frames of Python, are left alone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::report {

// One demangled name shortened. Template arguments nested less than `depth` deep stay.
std::string short_name(std::string_view demangled, size_t depth = 0);

// The names of one table. Equal names stay equal and different names stay different.
std::vector<std::string> short_names(std::span<const std::string> names);
std::vector<std::string> demangled_names(std::span<const std::string> names);

// Cuts the middle out of what is wider than `width`; different names that look alike then end in
// a number instead ("Cijk_Alik_Bljk..WG64 #2").
std::vector<std::string> cut_names(std::span<const std::string> names, size_t width);

}  // namespace sonde::report
