// Unpacker: a compressed stream as plain bytes, piece by piece. Used for compressed .rpd files and
// by importers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sonde::store {

class Unpacker {
 public:
  // nullptr if the bytes are not the beginning of a compressed stream.
  static std::unique_ptr<Unpacker> for_stream(std::string_view begin);
  // For a stream that is known to be zlib's, with its own head or with gzip's.
  static std::unique_ptr<Unpacker> for_zlib();
  virtual ~Unpacker() = default;

  // Takes from `in` what it can, and returns how much it wrote to `out`.
  virtual size_t unpack(std::string_view& in, char* out, size_t size) = 0;
  // Whether the stream may end here.
  virtual bool complete() const = 0;
  // What is wrong with the stream; "" if nothing. It cannot go on then.
  const std::string& error() const { return error_; }

 protected:
  std::string error_;
};

}  // namespace sonde::store
