// The parameters of a function as functions.inc describes them, and where they lie in the data of
// HIP's callbacks. Known to the compiler, so that what must fit is checked when Sonde is built.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::hip {

enum class Kind : uint8_t {
  kPointer,  // p
  kOutPointer,
  kInt,  // i
  kOutInt,
  kUnsigned,  // u
  kOutUnsigned,
  kWord,  // z
  kOutWord,
  kEnum,   // e
  kFloat,  // f
  kOutFloat,
  kHalf,     // h
  kByte,     // b
  kText,     // s
  kDim3,     // D
  kExtent,   // E
  kPitched,  // P
  kStruct,   // xN
};

constexpr size_t kMaxParameters = 16;

// Size in the data, and in a copy of what a pointer points to.
struct Size {
  uint16_t bytes, align, copied;
};

struct Token {
  const char* name = nullptr;
  size_t length = 0;
  char letter = 0;
  uint16_t number = 0;  // of p/N and xN
};

constexpr uint16_t read_number(const char** cursor) {
  uint16_t number = 0;
  for (; **cursor >= '0' && **cursor <= '9'; ++*cursor) {
    number = static_cast<uint16_t>(number * 10 + (**cursor - '0'));
  }
  return number;
}

// `newer`: the data of callbacks are those of HIP 6 and later.
constexpr bool next_token(const char** cursor, Token* token, bool newer) {
  const char* at = *cursor;
  while (*at == ' ') ++at;
  token->name = at;
  while (*at != '\0' && *at != ':') ++at;
  if (*at == '\0') return false;
  token->length = static_cast<size_t>(at - token->name);
  token->letter = *++at;
  ++at;
  if (*at == '/') ++at;
  token->number = read_number(&at);
  if (*at == '/') {
    ++at;
    const uint16_t of_newer = read_number(&at);
    if (newer) token->number = of_newer;
  }
  while (*at != '\0' && *at != ' ') ++at;
  *cursor = at;
  return true;
}

constexpr Kind kind_of(char letter) {
  constexpr char kLetters[] = "poiIuUzZefFhbsDEPx";
  for (uint8_t i = 0; kLetters[i] != '\0'; ++i) {
    if (kLetters[i] == letter) return static_cast<Kind>(i);
  }
  return Kind::kPointer;
}

constexpr Size size_of(const Token& token) {
  switch (kind_of(token.letter)) {
    case Kind::kPointer:
      return {8, 8, token.number};
    case Kind::kOutPointer:
    case Kind::kOutWord:
      return {8, 8, 8};
    case Kind::kOutInt:
    case Kind::kOutUnsigned:
    case Kind::kOutFloat:
      return {8, 8, 4};
    case Kind::kText:
      return {8, 8, 1};
    case Kind::kWord:
      return {8, 8, 0};
    case Kind::kHalf:
      return {2, 2, 0};
    case Kind::kByte:
      return {1, 1, 0};
    case Kind::kDim3:
      return {12, 4, 0};
    case Kind::kExtent:
      return {24, 8, 0};
    case Kind::kPitched:
      return {32, 8, 0};
    case Kind::kStruct:
      // The only ones that are not made of words are the handles for other processes.
      return {token.number,
              static_cast<uint16_t>(token.number == 64      ? 1
                                    : token.number % 8 == 0 ? 8
                                                            : 4),
              0};
    default:
      return {4, 4, 0};
  }
}

// Places one parameter after the other.
struct Layout {
  size_t count = 0, bytes = 0;

  constexpr size_t add(const Token& token) {
    const Size size = size_of(token);
    const size_t offset = (bytes + size.align - 1) / size.align * size.align;
    // A copy follows its pointer, which is aligned enough for any.
    bytes = offset + size.bytes + size.copied;
    ++count;
    return offset;
  }
};

constexpr Layout layout_of(const char* text, bool newer) {
  Layout layout;
  Token token;
  while (next_token(&text, &token, newer)) layout.add(token);
  return layout;
}

// Whether values of these types are what `text` describes: as many, each of its parameter's size.
template <typename... A>
constexpr bool describes(const char* text, int (*)(A...)) {
  if (sizeof...(A) > kMaxParameters) return false;
  Token token;
  const bool same =
      (... && (next_token(&text, &token, false) && size_of(token).bytes == sizeof(A)));
  return same && !next_token(&text, &token, false);
}

}  // namespace sonde::hip
