// The text of a call's arguments, "name = value | name = value" as RPD writes it, from the words
// that the backend packed and the description it gave of its function (backend.h,
// define_function).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::store {

struct ArgumentFormat {
  std::string name;
  char kind;  // p, x, u, d, f, s; of JSON also L, N
};

// "{...}": the arguments become an object (store/json_arguments.h).
bool makes_json(std::string_view description);

// "queue:p flags:x": unknown kinds are printed as hexadecimal.
std::vector<ArgumentFormat> parse_argument_formats(std::string_view description);

// One word, of any kind but s, L and N.
void append_number(std::string& out, char kind, uint64_t word);

// Missing words end the text early; words left over are not printed.
void append_arguments(std::string& out, std::span<const ArgumentFormat> formats,
                      std::span<const uint64_t> words);

}  // namespace sonde::store
