// The parameters of a function as functions.inc describes them, and their offsets in the data of
// HIP's callbacks. Evaluated at compile time, so that mismatches are build errors.
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

// Size in the data, and of the copy of what a pointer points to.
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

// `newer`: callback data has the layout of HIP 6 and later.
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

// By Kind: its letter and size. For a kPointer, the number in the text is the size of its copy; for
// a kStruct, its own size.
constexpr struct {
  char letter;
  Size size;
} kKinds[] = {
    {'p', {8, 8, 0}},  {'o', {8, 8, 8}},  {'i', {4, 4, 0}}, {'I', {8, 8, 4}}, {'u', {4, 4, 0}},
    {'U', {8, 8, 4}},  {'z', {8, 8, 0}},  {'Z', {8, 8, 8}}, {'e', {4, 4, 0}}, {'f', {4, 4, 0}},
    {'F', {8, 8, 4}},  {'h', {2, 2, 0}},  {'b', {1, 1, 0}}, {'s', {8, 8, 1}}, {'D', {12, 4, 0}},
    {'E', {24, 8, 0}}, {'P', {32, 8, 0}}, {'x', {0, 4, 0}},
};

constexpr Kind kind_of(char letter) {
  for (size_t i = 0; i < sizeof kKinds / sizeof kKinds[0]; ++i) {
    if (kKinds[i].letter == letter) return static_cast<Kind>(i);
  }
  return Kind::kPointer;
}

constexpr Size size_of(const Token& token) {
  const Kind kind = kind_of(token.letter);
  if (kind == Kind::kPointer) return {8, 8, token.number};
  if (kind == Kind::kStruct) {
    // The only ones that are not made of words are the IPC handles.
    const uint16_t align = token.number == 64 ? 1 : token.number % 8 == 0 ? 8 : 4;
    return {token.number, align, 0};
  }
  return kKinds[static_cast<uint8_t>(kind)].size;
}

// Lays out the parameters one after the other.
struct Layout {
  size_t count = 0, bytes = 0;

  constexpr size_t add(const Token& token) {
    const Size size = size_of(token);
    const size_t offset = (bytes + size.align - 1) / size.align * size.align;
    // A copy follows its pointer, which is aligned enough for any type.
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

constexpr Token token_at(const char* text, size_t index) {
  Token token;
  do {
    next_token(&text, &token, false);
  } while (index-- != 0);
  return token;
}

}  // namespace sonde::hip
