// Attention: for each pair of a query and a key that it may see, two products forward (scores and
// values) and five backward (the scores again, and the gradients of values, scores, queries and
// keys). The softmax between them is not counted.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/perf/models.h"

namespace sonde::analysis {
namespace {

constexpr int kNone = kNoArgument;

// Where the diagonal of a causal mask ends if there are more keys than queries, or fewer.
enum class Corner { kTopLeft, kBottomRight };

struct Layout {
  std::string_view name;
  size_t inputs_at_least;  // versions with fewer have the arguments elsewhere
  int causal;              // a flag
  int mask = kNone;        // a tensor that is added to the scores
  int query = 0;           // key and value follow
  int cumulated = kNone;   // given for sequences of several lengths, which are not recorded
  bool backward = false;
  bool heads_last = false;  // [batch, length, heads, size] and not [batch, heads, length, size]
  Corner corner = Corner::kTopLeft;
};

constexpr Layout kLayouts[] = {
    {"aten::scaled_dot_product_attention", 6, 5, 3},
    {"aten::_scaled_dot_product_flash_attention", 5, 4},
    {"aten::_scaled_dot_product_efficient_attention", 7, 6, 3},
    {"aten::_scaled_dot_product_cudnn_attention", 9, 6, 3},
    {"aten::_scaled_dot_product_flash_attention_backward", 12, 11, kNone, 1, 6, true},
    {"aten::_scaled_dot_product_efficient_attention_backward", 12, 11, 4, 1, kNone, true},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 15, 14, 8, 1, 9, true},
    {"aten::_flash_attention_forward", 10, 8, kNone, 0, 3, false, true},
    {"aten::_flash_attention_backward", 12, 11, kNone, 1, 6, true, true},
    {"flash_attn::_flash_attn_forward", 6, 5, kNone, 0, kNone, false, true, Corner::kBottomRight},
    {"flash_attn::_flash_attn_backward", 12, 11, kNone, 1, kNone, true, true, Corner::kBottomRight},
};

struct Shape {
  int64_t batch = 1, query_heads = 1, key_heads = 1, queries = 1, keys = 1, size = 1;
  int64_t value_size = 1;
};

// Pairs of query and key without those that a causal mask hides.
std::optional<int64_t> pairs_of(int64_t queries, int64_t keys, bool causal, Corner corner) {
  if (!causal) return product_of({queries, keys});
  // In the top left query i sees keys 0 to i; in the bottom right the last query sees all keys.
  const int64_t shift = corner == Corner::kTopLeft ? 0 : keys - queries;
  // Queries [first, full) see one key more each, from `first + shift + 1` on; the rest see all.
  const int64_t first = std::clamp<int64_t>(-shift, 0, queries);
  const int64_t full = std::clamp<int64_t>(keys - shift, first, queries);
  const int64_t rising = full - first;
  const auto least = first + shift + 1;
  const auto twice = product_of({rising, sum_of({least, full + shift})});
  const auto rest = product_of({queries - full, keys});
  if (!twice || !rest) return std::nullopt;
  return sum_of({*twice / 2, *rest});
}

std::optional<Shape> shape_of(const Tensor& q, const Tensor& k, const Tensor& v, bool heads_last) {
  if (q.sizes.size() != 4 || k.sizes.size() != 4 || v.sizes.size() != 4) return std::nullopt;
  const size_t heads = heads_last ? 2 : 1;
  const size_t length = heads_last ? 1 : 2;
  const Shape shape{q.sizes[0],      q.sizes[heads], k.sizes[heads], q.sizes[length],
                    k.sizes[length], q.sizes[3],     v.sizes[3]};
  const bool fits = k.sizes[0] == shape.batch && v.sizes[0] == shape.batch &&
                    k.sizes[3] == shape.size && v.sizes[length] == shape.keys &&
                    shape.key_heads > 0 && shape.query_heads % shape.key_heads == 0;
  return fits ? std::optional(shape) : std::nullopt;
}

Estimate attention(std::string_view name, const Inputs& inputs) {
  const Layout& layout = layout_of(kLayouts, name);
  const auto query = static_cast<size_t>(layout.query);
  const Tensor* q = inputs.tensor(query);
  const Tensor* k = inputs.tensor(query + 1);
  const Tensor* v = inputs.tensor(query + 2);
  if (q == nullptr || k == nullptr || v == nullptr) return Estimate::none(kNoSizes);
  if (inputs.tensor_at(layout.cumulated) != nullptr) {
    return Estimate::none("the lengths of the sequences are not recorded");
  }
  const auto shape = shape_of(*q, *k, *v, layout.heads_last);
  if (!shape) return Estimate::none(kOddSizes);
  const auto causal = inputs.size() < layout.inputs_at_least
                          ? std::nullopt
                          : inputs.flag(static_cast<size_t>(layout.causal));
  if (!causal) return Estimate::none(kNoValues);
  const auto pairs = pairs_of(shape->queries, shape->keys, *causal, layout.corner);
  const auto per_pair =
      layout.backward ? sum_of({product_of({3, shape->size}), product_of({2, shape->value_size})})
                      : sum_of({shape->size, shape->value_size});
  const auto flops = product_of({2, shape->batch, shape->query_heads, pairs, per_pair});
  const auto result_bytes = product_of(
      {shape->batch, shape->query_heads, shape->queries, shape->value_size, q->type->bytes});
  const auto mask_bytes = stored_bytes(inputs.tensor_at(layout.mask));
  const auto inputs_bytes = sum_of({q->stored_bytes(), k->stored_bytes(), v->stored_bytes()});
  // Backward reads the result and its gradient, and writes a gradient for each input.
  const int64_t times = layout.backward ? 2 : 1;
  const auto bytes =
      sum_of({product_of({times, inputs_bytes}), product_of({times, result_bytes}), mask_bytes});
  return estimate_of(
      flops, bytes,
      fmt::format(
          "B={} H={}{} Nq={} Nkv={} d={}{}{}", shape->batch, shape->query_heads,
          shape->key_heads == shape->query_heads ? "" : fmt::format("/{}", shape->key_heads),
          shape->queries, shape->keys, shape->size,
          shape->value_size == shape->size ? "" : fmt::format("/{}", shape->value_size),
          *causal ? " causal" : ""),
      q->type);
}

}  // namespace

std::vector<PerfModel> attention_models() {
  return models_of(kLayouts, WorkKind::kAttention, attention);
}

}  // namespace sonde::analysis
