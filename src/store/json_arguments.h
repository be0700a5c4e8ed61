// A call's arguments as a JSON object, for functions whose description is in braces (backend.h,
// define_function): what PyTorch's profiler writes of an operator, in the same words.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "store/arguments.h"

namespace sonde::store {

// The interned text of an id, "" if there is none.
using TextOfId = std::function<std::string_view(uint32_t)>;

// Empty lists are left out, as is everything from the first word that is missing or damaged on.
// Without members nothing is appended.
void append_json_arguments(std::string& out, std::span<const ArgumentFormat> formats,
                           std::span<const uint64_t> words, const TextOfId& text_of);

}  // namespace sonde::store
