// Symbol names as the source has them. Tool only: never in the traced program.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// "_Z3addPf" -> "add(float*)", also with the suffix ".kd" of AMD's kernel descriptors. A name that
// is not mangled or cannot be demangled is returned unchanged.
std::string demangle(std::string_view name);

}  // namespace sonde
