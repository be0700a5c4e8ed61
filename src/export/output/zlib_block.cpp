#include "export/output/zlib_block.h"

#include <vector>

#include "base/check.h"

#ifdef SONDE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

namespace sonde::exporting {

#ifdef SONDE_LIBDEFLATE

struct ZlibBlock::Impl {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(1);
  std::vector<char> out;
  Impl() { SONDE_CHECK(compressor != nullptr); }
  ~Impl() { libdeflate_free_compressor(compressor); }
};

std::string_view ZlibBlock::compress(std::string_view bytes) {
  std::vector<char>& out = impl_->out;
  out.resize(libdeflate_zlib_compress_bound(impl_->compressor, bytes.size()));
  const size_t size = libdeflate_zlib_compress(impl_->compressor, bytes.data(), bytes.size(),
                                               out.data(), out.size());
  SONDE_CHECK(size != 0);  // the bound makes it fit
  return {out.data(), size};
}

#else

struct ZlibBlock::Impl {
  z_stream stream = {};
  std::vector<char> out;
  Impl() {
    SONDE_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~Impl() { deflateEnd(&stream); }
};

std::string_view ZlibBlock::compress(std::string_view bytes) {
  z_stream& stream = impl_->stream;
  std::vector<char>& out = impl_->out;
  deflateReset(&stream);
  out.resize(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  SONDE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);  // the bound makes it fit
  return {out.data(), out.size() - stream.avail_out};
}

#endif

ZlibBlock::ZlibBlock() : impl_(std::make_unique<Impl>()) {}
ZlibBlock::~ZlibBlock() = default;

}  // namespace sonde::exporting
