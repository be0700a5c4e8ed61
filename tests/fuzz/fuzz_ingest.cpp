// link: sonde_store
// Any bytes as the chunks of a recording: whatever the records say, ingest must neither crash nor
// give up, and the state it keeps must be readable again. The input is a list of pieces, each a
// head of four bytes (ring and process; commit, restart or end after it; two of length in words)
// and words; every piece has its own copy, so that AddressSanitizer sees a read beyond it.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/ingest/ingest.h"
#include "store/writer.h"
#include "wire/chunk.h"
#include "wire/decoder.h"

namespace {

using namespace sonde;

// One file for many inputs, each a recording that is added to it: making a file takes the longest.
class Trace {
 public:
  explicit Trace(std::string path) : path_(std::move(path)) { make(); }
  ~Trace() {
    close();
    ::unlink(path_.c_str());
  }
  store::Ingest& ingest() { return *ingest_; }

  void begin() {
    if (++inputs_ % 500 == 0) make();
    if (ingest_ == nullptr) open_ingest();
  }
  // A recorder that is killed and followed by another.
  void restart() {
    close();
    open_writer(store::Writer::Mode::kAppend);
    open_ingest();
  }
  void finish() {
    SONDE_CHECK(ingest_->finish().ok());
    ingest_.reset();
  }

 private:
  void make() {
    close();
    ::unlink(path_.c_str());
    open_writer(store::Writer::Mode::kCreate);
  }
  void close() {
    ingest_.reset();
    writer_.reset();
  }
  void open_writer(store::Writer::Mode mode) {
    auto writer = store::Writer::open(path_, mode);
    SONDE_CHECK(writer.ok());
    writer_ = std::make_unique<store::Writer>(std::move(writer).value());
  }
  void open_ingest() {
    auto ingest = store::Ingest::open(*writer_, 7, "/tmp/session");
    SONDE_CHECK(ingest.ok());
    ingest_ = std::make_unique<store::Ingest>(std::move(ingest).value());
    ingest_->clocks({3000, 3030, 1000, 1000, 1000, 1000});
    ingest_->clocks({300'000'000'000, 300'000'000'030, 100'000'000'000, 1, 1, 1});
  }
  std::string path_;
  uint64_t inputs_ = 0;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Ingest> ingest_;
};

void feed(store::Ingest& ingest, const wire::ChunkHeader& header, std::span<const uint64_t> words) {
  wire::Decoder decoder(std::as_bytes(words));
  while (const auto record = decoder.next()) {
    header.ring == 0 ? ingest.definition(header, *record) : ingest.event(header, *record);
  }
  if (decoder.malformed()) ingest.damaged("malformed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* folder = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  static Trace trace(std::string(folder) + "/fuzz_ingest." + std::to_string(::getpid()));
  trace.begin();
  auto header = std::make_unique<wire::ChunkHeader>();
  for (int pieces = 0; size >= 4 && pieces < 64; ++pieces) {
    const uint8_t who = data[0], then = data[1];
    size_t count = static_cast<size_t>(data[2]) | static_cast<size_t>(data[3]) << 8;
    data += 4;
    size -= 4;
    count = count < size / 8 ? count : size / 8;
    std::vector<uint64_t> words(count);
    if (count != 0) std::memcpy(words.data(), data, count * 8);
    data += count * 8;
    size -= count * 8;
    header->spool = 1 + (who >> 2 & 3);
    header->pid = 10 + (who >> 2 & 3);
    header->ring = who & 3;
    header->sequence = who >> 4;
    header->tid = who;
    feed(trace.ingest(), *header, words);
    if ((then & 1) != 0 && words.size() >= 4) {
      wire::OpenRange range;
      std::memcpy(&range, words.data(), sizeof range);
      trace.ingest().unfinished(*header, range);
      wire::OpenCall call;
      std::memcpy(&call, words.data(), sizeof call);
      trace.ingest().unfinished(*header, call);
    }
    if ((then & 2) != 0) trace.ingest().ended(header->spool, then, "ended");
    if ((then & 12) == 12) SONDE_CHECK(trace.ingest().commit().ok());
    if ((then & 48) == 48) trace.restart();
  }
  trace.finish();
  return 0;
}
