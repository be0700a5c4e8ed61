#include "device/blit.h"

#include <cstring>

namespace softgpu {
namespace {

// The kernarg segment of a dispatch, read at natural alignment.
class Arguments {
 public:
  explicit Arguments(uint64_t address) : bytes_(reinterpret_cast<const uint8_t*>(address)) {}
  uint32_t u32(size_t offset) const { return read<uint32_t>(offset); }
  uint64_t u64(size_t offset) const { return read<uint64_t>(offset); }

 private:
  template <class T>
  T read(size_t offset) const {
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  const uint8_t* bytes_;
};

Transfer copy(uint64_t dst, uint64_t src, uint64_t bytes) {
  return {.src = src, .dst = dst, .width = bytes};
}

// (src, dst, src origin, dst origin, size, remainder): in dwords with a remainder, or in bytes if
// the remainder says so. From ROCm 6 on (src, dst, size, remainder, element, end in elements,
// elements in flight): recognised by the end, an address in the destination, in the place of a size
// larger than any memory.
Transfer copy_buffer(const Arguments& args) {
  const uint64_t src = args.u64(0), dst = args.u64(8), bytes_to_end = args.u64(32) - dst;
  if (bytes_to_end <= args.u64(16)) return copy(dst, src, args.u64(16));
  uint64_t size = args.u64(32);
  uint32_t remainder = args.u32(40);
  uint64_t bytes = remainder == 8 ? size : (size - 1) * 4 + remainder;
  return copy(args.u64(8) + args.u64(24), args.u64(0) + args.u64(16), bytes);
}

// The same in elements of 4 or 16 bytes.
Transfer copy_buffer_aligned(const Arguments& args) {
  uint64_t unit = args.u32(40) == 16 ? 16 : 4;
  return copy(args.u64(8) + args.u64(24) * unit, args.u64(0) + args.u64(16) * unit,
              args.u64(32) * unit);
}

// (src, dst, source rectangle, destination rectangle, size); a rectangle is its row pitch, slice
// pitch and start, all in units of 1 byte, or of the unit that follows the size.
Transfer copy_rect(const Arguments& args, bool aligned) {
  constexpr size_t kSrc = 32, kDst = 64, kSize = 96;
  uint64_t unit = !aligned ? 1 : args.u64(kSize + 24) == 16 ? 16 : 4;
  Transfer transfer = copy(args.u64(8) + args.u64(kDst + 16) * unit,
                           args.u64(0) + args.u64(kSrc + 16) * unit, args.u64(kSize) * unit);
  transfer.height = args.u64(kSize + 8);
  transfer.depth = args.u64(kSize + 16);
  transfer.src_row = args.u64(kSrc) * unit;
  transfer.src_slice = args.u64(kSrc + 8) * unit;
  transfer.dst_row = args.u64(kDst) * unit;
  transfer.dst_slice = args.u64(kDst + 8) * unit;
  return transfer;
}

bool read_pattern(Transfer& transfer, uint64_t pattern, const GpuMemory& memory) {
  if (transfer.pattern_bytes == 0 || transfer.pattern_bytes > transfer.pattern.size()) return false;
  if (memory.check(pattern, transfer.pattern_bytes)) return false;
  std::memcpy(transfer.pattern.data(), reinterpret_cast<const void*>(memory.own_address(pattern)),
              transfer.pattern_bytes);
  return true;
}

// ROCm 6: (buffer, pattern*, pattern size in elements, bytes per element, end, elements in flight).
// In the older form only one of the first four pointers is set.
std::optional<Transfer> fill_to_end(const Arguments& args, const GpuMemory& memory) {
  Transfer transfer{
      .kind = Transfer::kFill, .dst = args.u64(0), .pattern_bytes = args.u32(16) * args.u32(20)};
  if (args.u64(24) < transfer.dst || !read_pattern(transfer, args.u64(8), memory)) {
    return std::nullopt;
  }
  transfer.width = args.u64(24) - transfer.dst;
  return transfer;
}

// (uchar*, ushort*, uint*, ulong*: one of them set, pattern*, pattern size in elements, origin in
// elements, then the count of patterns or, for 2D, width, height and pitch).
std::optional<Transfer> fill_buffer(const Arguments& args, bool two_dimensional,
                                    const GpuMemory& memory) {
  Transfer transfer{.kind = Transfer::kFill};
  if (!two_dimensional && args.u64(0) != 0 && args.u64(8) != 0) return fill_to_end(args, memory);
  for (int log2 = 3; log2 >= 0; --log2) {
    uint64_t base = args.u64(8 * static_cast<size_t>(log2));
    if (!base) continue;
    uint64_t element = 1ull << log2;
    transfer.pattern_bytes = args.u32(40) * static_cast<uint32_t>(element);
    if (!read_pattern(transfer, args.u64(32), memory)) break;
    transfer.dst = base + args.u64(48) * element;
    transfer.width = args.u64(56) * transfer.pattern_bytes;
    if (two_dimensional) {
      transfer.height = args.u64(64);
      transfer.dst_row = args.u64(72) * element;
    }
    return transfer;
  }
  return std::nullopt;
}

std::optional<StreamOp> stream_op(const Arguments& args, bool wait) {
  StreamOp op;
  op.bytes = args.u64(0) ? 4 : 8;
  op.address = args.u64(op.bytes == 4 ? 0 : 8);
  op.value = args.u64(16);
  if (!wait) return op;
  constexpr StreamOp::Test kTests[] = {StreamOp::kGreaterEqual, StreamOp::kEqual, StreamOp::kAnd,
                                       StreamOp::kNor};
  uint64_t flags = args.u64(24);
  if (flags >= std::size(kTests)) return std::nullopt;
  op.test = kTests[flags];
  op.mask = args.u64(32);
  return op;
}

std::optional<Blit> from_transfer(std::optional<Transfer> transfer) {
  if (!transfer) return std::nullopt;
  return Blit{transfer, std::nullopt};
}

// ROCr's: three kernels with work-groups of 64, distinguished by matching ranges and by the number
// of work items, which the kernarg segment repeats.
std::optional<Blit> recognise_unnamed(const AqlDispatch& dispatch, const GpuMemory& memory) {
  if (dispatch.group[0] != 64) return std::nullopt;
  Arguments args(memory.own_address(dispatch.kernarg));
  auto mapped = [&](uint64_t bytes) { return !memory.check(dispatch.kernarg, bytes); };
  uint32_t items = dispatch.grid[0];
  uint64_t src = args.u64(0), dst = args.u64(8);
  if (mapped(84) && args.u32(80) == items && args.u64(64) >= src &&
      args.u64(16) - src == args.u64(24) - dst && args.u64(48) - src == args.u64(56) - dst &&
      args.u64(64) - src == args.u64(72) - dst) {
    return from_transfer(copy(dst, src, args.u64(64) - src));
  }
  if (mapped(52) && args.u32(48) == items && args.u64(32) >= src &&
      args.u64(32) - src == args.u64(40) - dst) {
    return from_transfer(copy(dst, src, args.u64(32) - src));
  }
  uint64_t start = args.u64(0), end = args.u64(16);
  if (args.u32(28) == items && end >= start) {
    const uint32_t value = args.u32(24);
    Transfer fill{
        .kind = Transfer::kFill, .dst = start, .width = end - start, .pattern_bytes = sizeof value};
    std::memcpy(fill.pattern.data(), &value, sizeof value);
    return from_transfer(fill);
  }
  return std::nullopt;
}

std::optional<Blit> recognise_named(std::string_view name, const Arguments& args,
                                    const GpuMemory& memory) {
  if (name == "copyBuffer") return from_transfer(copy_buffer(args));
  if (name == "copyBufferAligned") return from_transfer(copy_buffer_aligned(args));
  if (name == "copyBufferRect") return from_transfer(copy_rect(args, false));
  if (name == "copyBufferRectAligned") return from_transfer(copy_rect(args, true));
  if (name == "fillBufferAligned") return from_transfer(fill_buffer(args, false, memory));
  if (name == "fillBufferAligned2D") return from_transfer(fill_buffer(args, true, memory));
  auto op = stream_op(args, name == "streamOpsWait");
  if (!op || memory.check(op->address, op->bytes)) return std::nullopt;
  op->address = memory.own_address(op->address);
  return Blit{std::nullopt, op};
}

}  // namespace

std::optional<Blit> recognise_blit(std::string_view name, const AqlDispatch& dispatch,
                                   const GpuMemory& memory) {
  if (name.empty()) {
    constexpr uint64_t kSmallestBlock = 32;
    if (memory.check(dispatch.kernarg, kSmallestBlock)) return std::nullopt;
    return recognise_unnamed(dispatch, memory);
  }
  constexpr std::string_view kPrefix = "__amd_rocclr_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  constexpr struct {
    std::string_view name;
    uint64_t argument_bytes;
  } kKnown[] = {{"copyBuffer", 44},        {"copyBufferAligned", 44},
                {"copyBufferRect", 128},   {"copyBufferRectAligned", 128},
                {"fillBufferAligned", 32}, {"fillBufferAligned2D", 80},
                {"streamOpsWrite", 24},    {"streamOpsWait", 40}};
  for (const auto& known : kKnown) {
    if (name != known.name) continue;
    if (memory.check(dispatch.kernarg, known.argument_bytes)) return std::nullopt;
    return recognise_named(name, Arguments(memory.own_address(dispatch.kernarg)), memory);
  }
  return std::nullopt;
}

bool stream_op_ready(const StreamOp& op) {
  if (op.test == StreamOp::kWrite) return true;
  uint64_t value = op.bytes == 4
                       ? __atomic_load_n(reinterpret_cast<uint32_t*>(op.address), __ATOMIC_ACQUIRE)
                       : __atomic_load_n(reinterpret_cast<uint64_t*>(op.address), __ATOMIC_ACQUIRE);
  value &= op.mask;
  switch (op.test) {
    case StreamOp::kGreaterEqual:
      return value >= op.value;
    case StreamOp::kEqual:
      return value == op.value;
    case StreamOp::kAnd:
      return (value & op.value) != 0;
    case StreamOp::kNor:
      return ~(value | op.value) != 0;
    case StreamOp::kWrite:
      break;
  }
  return true;
}

void run_stream_op(const StreamOp& op) {
  if (op.test != StreamOp::kWrite) return;
  if (op.bytes == 4) {
    __atomic_store_n(reinterpret_cast<uint32_t*>(op.address), static_cast<uint32_t>(op.value),
                     __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(reinterpret_cast<uint64_t*>(op.address), op.value, __ATOMIC_RELEASE);
  }
}

}  // namespace softgpu
