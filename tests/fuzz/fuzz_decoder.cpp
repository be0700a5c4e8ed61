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

bool inside(std::span<const std::byte> memory, const std::byte* place) {
  return place >= memory.data() && place < memory.data() + memory.size();
}

// Reads every byte of [data, data + count), which must lie in `memory`, so that AddressSanitizer
// sees a view that is too long.
template <typename T>
void touch(std::span<const std::byte> memory, const T* data, size_t count) {
  if (count == 0) return;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  SONDE_CHECK(first >= memory.data());
  SONDE_CHECK(first + count * sizeof(T) <= memory.data() + memory.size());
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
    // A record that was packed in the chunk lies in the decoder, and its arguments with it.
    const auto* header = reinterpret_cast<const std::byte*>(record->header);
    const bool was_packed = !inside(payload, header);
    const auto home = was_packed ? std::as_bytes(std::span(&decoder, 1)) : payload;
    touch(home, header, record->header->words * size_t{8});
    touch(payload, record->text.data(), record->text.size());
    const auto* arguments = reinterpret_cast<const std::byte*>(record->arguments.data());
    touch(inside(payload, arguments) ? payload : home, arguments, record->arguments.size_bytes());
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
