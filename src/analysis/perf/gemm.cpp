// Products of matrices: 2 * batch * M * N * K operations. A bias is read, and adding it is not
// counted.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/perf/models.h"

namespace sonde::analysis {
namespace {

using Sizes = std::vector<int64_t>;

struct Shape {
  Sizes batch;
  int64_t m = 1, n = 1, k = 1;
};

// The rules of torch.matmul, which those of mm, bmm, mv and dot are parts of.
std::optional<Shape> shape_of(const Sizes& a, const Sizes& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  Shape shape;
  shape.k = a.back();
  shape.m = a.size() > 1 ? a[a.size() - 2] : 1;
  shape.n = b.size() > 1 ? b.back() : 1;
  if ((b.size() > 1 ? b[b.size() - 2] : b.back()) != shape.k) return std::nullopt;
  const Sizes left(a.begin(), a.end() - std::min<std::ptrdiff_t>(2, std::ssize(a)));
  const Sizes right(b.begin(), b.end() - std::min<std::ptrdiff_t>(2, std::ssize(b)));
  const auto batch = broadcast(left, right);
  if (!batch) return std::nullopt;
  shape.batch = *batch;
  return shape;
}

std::string text_of(const Shape& shape) {
  std::string text = fmt::format("M={} N={} K={}", shape.m, shape.n, shape.k);
  return shape.batch.empty() ? text : "B=" + extents(shape.batch) + " " + text;
}

Estimate product_estimate(const Tensor& a, const Tensor& b, const Shape& shape,
                          const ElementType& out, std::optional<int64_t> bias_bytes,
                          std::optional<int64_t> results) {
  if (a.type->is_complex() || a.type->rank < 1) return Estimate::none(kOddType);
  const auto flops = product_of({2, product(shape.batch), shape.m, shape.n, shape.k});
  const auto bytes =
      sum_of({a.stored_bytes(), b.stored_bytes(), product_of({results, out.bytes}), bias_bytes});
  return estimate_of(flops, bytes, text_of(shape), a.type);
}

// a @ b, with a third matrix that is added if `added` is one.
Estimate product_of_two(const Inputs& inputs, size_t first, const Tensor* added) {
  const Tensor* a = inputs.tensor(first);
  const Tensor* b = inputs.tensor(first + 1);
  if (a == nullptr || b == nullptr) return Estimate::none(kNoSizes);
  const auto shape = shape_of(a->sizes, b->sizes);
  if (!shape) return Estimate::none(kOddSizes);
  return product_estimate(*a, *b, *shape, *a->type, stored_bytes(added),
                          product_of({product(shape->batch), shape->m, shape->n}));
}

Estimate plain(std::string_view, const Inputs& inputs) {
  return product_of_two(inputs, 0, nullptr);
}

// beta * c + alpha * (a @ b); c is not read where beta is 0.
Estimate with_addend(std::string_view, const Inputs& inputs) {
  const Tensor* added = inputs.tensor(0);
  if (added == nullptr) return Estimate::none(kNoSizes);
  const std::string_view beta = inputs[3].concrete;
  return product_of_two(inputs, 1, beta == "0" || beta == "0." ? nullptr : added);
}

// The sum of the products of a batch: one result.
Estimate summed(std::string_view, const Inputs& inputs) {
  const Tensor* added = inputs.tensor(0);
  const Tensor* a = inputs.tensor(1);
  const Tensor* b = inputs.tensor(2);
  if (added == nullptr || a == nullptr || b == nullptr) return Estimate::none(kNoSizes);
  const auto shape = shape_of(a->sizes, b->sizes);
  if (!shape || shape->batch.size() != 1) return Estimate::none(kOddSizes);
  return product_estimate(*a, *b, *shape, *a->type, added->stored_bytes(),
                          product_of({shape->m, shape->n}));
}

// x @ w^T + bias
Estimate linear(std::string_view, const Inputs& inputs) {
  const Tensor* x = inputs.tensor(0);
  const Tensor* w = inputs.tensor(1);
  if (x == nullptr || w == nullptr) return Estimate::none(kNoSizes);
  if (x->sizes.empty() || w->sizes.size() != 2 || w->sizes[1] != x->sizes.back()) {
    return Estimate::none(kOddSizes);
  }
  Shape shape;
  const auto rows = product({x->sizes.begin(), x->sizes.end() - 1});
  if (!rows) return Estimate::none(kTooLarge);
  shape.m = *rows;
  shape.n = w->sizes[0];
  shape.k = w->sizes[1];
  return product_estimate(*x, *w, shape, *x->type, stored_bytes(inputs.tensor(2)),
                          product_of({shape.m, shape.n}));
}

// A product of 8-bit floats or integers, with scales; the type of the result is an argument.
Estimate scaled(std::string_view name, const Inputs& inputs) {
  const Tensor* a = inputs.tensor(0);
  const Tensor* b = inputs.tensor(1);
  if (a == nullptr || b == nullptr) return Estimate::none(kNoSizes);
  const auto shape = shape_of(a->sizes, b->sizes);
  if (!shape) return Estimate::none(kOddSizes);
  const ElementType* out = nullptr;
  if (name == "aten::_int_mm") {
    out = element_type("int");
  } else if (const auto number = inputs.integer(6)) {
    out = element_type_of_number(*number);
  }
  if (out == nullptr) return Estimate::none(kNoValues);
  return product_estimate(*a, *b, *shape, *out, stored_bytes(inputs.tensor(4)),
                          product_of({shape->m, shape->n}));
}

}  // namespace

std::vector<PerfModel> gemm_models() {
  return {
      {"aten::mm", WorkKind::kGemm, plain},
      {"aten::bmm", WorkKind::kGemm, plain},
      {"aten::matmul", WorkKind::kGemm, plain},
      {"aten::mv", WorkKind::kGemm, plain},
      {"aten::dot", WorkKind::kGemm, plain},
      {"aten::vdot", WorkKind::kGemm, plain},
      {"aten::addmm", WorkKind::kGemm, with_addend},
      {"aten::addmm_", WorkKind::kGemm, with_addend},
      {"aten::_addmm_activation", WorkKind::kGemm, with_addend},
      {"aten::baddbmm", WorkKind::kGemm, with_addend},
      {"aten::baddbmm_", WorkKind::kGemm, with_addend},
      {"aten::addmv", WorkKind::kGemm, with_addend},
      {"aten::addmv_", WorkKind::kGemm, with_addend},
      {"aten::addbmm", WorkKind::kGemm, summed},
      {"aten::linear", WorkKind::kGemm, linear},
      {"aten::_scaled_mm", WorkKind::kGemm, scaled},
      {"aten::_int_mm", WorkKind::kGemm, scaled},
  };
}

}  // namespace sonde::analysis
