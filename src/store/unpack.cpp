#include "store/unpack.h"

#include <zlib.h>

#ifdef SONDE_ZSTD
#include <zstd.h>
#endif

namespace sonde::store {

namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr int kGzipOnly = 16, kGzipOrZlib = 32;  // added to zlib's window bits

class Gzip : public Unpacker {
 public:
  explicit Gzip(int kinds) {
    if (inflateInit2(&stream_, 15 + kinds) != Z_OK) error_ = "no memory to unpack it";
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { inflateEnd(&stream_); }

  size_t unpack(std::string_view& in, char* out, size_t size) override {
    if (between_ && !in.empty()) {  // files that were appended to each other
      if (in.substr(0, 1) != kGzipMagic.substr(0, 1)) {
        in = {};  // padding after the stream
        return 0;
      }
      inflateReset(&stream_);
      between_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    in.remove_prefix(in.size() - stream_.avail_in);
    if (code == Z_STREAM_END) {
      between_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      error_ = "the gzip stream is damaged";
    }
    return size - stream_.avail_out;
  }
  bool complete() const override { return between_; }

 private:
  z_stream stream_ = {};
  bool between_ = false;  // a stream has ended, and none has begun
};

#ifdef SONDE_ZSTD
class Zstd : public Unpacker {
 public:
  Zstd() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) error_ = "no memory to unpack it";
  }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  size_t unpack(std::string_view& in, char* out, size_t size) override {
    ZSTD_inBuffer input = {in.data(), in.size(), 0};
    ZSTD_outBuffer output = {out, size, 0};
    const size_t code = ZSTD_decompressStream(stream_, &output, &input);
    in.remove_prefix(input.pos);
    if (ZSTD_isError(code) != 0) {
      error_ = std::string("the zstd stream is damaged: ") + ZSTD_getErrorName(code);
    }
    complete_ = code == 0;
    return output.pos;
  }
  bool complete() const override { return complete_; }

 private:
  ZSTD_DStream* stream_;
  bool complete_ = false;
};
#endif

// A stream that cannot be read with what this build has.
class Unknown : public Unpacker {
 public:
  explicit Unknown(const char* why) { error_ = why; }
  size_t unpack(std::string_view&, char*, size_t) override { return 0; }
  bool complete() const override { return false; }
};

}  // namespace

std::unique_ptr<Unpacker> Unpacker::for_zlib() { return std::make_unique<Gzip>(kGzipOrZlib); }

std::unique_ptr<Unpacker> Unpacker::for_stream(std::string_view begin) {
  if (begin.substr(0, kGzipMagic.size()) == kGzipMagic) return std::make_unique<Gzip>(kGzipOnly);
  if (begin.substr(0, kZstdMagic.size()) == kZstdMagic) {
#ifdef SONDE_ZSTD
    return std::make_unique<Zstd>();
#else
    return std::make_unique<Unknown>("it is compressed with zstd, which this build cannot unpack");
#endif
  }
  return nullptr;
}

}  // namespace sonde::store
