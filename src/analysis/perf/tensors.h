// The inputs of an operator of PyTorch as its trace recorded them: sizes, strides, element types
// and the values of what is not a tensor. Used by the performance models.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sonde::analysis {

// What arithmetic a device has separate peaks for.
enum class Precision : uint8_t { kFp64, kFp32, kFp16, kBf16, kFp8, kInt8, kOther };
constexpr size_t kPrecisions = 7;

struct ElementType {
  std::string_view recorded;  // "c10::BFloat16"
  const char* name;           // "bf16"
  int64_t bytes;
  Precision precision;
  int rank;  // of two types the result has that of the higher rank
  bool is_float() const { return rank >= kFloatRank && rank < kComplexRank; }
  bool is_complex() const { return rank >= kComplexRank; }
  static constexpr int kFloatRank = 10;
  static constexpr int kComplexRank = 20;
};
const ElementType* element_type(std::string_view recorded);  // nullptr if it is none
// By the number that PyTorch gives it where a type is an argument: 15 is bf16.
const ElementType* element_type_of_number(int64_t number);

// Sizes come from files and can be anything: nullopt where a product does not fit.
std::optional<int64_t> product(const std::vector<int64_t>& factors);
std::optional<int64_t> product_of(std::initializer_list<std::optional<int64_t>> factors);
std::optional<int64_t> sum_of(std::initializer_list<std::optional<int64_t>> terms);

struct Tensor {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // empty if they are not recorded
  const ElementType* type = nullptr;
  std::optional<int64_t> elements() const { return product(sizes); }
  // The bytes in memory: elements expanded with stride 0 count once.
  std::optional<int64_t> stored_bytes() const;
};

std::optional<int64_t> stored_bytes(const Tensor* tensor);  // 0 without one
// What both are stretched to, as PyTorch does; nullopt if they do not fit.
std::optional<std::vector<int64_t>> broadcast(const std::vector<int64_t>& a,
                                              const std::vector<int64_t>& b);

struct Input {
  std::optional<Tensor> tensor;
  bool is_list = false;       // of tensors, whose element type no trace has
  std::string_view concrete;  // "[1, 1]", "True", "0.125"; "" = not recorded, or a tensor
};

constexpr int kNoArgument = -1;

class Inputs {
 public:
  // Parses the arguments of a call; views point into `args`. nullopt if it has no sizes.
  static std::optional<Inputs> parse(std::string_view args);

  size_t size() const { return inputs_.size(); }
  const Input& operator[](size_t i) const;  // an empty one beyond the end
  const Tensor* tensor(size_t i) const;     // nullptr if it is none
  // Of an operator that may not have this argument.
  const Tensor* tensor_at(int i) const {
    return i == kNoArgument ? nullptr : tensor(static_cast<size_t>(i));
  }
  std::optional<bool> flag(size_t i) const;
  std::optional<int64_t> integer(size_t i) const;
  std::optional<std::vector<int64_t>> integers(size_t i) const;  // "[1, 2]" or "1"

 private:
  std::vector<Input> inputs_;
};

}  // namespace sonde::analysis
