// What an enqueue launches if a row says it all: the kind of the op and, by their names in
// functions.inc, the arguments from which and to which it copies. Used by the wrappers.
#pragma once

#include "backends/opencl/arguments.h"
#include "backends/opencl/memory.h"

namespace sonde::opencl {

constexpr uint32_t kBlocking = 1;

struct PlainOp {
  Function function;
  uint32_t kind;
  const char* src = "";
  const char* dst = "";
  const char* image = "";  // whose elements the region counts; else it counts bytes
};

constexpr PlainOp kPlainOps[] = {
    {Function::clEnqueueMarker, SONDE_OP_BARRIER},
    {Function::clEnqueueMarkerWithWaitList, SONDE_OP_BARRIER},
    {Function::clEnqueueBarrier, SONDE_OP_BARRIER},
    {Function::clEnqueueBarrierWithWaitList, SONDE_OP_BARRIER},
    {Function::clEnqueueWaitForEvents, SONDE_OP_BARRIER},
    {Function::clEnqueueReadBuffer, SONDE_OP_COPY_D2H, "buffer", "ptr"},
    {Function::clEnqueueReadBufferRect, SONDE_OP_COPY_D2H, "buffer", "ptr"},
    {Function::clEnqueueReadImage, SONDE_OP_COPY_D2H, "image", "ptr", "image"},
    {Function::clEnqueueWriteBuffer, SONDE_OP_COPY_H2D, "ptr", "buffer"},
    {Function::clEnqueueWriteBufferRect, SONDE_OP_COPY_H2D, "ptr", "buffer"},
    {Function::clEnqueueWriteImage, SONDE_OP_COPY_H2D, "ptr", "image", "image"},
    {Function::clEnqueueCopyBuffer, SONDE_OP_COPY_D2D, "src", "dst"},
    {Function::clEnqueueCopyBufferRect, SONDE_OP_COPY_D2D, "src", "dst"},
    {Function::clEnqueueCopyImage, SONDE_OP_COPY_D2D, "src", "dst", "src"},
    {Function::clEnqueueCopyImageToBuffer, SONDE_OP_COPY_D2D, "src", "dst", "src"},
    {Function::clEnqueueCopyBufferToImage, SONDE_OP_COPY_D2D, "src", "dst", "dst"},
    {Function::clEnqueueFillBuffer, SONDE_OP_FILL, "", "buffer"},
    {Function::clEnqueueFillImage, SONDE_OP_FILL, "", "image", "image"},
    {Function::clEnqueueSVMMemFill, SONDE_OP_FILL, "", "ptr"},
    {Function::clEnqueueMapBuffer, SONDE_OP_MAP, "buffer"},
    {Function::clEnqueueMapImage, SONDE_OP_MAP, "image", "", "image"},
};

constexpr const PlainOp& plain_op(Function f) {
  const PlainOp* found = kPlainOps;
  while (found->function != f) ++found;
  return *found;
}

template <Function F, typename... A>
void describe_plain(sonde_op* op, A... a) {
  constexpr PlainOp kOp = plain_op(F);
  constexpr size_t kWaits = index_of(F, "blocking"), kSize = index_of(F, "size"),
                   kRegion = index_of(F, "region");
  op->kind = kOp.kind;
  op->src = word(argument<index_of(F, kOp.src)>(a...));
  op->dst = word(argument<index_of(F, kOp.dst)>(a...));
  if constexpr (kWaits != kNoArgument) {
    if (argument<kWaits>(a...) != CL_FALSE) op->flags |= kBlocking;
  }
  if constexpr (kSize != kNoArgument) op->bytes = argument<kSize>(a...);
  if constexpr (kRegion != kNoArgument) {
    const size_t* region = argument<kRegion>(a...);
    const cl_mem image = argument<index_of(F, kOp.image)>(a...);
    op->size[0] = region[0] * (image != nullptr ? element_bytes(image) : 1);
    op->size[1] = region[1];
    op->size[2] = region[2];
    op->bytes = op->size[0] * op->size[1] * op->size[2];
  }
}

}  // namespace sonde::opencl
