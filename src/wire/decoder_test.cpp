#include "wire/decoder.h"
#include "wire/pack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace sonde::wire {
namespace {

// Records written by hand, word by word: shares nothing with the agent.
struct Payload {
  std::vector<uint64_t> words;

  void header(RecordType type, uint16_t count, uint32_t id, uint8_t flags = 0) {
    words.push_back(static_cast<uint64_t>(type) | uint64_t{flags} << 8 | uint64_t{count} << 16 |
                    uint64_t{id} << 32);
  }
  void text(std::string_view text) {
    header(RecordType::kText, static_cast<uint16_t>(1 + words_for(text.size())),
           static_cast<uint32_t>(text.size()));
    const size_t at = words.size();
    words.resize(at + words_for(text.size()));
    if (!text.empty()) std::memcpy(&words[at], text.data(), text.size());
  }
  Decoder decoder() const { return Decoder(std::as_bytes(std::span(words))); }
};

TEST(Decoder, EmptyPayloadHasNoRecords) {
  Payload payload;
  auto decoder = payload.decoder();
  EXPECT_FALSE(decoder.next());
  EXPECT_FALSE(decoder.malformed());
}

TEST(Decoder, ContinuationsBelongToTheRecordBefore) {
  Payload payload;
  payload.header(RecordType::kCall, 5, 7, kHasCorrelation | kHasResult);
  payload.words.insert(payload.words.end(), {100, 200, 33, static_cast<uint64_t>(-5)});
  payload.header(RecordType::kArguments, 3, 2);
  payload.words.insert(payload.words.end(), {11, 22});
  payload.header(RecordType::kMark, 3, 0);
  payload.words.insert(payload.words.end(), {300, 0});
  payload.text("hello");
  auto decoder = payload.decoder();
  const auto call = decoder.next();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->header->id, 7u);
  EXPECT_EQ(call->as<SpanRecord>().begin, 100u);
  EXPECT_EQ(call->extra<SpanRecord>(0), 33u);
  EXPECT_EQ(static_cast<int64_t>(call->extra<SpanRecord>(1)), -5);
  ASSERT_EQ(call->arguments.size(), 2u);
  EXPECT_EQ(call->arguments[1], 22u);
  const auto mark = decoder.next();
  ASSERT_TRUE(mark);
  EXPECT_TRUE(mark->has_text);
  EXPECT_EQ(mark->text, "hello");
  EXPECT_FALSE(decoder.next());
  EXPECT_FALSE(decoder.malformed());
}

// Packed bytes assembled by hand, as FORMAT.md says.
struct PackedBytes {
  std::vector<uint8_t> bytes;
  void lengths(std::initializer_list<int> all) {
    for (auto at = all.begin(); at != all.end();) {
      int both = *at++;
      if (at != all.end()) both |= *at++ << 4;
      bytes.push_back(static_cast<uint8_t>(both));
    }
  }
  void put(Payload& payload, RecordType type, uint8_t values, uint32_t id) {
    payload.header(type, static_cast<uint16_t>(1 + words_for(bytes.size())), id, values);
    const size_t at = payload.words.size();
    payload.words.resize(at + words_for(bytes.size()));
    std::memcpy(&payload.words[at], bytes.data(), bytes.size());
  }
};

TEST(Decoder, PackedCallsAreShownAsCalls) {
  PackedBytes packed;
  packed.lengths({2, 1, 0, 8, 0, 3, 1});
  packed.bytes.insert(packed.bytes.end(), {0x34, 0x12, 100});
  packed.bytes.insert(packed.bytes.end(), 8, 0xff);  // -1
  packed.bytes.insert(packed.bytes.end(), {0x03, 0x02, 0x01, 7});
  Payload payload;
  packed.put(payload, RecordType::kPackedCall, 7, 9);
  payload.header(RecordType::kMark, 3, 1);
  payload.words.insert(payload.words.end(), {1, 0});
  auto decoder = payload.decoder();
  const auto call = decoder.next();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->type(), RecordType::kCall);
  EXPECT_EQ(call->header->id, 9u);
  EXPECT_EQ(call->as<SpanRecord>().begin, 0x1234u);
  EXPECT_EQ(call->as<SpanRecord>().end, 0x1234u + 100);
  EXPECT_EQ(call->header->flags, kHasResult);  // the correlation was 0
  EXPECT_EQ(static_cast<int64_t>(call->extra<SpanRecord>(0)), -1);
  EXPECT_EQ(std::vector<uint64_t>(call->arguments.begin(), call->arguments.end()),
            (std::vector<uint64_t>{0, 0x010203, 7}));
  EXPECT_TRUE(decoder.next());
  EXPECT_FALSE(decoder.next());
  EXPECT_FALSE(decoder.malformed());
}

TEST(Decoder, PackedRecordsThatLieEndTheWalk) {
  const auto malformed = [](RecordType type, uint8_t values, std::initializer_list<int> lengths,
                            size_t bytes) {
    PackedBytes packed;
    packed.lengths(lengths);
    packed.bytes.resize(packed.bytes.size() + bytes, 1);
    Payload payload;
    packed.put(payload, type, values, 1);
    auto decoder = payload.decoder();
    EXPECT_FALSE(decoder.next());
    return decoder.malformed();
  };
  EXPECT_TRUE(malformed(RecordType::kPackedCall, 3, {1, 1, 1}, 4));      // too few values
  EXPECT_TRUE(malformed(RecordType::kPackedCall, 4, {1, 9, 1, 1}, 20));  // a value of 9 bytes
  EXPECT_TRUE(malformed(RecordType::kPackedCall, 4, {8, 8, 8, 8}, 8));   // beyond the end
  EXPECT_TRUE(malformed(RecordType::kPackedCall, 101, {}, 400));         // more than a call has
  EXPECT_TRUE(malformed(RecordType::kPackedCall, 100, {1, 1}, 4));       // lengths beyond the end
  // Not all values of an operation.
  EXPECT_TRUE(malformed(RecordType::kPackedOp, 4, {1, 1, 1, 1}, 4));
}

TEST(Pack, EveryValueComesBack) {
  std::mt19937_64 random(7);
  for (uint64_t count = 0; count <= 100; ++count) {
    std::vector<uint64_t> values(count);
    for (auto& value : values) value = random() % 8 == 0 ? 0 : random() >> (random() % 64);
    std::vector<char> room(packed_room(count), 'x');
    Packer packer(room.data(), count);
    packer.add(values.data(), count);
    const auto used = static_cast<uint64_t>(packer.end() - room.data());
    ASSERT_LE(used + 8, packed_room(count));
    Unpacker unpacker(room.data(), used, count);
    for (const uint64_t value : values) EXPECT_EQ(unpacker.next(), value);
    EXPECT_TRUE(unpacker.good());
  }
}

TEST(Decoder, WhatIsNoRecordEndsTheWalk) {
  const auto malformed = [](auto&& fill) {
    Payload payload;
    payload.header(RecordType::kMark, 3, 1);
    payload.words.insert(payload.words.end(), {1, 0});
    fill(payload);
    auto decoder = payload.decoder();
    EXPECT_TRUE(decoder.next());  // the good part is kept
    while (decoder.next()) {
    }
    return decoder.malformed();
  };
  EXPECT_TRUE(malformed([](Payload& p) { p.header(RecordType::kMark, 0, 0); }));
  EXPECT_TRUE(malformed([](Payload& p) { p.header(RecordType::kMark, 9, 0); }));  // beyond the end
  EXPECT_TRUE(malformed([](Payload& p) { p.words.push_back(0); }));
  EXPECT_TRUE(malformed([](Payload& p) { p.header(static_cast<RecordType>(99), 1, 0); }));
  EXPECT_TRUE(malformed([](Payload& p) { p.header(RecordType::kOp, 1, 0); }));  // too short
  EXPECT_TRUE(malformed([](Payload& p) {
    p.header(RecordType::kString, 3, 0);
    p.words.insert(p.words.end(), {0, 1u << 30});  // text longer than the record
  }));
  for (const RecordType stack : {RecordType::kSample, RecordType::kLaunchStack}) {
    EXPECT_TRUE(malformed([&](Payload& p) {
      p.header(stack, stack == RecordType::kSample ? 5 : 4, 0);
      p.words.insert(p.words.end(), {1, 2, 9, 9});  // frames longer than the record
    }));
  }
  EXPECT_TRUE(malformed([](Payload& p) {
    p.header(RecordType::kBlocked, 4, 0);
    p.words.insert(p.words.end(), {1, 2, uint64_t{1} << 32 | 4711});
  }));
  EXPECT_TRUE(
      malformed([](Payload& p) { p.header(RecordType::kCopyRequest, 1, 0); }));  // too short
  EXPECT_TRUE(malformed([](Payload& p) {
    p.header(RecordType::kOpCounter, 3, 0);
    p.words.insert(p.words.end(), {1, uint64_t{1} << 48});  // a value longer than the record
  }));
}

TEST(Decoder, AnyBytesAreSafe) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Payload payload;
    payload.words.resize(random() % 200);
    for (auto& word : payload.words) {
      word = random();
      if (random() % 2 == 0) {  // a plausible header
        word = (random() % 40) | (random() % 16) << 8 | (random() % 12) << 16;
      }
    }
    auto decoder = payload.decoder();
    uint64_t sum = 0;
    while (const auto record = decoder.next()) {
      for (const char c : record->text) sum += static_cast<unsigned char>(c);
      for (const uint64_t word : record->arguments) sum += word;
    }
    EXPECT_LE(decoder.offset(), payload.words.size() * 8);
    (void)sum;
  }
}

TEST(Chunk, HeadersAreJudged) {
  ChunkHeader header{};
  EXPECT_EQ(judge_header(header), HeaderVerdict::kUnfinished);
  header.magic = kChunkMagic;
  EXPECT_EQ(judge_header(header), HeaderVerdict::kOtherRing);
  header.version = kWireVersion;
  header.chunk_bytes = kChunkBytes;
  EXPECT_EQ(judge_header(header), HeaderVerdict::kDamaged);
  header.identity_sum = identity_checksum(header);
  EXPECT_EQ(judge_header(header), HeaderVerdict::kGood);
  header.committed = kPayloadBytes + 8;
  EXPECT_EQ(judge_header(header), HeaderVerdict::kDamaged);
  header.chunk_bytes = 2 * kChunkBytes;
  header.identity_sum = identity_checksum(header);
  EXPECT_EQ(judge_header(header), HeaderVerdict::kGood);
  for (const uint64_t bytes : {uint64_t{0}, kHeaderBytes, kChunkBytes + 4096, 2 * kMaxChunkBytes}) {
    header.chunk_bytes = static_cast<uint32_t>(bytes);
    header.identity_sum = identity_checksum(header);
    EXPECT_EQ(judge_header(header), HeaderVerdict::kOtherRing) << bytes;
  }
  header.chunk_bytes = kChunkBytes;
  header.identity_sum = identity_checksum(header);
  header.committed = 4;
  EXPECT_EQ(judge_header(header), HeaderVerdict::kDamaged);
  header.committed = 8;
  header.pid ^= 1;
  EXPECT_EQ(judge_header(header), HeaderVerdict::kDamaged);
}

TEST(Chunk, TheChecksumSeesEveryFlippedBit) {
  std::vector<uint64_t> data(37);
  std::mt19937_64 random(2);
  for (auto& word : data) word = random();
  const uint64_t sum = checksum(data.data(), data.size() * 8);
  for (size_t bit = 0; bit < data.size() * 64; ++bit) {
    data[bit / 64] ^= uint64_t{1} << bit % 64;
    EXPECT_NE(checksum(data.data(), data.size() * 8), sum) << bit;
    data[bit / 64] ^= uint64_t{1} << bit % 64;
  }
  EXPECT_NE(checksum(data.data(), data.size() * 8 - 8), sum);
}

}  // namespace
}  // namespace sonde::wire
