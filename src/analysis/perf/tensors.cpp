#include "analysis/perf/tensors.h"

#include <algorithm>
#include <initializer_list>

#include "analysis/arguments.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

constexpr ElementType kTypes[] = {
    {"bool", "bool", 1, Precision::kOther, 0},
    {"unsigned char", "uint8", 1, Precision::kInt8, 1},
    {"signed char", "int8", 1, Precision::kInt8, 2},
    {"char", "int8", 1, Precision::kInt8, 2},
    {"short int", "int16", 2, Precision::kOther, 3},
    {"short", "int16", 2, Precision::kOther, 3},
    {"int", "int32", 4, Precision::kOther, 4},
    {"long int", "int64", 8, Precision::kOther, 5},
    {"long", "int64", 8, Precision::kOther, 5},
    {"c10::Float8_e4m3fn", "fp8", 1, Precision::kFp8, 10},
    {"c10::Float8_e4m3fnuz", "fp8", 1, Precision::kFp8, 10},
    {"c10::Float8_e5m2", "fp8", 1, Precision::kFp8, 10},
    {"c10::Float8_e5m2fnuz", "fp8", 1, Precision::kFp8, 10},
    {"c10::Half", "fp16", 2, Precision::kFp16, 11},
    {"c10::BFloat16", "bf16", 2, Precision::kBf16, 12},
    {"float", "fp32", 4, Precision::kFp32, 13},
    {"double", "fp64", 8, Precision::kFp64, 14},
    {"c10::complex<float>", "complex64", 8, Precision::kOther, 20},
    {"c10::complex<double>", "complex128", 16, Precision::kOther, 21},
};

// A value of JSON as far as lists of lists of numbers and texts go.
struct Item {
  std::string_view text;  // a number, or what is between the quotes
  std::vector<Item> items;
  bool is_list = false;
};

class ListParser {
 public:
  explicit ListParser(std::string_view text) : text_(text) {}
  std::optional<Item> parse() { return value(0); }

 private:
  static constexpr int kDeepest = 8;

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  std::optional<Item> value(int depth) {
    skip_blanks();
    if (at_ >= text_.size() || depth > kDeepest) return std::nullopt;
    if (text_[at_] == '[') return list(depth);
    Item item;
    if (text_[at_] == '"') {
      const size_t begin = ++at_;
      while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      if (at_ >= text_.size()) return std::nullopt;
      item.text = text_.substr(begin, at_++ - begin);
      return item;
    }
    const size_t end = std::min(text_.find_first_of(",]", at_), text_.size());
    item.text = trim(text_.substr(at_, end - at_));
    at_ = end;
    return item;
  }

  std::optional<Item> list(int depth) {
    Item list;
    list.is_list = true;
    ++at_;
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size()) return std::nullopt;
      if (text_[at_] == ']') break;
      auto item = value(depth + 1);
      if (!item) return std::nullopt;
      list.items.push_back(std::move(*item));
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    ++at_;
    return list;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<Item> list_of(std::string_view args, std::string_view key) {
  const auto text = argument(args, key);
  if (!text) return std::nullopt;
  auto item = ListParser(*text).parse();
  if (!item || !item->is_list) return std::nullopt;
  return item;
}

std::optional<std::vector<int64_t>> integers_of(const Item& list) {
  std::vector<int64_t> integers;
  for (const Item& item : list.items) {
    const auto integer = item.is_list ? std::nullopt : parse_int(item.text);
    if (!integer) return std::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

std::optional<Tensor> tensor_of(const ElementType& type, const Item& sizes, const Item* strides) {
  Tensor tensor;
  tensor.type = &type;
  auto known = integers_of(sizes);
  if (!known) return std::nullopt;
  for (const int64_t size : *known) {
    if (size < 0) return std::nullopt;
  }
  tensor.sizes = std::move(*known);
  if (strides == nullptr) return tensor;
  auto steps = integers_of(*strides);
  if (steps && steps->size() == tensor.sizes.size()) tensor.strides = std::move(*steps);
  return tensor;
}

}  // namespace

const ElementType* element_type(std::string_view recorded) {
  for (const ElementType& type : kTypes) {
    if (type.recorded == recorded) return &type;
  }
  return nullptr;
}

const ElementType* element_type_of_number(int64_t number) {
  constexpr std::string_view kByNumber[] = {"unsigned char",
                                            "signed char",
                                            "short",
                                            "int",
                                            "long",
                                            "c10::Half",
                                            "float",
                                            "double",
                                            "",
                                            "",
                                            "",
                                            "bool",
                                            "",
                                            "",
                                            "",
                                            "c10::BFloat16"};
  if (number < 0 || number >= static_cast<int64_t>(std::size(kByNumber))) return nullptr;
  return element_type(kByNumber[number]);
}

std::optional<int64_t> product(const std::vector<int64_t>& factors) {
  int64_t result = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
  }
  return result;
}

std::optional<int64_t> product_of(std::initializer_list<std::optional<int64_t>> factors) {
  int64_t result = 1;
  for (const auto& factor : factors) {
    if (!factor || __builtin_mul_overflow(result, *factor, &result)) return std::nullopt;
  }
  return result;
}

std::optional<int64_t> sum_of(std::initializer_list<std::optional<int64_t>> terms) {
  int64_t result = 0;
  for (const auto& term : terms) {
    if (!term || __builtin_add_overflow(result, *term, &result)) return std::nullopt;
  }
  return result;
}

std::optional<int64_t> Tensor::stored_bytes() const {
  std::vector<int64_t> stored;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool is_expanded = !strides.empty() && strides[i] == 0 && sizes[i] > 1;
    stored.push_back(is_expanded ? 1 : sizes[i]);
  }
  return product_of({product(stored), type->bytes});
}

std::optional<int64_t> stored_bytes(const Tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->stored_bytes();
}

std::optional<std::vector<int64_t>> broadcast(const std::vector<int64_t>& a,
                                              const std::vector<int64_t>& b) {
  std::vector<int64_t> result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

std::optional<Inputs> Inputs::parse(std::string_view args) {
  const auto sizes = list_of(args, "Input Dims");
  const auto types = list_of(args, "Input type");
  if (!sizes || !types) return std::nullopt;
  const auto strides = list_of(args, "Input Strides");
  const auto concrete = list_of(args, "Concrete Inputs");
  const size_t count = std::min(sizes->items.size(), types->items.size());
  const bool has_strides = strides && strides->items.size() == sizes->items.size();
  Inputs inputs;
  for (size_t i = 0; i < count; ++i) {
    Input input;
    const std::string_view type = types->items[i].text;
    input.is_list = type == "TensorList" || type == "GenericList" || types->items[i].is_list;
    const ElementType* element = element_type(type);
    if (element != nullptr && sizes->items[i].is_list) {
      input.tensor =
          tensor_of(*element, sizes->items[i], has_strides ? &strides->items[i] : nullptr);
    }
    if (concrete && i < concrete->items.size()) input.concrete = concrete->items[i].text;
    inputs.inputs_.push_back(std::move(input));
  }
  if (inputs.inputs_.empty()) return std::nullopt;
  return inputs;
}

const Input& Inputs::operator[](size_t i) const {
  static const Input kNone;
  return i < inputs_.size() ? inputs_[i] : kNone;
}

const Tensor* Inputs::tensor(size_t i) const {
  const Input& input = (*this)[i];
  return input.tensor ? &*input.tensor : nullptr;
}

std::optional<bool> Inputs::flag(size_t i) const {
  const std::string_view text = (*this)[i].concrete;
  if (text == "True" || text == "1") return true;
  if (text == "False" || text == "0") return false;
  return std::nullopt;
}

std::optional<int64_t> Inputs::integer(size_t i) const { return parse_int((*this)[i].concrete); }

std::optional<std::vector<int64_t>> Inputs::integers(size_t i) const {
  const std::string_view text = (*this)[i].concrete;
  if (const auto one = parse_int(text)) return std::vector<int64_t>{*one};
  if (text.empty() || text.front() != '[') return std::nullopt;
  const auto list = ListParser(text).parse();
  return list ? integers_of(*list) : std::nullopt;
}

}  // namespace sonde::analysis
