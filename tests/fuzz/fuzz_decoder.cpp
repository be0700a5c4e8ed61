// link: sonde_wire
// Any bytes as a chunk's payload and as its header: the decoder must stop inside the buffer, and
// every record it returns must lie inside it, text and arguments included.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/chunk.h"
#include "wire/decoder.h"

namespace {

using sonde::wire::ChunkHeader;
using sonde::wire::Decoder;

// Reads every byte, so that AddressSanitizer sees a view that is too long. What was packed lies in
// the decoder itself.
template <typename T>
void touch(const Decoder& decoder, std::span<const std::byte> payload, const T* data,
           size_t count) {
  if (count == 0) return;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const auto own = std::as_bytes(std::span(&decoder, 1));
  const auto inside = [&](std::span<const std::byte> bytes) {
    return first >= bytes.data() && first + count * sizeof(T) <= bytes.data() + bytes.size();
  };
  SONDE_CHECK(inside(payload) || inside(own));
  volatile unsigned sum = 0;
  for (size_t i = 0; i < count * sizeof(T); ++i) sum = sum + static_cast<unsigned>(first[i]);
}

void decode(const uint8_t* data, size_t size) {
  std::vector<uint64_t> words(size / 8);  // aligned, and exactly as long as what may be read
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * 8);
  const auto payload = std::as_bytes(std::span<const uint64_t>(words));
  Decoder decoder(payload);
  uint64_t before = 0;
  while (auto record = decoder.next()) {
    SONDE_CHECK(record->header != nullptr && record->header->words != 0);
    SONDE_CHECK(decoder.offset() > before && decoder.offset() <= payload.size());
    before = decoder.offset();
    touch(decoder, payload, reinterpret_cast<const uint64_t*>(record->header),
          record->header->words);
    touch(decoder, payload, record->text.data(), record->text.size());
    touch(decoder, payload, record->arguments.data(), record->arguments.size());
  }
  // All of it was read, or the decoder says that it could not be.
  SONDE_CHECK(decoder.malformed() || decoder.offset() == payload.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  decode(data, size);
  std::vector<uint64_t> header(sizeof(ChunkHeader) / 8);  // the start of one; the rest is 0
  if (size != 0) std::memcpy(header.data(), data, std::min(size, sizeof(ChunkHeader)));
  (void)sonde::wire::judge_header(*reinterpret_cast<const ChunkHeader*>(header.data()));
  return 0;
}
