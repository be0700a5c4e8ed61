// The work of operators against figures worked out by hand.
#include "analysis/perf/models.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sonde::analysis {
namespace {

Estimate estimate(const char* name, const std::string& sizes, const std::string& types,
                  const std::string& concrete = "", const std::string& strides = "") {
  std::string args = fmt::format(R"({{"Input Dims":[{}],"Input type":[{}])", sizes, types);
  if (!concrete.empty()) args += fmt::format(R"(,"Concrete Inputs":[{}])", concrete);
  if (!strides.empty()) args += fmt::format(R"(,"Input Strides":[{}])", strides);
  args += "}";
  const PerfModel* model = find_perf_model(name);
  if (model == nullptr) return Estimate::none("no such model");
  const auto inputs = Inputs::parse(args);
  return inputs ? model->estimate(name, *inputs) : Estimate::none(kNoSizes);
}

// "flops|bytes|shape", or why there are none.
std::string work(const char* name, const std::string& sizes, const std::string& types,
                 const std::string& concrete = "", const std::string& strides = "") {
  const Estimate one = estimate(name, sizes, types, concrete, strides);
  if (!one.work) return one.missing;
  return fmt::format("{}|{}|{}", one.work->flops, one.work->bytes, one.work->shape);
}

TEST(PerfModels, Products) {
  const char* kTwo = R"("c10::Half","c10::Half")";
  const char* kThree = R"("float","float","float","Scalar","Scalar")";
  // 2*4*6*5 = 240; (20 + 30 + 24) * 2 bytes
  EXPECT_EQ(work("aten::mm", "[4,5],[5,6]", kTwo), "240|148|M=4 N=6 K=5");
  EXPECT_EQ(work("aten::bmm", "[3,4,5],[3,5,6]", kTwo), "720|444|B=3 M=4 N=6 K=5");
  // (20 + 30 + 24 + 6) * 4: the bias is read
  EXPECT_EQ(work("aten::addmm", "[6],[4,5],[5,6],[],[]", kThree, R"("","","","1","1")"),
            "240|320|M=4 N=6 K=5");
  EXPECT_EQ(work("aten::addmm", "[6],[4,5],[5,6],[],[]", kThree, R"("","","","0","1")"),
            "240|296|M=4 N=6 K=5");
  // A batch that is stretched is in memory once.
  EXPECT_EQ(work("aten::matmul", "[7,1,4,5],[2,5,6]", kTwo), "3360|1072|B=7x2 M=4 N=6 K=5");
  EXPECT_EQ(work("aten::bmm", "[3,4,5],[3,5,6]", kTwo, "", "[0,5,1],[30,6,1]"),
            "720|364|B=3 M=4 N=6 K=5");
  EXPECT_EQ(work("aten::linear", "[2,3,5],[6,5],[6]", R"("float","float","float")"),
            "360|408|M=6 N=6 K=5");
  EXPECT_EQ(work("aten::mv", "[4,5],[5]", kTwo), "40|58|M=4 N=1 K=5");
  // 8-bit inputs (20 + 30) and a result of type 15, bf16: 48
  EXPECT_EQ(
      work("aten::_scaled_mm", "[4,5],[5,6],[],[],[],[],[],[]",
           R"("c10::Float8_e4m3fn","c10::Float8_e4m3fn","float","float","","","Scalar","Scalar")",
           R"("","","","","","","15","True")"),
      "240|98|M=4 N=6 K=5");
}

TEST(PerfModels, WhatIsMissingIsSaid) {
  EXPECT_EQ(work("aten::mm", "[],[]", R"("","")"), kNoSizes);
  EXPECT_EQ(work("aten::mm", "[4,5],[6,5]", R"("float","float")"), kOddSizes);
  EXPECT_EQ(work("aten::mm", "[4,5]", R"("float")"), kNoSizes);
  EXPECT_EQ(work("aten::mm", "[4000000000,4000000000],[4000000000,4]", R"("float","float")"),
            kTooLarge);
  EXPECT_EQ(work("aten::mm", "[4,-5],[-5,6]", R"("float","float")"), kNoSizes);
  EXPECT_EQ(work("aten::mm", "[4,5],[5,6]", R"("c10::complex<float>","float")"), kOddType);
  // As Sonde records operators: without the values of arguments.
  EXPECT_EQ(work("aten::convolution", "[2,3,8,8],[4,3,3,3],[4],[],[],[],[],[],[]",
                 R"("float","float","float","","","","","","")"),
            kNoValues);
  EXPECT_EQ(work("aten::mul", "[4],[]", R"("long int","double")"),
            "the type of the result is not recorded");
  for (const char* args : {"", "{", "{\"Input Dims\":[[2,3", "{\"Input Dims\":3,\"Input type\":4}",
                           "{\"Input Dims\":[[[[[[[[[[[1]]]]]]]]]]],\"Input type\":[\"float\"]}"}) {
    EXPECT_FALSE(Inputs::parse(args)) << args;
  }
}

const char* const kConvolutionTypes = R"("float","float","float","","","","","","")";

std::string convolution(const char* sizes, const char* values) {
  return work("aten::convolution", std::string(sizes) + ",[],[],[],[],[],[]", kConvolutionTypes,
              std::string(R"("","","",)") + values);
}

TEST(PerfModels, Convolutions) {
  // 8x8 in, 3x3 without padding: 6x6 out. 2 * (2*4*36) * (3*9) = 15552;
  // (2*3*64 + 4*27 + 2*4*36 + 4) * 4 = 3136
  EXPECT_EQ(
      convolution("[2,3,8,8],[4,3,3,3],[4]", R"("[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1")"),
      "15552|3136|N=2 C=3 8x8 K=4 3x3 s1,1 p0,0 d1,1 g1");
  // stride 2, padding 1, dilation 2 covers 5: (8 + 2 - 5)/2 + 1 = 3 in each dimension.
  EXPECT_EQ(
      convolution("[2,4,8,8],[6,2,3,3],[6]", R"("[2, 2]","[1, 1]","[2, 2]","False","[0, 0]","2")"),
      "3888|2936|N=2 C=4 8x8 K=6 3x3 s2,2 p1,1 d2,2 g2");
  // One dimension, transposed: (5-1)*2 - 2*1 + 2 + 1 + 1 = 10; 2 * (3*5) * (4*3) = 360
  EXPECT_EQ(convolution("[1,3,5],[3,4,3],[4]", R"("[2]","[1]","[1]","True","[1]","1")"),
            "360|380|N=1 C=3 5 transposed K=4 3 s2 p1 d1 g1");
  EXPECT_EQ(convolution("[1,2,4,4,4],[3,2,2,2,2],[3]",
                        R"("[1, 1, 1]","[0, 0, 0]","[1, 1, 1]","False","[0, 0, 0]","1")"),
            "2592|1040|N=1 C=2 4x4x4 K=3 2x2x2 s1,1,1 p0,0,0 d1,1,1 g1");
  EXPECT_EQ(
      convolution("[2,3,8,8],[4,3,3,3],[4]", R"("[0, 0]","[0, 0]","[1, 1]","False","[0, 0]","1")"),
      kOddSizes);
  EXPECT_EQ(
      convolution("[2,3,8,8],[4,3,9,9],[4]", R"("[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1")"),
      kOddSizes);
}

TEST(PerfModels, ConvolutionBackward) {
  const auto backward = [&](const char* mask) {
    return work(
        "aten::convolution_backward", "[2,4,6,6],[2,3,8,8],[4,3,3,3],[],[],[],[],[],[],[],[]",
        R"("float","float","float","","","","","","","","")",
        fmt::format(R"("","","","[4]","[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1","{}")",
                    mask));
  };
  const std::string shape = "N=2 C=3 8x8 K=4 3x3 s1,1 p0,0 d1,1 g1 gradients:";
  // A pass is 15552; gradient 1152 bytes, input 1536, weight 432.
  EXPECT_EQ(backward("[True, False, False]"), "15552|3120|" + shape + " input");
  EXPECT_EQ(backward("[True, True, False]"), "31104|6240|" + shape + " input weight");
  EXPECT_EQ(backward("[False, False, True]"), "0|1168|" + shape + " bias");
}

std::string flash(int64_t queries, int64_t keys, const char* causal) {
  return work("aten::_scaled_dot_product_flash_attention",
              fmt::format("[2,8,{0},64],[2,4,{1},64],[2,4,{1},64],[],[]", queries, keys),
              R"("c10::Half","c10::Half","c10::Half","Scalar","Scalar")",
              fmt::format(R"("","","","0.","{}")", causal));
}

TEST(PerfModels, Attention) {
  // 2 * 2*8 * 100*100 * (64 + 64); q and result 2*8*100*64, k and v 2*4*100*64, of 2 bytes
  EXPECT_EQ(flash(100, 100, "False"), "40960000|614400|B=2 H=8/4 Nq=100 Nkv=100 d=64");
  // 100*101/2 pairs
  EXPECT_EQ(flash(100, 100, "True"), "20684800|614400|B=2 H=8/4 Nq=100 Nkv=100 d=64 causal");
  // 2 * 4 * 5*5 * (3*8 + 2*8); twice all of q, k, v and the result: 8 * 4*5*8 * 2 bytes
  EXPECT_EQ(
      work(
          "aten::_scaled_dot_product_flash_attention_backward",
          "[1,4,5,8],[1,4,5,8],[1,4,5,8],[1,4,5,8],[1,4,5,8],[1,4,5],[],[],[],[],[],[]",
          R"("c10::Half","c10::Half","c10::Half","c10::Half","c10::Half","float","","","","","","")",
          R"("","","","","","","","","5","5","0.","False")"),
      "8000|2560|B=1 H=4 Nq=5 Nkv=5 d=8");
  EXPECT_EQ(
      work("aten::_flash_attention_forward", "[50,4,8],[50,4,8],[50,4,8],[3],[3],[],[],[],[],[]",
           R"("c10::Half","c10::Half","c10::Half","int","int","","","","","")",
           R"("","","","","","20","20","0.","True","False")"),
      "the lengths of the sequences are not recorded");
}

// Another tool refuses a causal mask when there are not as many keys as queries.
TEST(Defects, causal_attention_rectangular) {
  const auto pairs = [](int64_t queries, int64_t keys, int64_t shift) {
    int64_t seen = 0;
    for (int64_t query = 0; query < queries; ++query) {
      for (int64_t key = 0; key < keys; ++key) seen += key <= query + shift ? 1 : 0;
    }
    return seen;
  };
  for (const int64_t queries : {1, 2, 7, 30}) {
    for (const int64_t keys : {1, 3, 7, 50}) {
      const int64_t each = 2 * 2 * 8 * (64 + 64);
      EXPECT_EQ(flash(queries, keys, "True").substr(0, flash(queries, keys, "True").find('|')),
                std::to_string(each * pairs(queries, keys, 0)))
          << queries << " " << keys;
      const auto other =
          estimate("flash_attn::_flash_attn_forward",
                   fmt::format("[2,{0},8,64],[2,{1},8,64],[2,{1},8,64],[],[],[]", queries, keys),
                   R"("c10::Half","c10::Half","c10::Half","Scalar","Scalar","Scalar")",
                   R"("","","","0.","0.125","True")");
      ASSERT_TRUE(other.work);
      EXPECT_EQ(other.work->flops, each * pairs(queries, keys, keys - queries))
          << queries << " " << keys;
    }
  }
}

TEST(PerfModels, NormalisationsAndReductions) {
  EXPECT_EQ(work("aten::native_layer_norm", "[10,32],[],[32],[32],[]",
                 R"("float","ScalarList","float","float","Scalar")"),
            "2560|2816|10x32");  // 8 * 320; 2 * 1280 + 2 * 128
  EXPECT_EQ(work("aten::native_batch_norm", "[2,3,4],[3],[3],[3],[3],[],[],[]",
                 R"("float","float","float","float","float","","","")",
                 R"("","","","","","False","0.1","1e-05")"),
            "96|216|2x3x4 evaluation");  // 4 * 24; 2 * 96 + 2 * 12
  EXPECT_EQ(
      work("aten::native_layer_norm_backward", "[10,32],[10,32],[],[10,1],[10,1],[32],[32],[]",
           R"("float","float","","float","float","float","float","")"),
      "4160|4224|10x32");  // 13 * 320; 3 * 1280 + 3 * 128
  EXPECT_EQ(work("aten::_softmax", "[4,8],[],[]", R"("c10::Half","","")", R"("","-1","True")"),
            "128|192|4x8");  // read as 2 bytes, written as 4
  EXPECT_EQ(work("aten::sum", "[4,8],[],[],[]", R"("float","","","")", R"("","[0]","True","")"),
            "32|160|4x8 over 0");  // 8 results
  EXPECT_EQ(work("aten::sum", "[4,8],[]", R"("float","")"), "32|132|4x8 over all");
  EXPECT_EQ(work("aten::max", "[4,8],[],[]", R"("float","","")", R"("","1","False")"),
            "0|176|4x8 over 1");  // 4 values and 4 places
}

TEST(PerfModels, ElementwiseOperators) {
  EXPECT_EQ(work("aten::add", "[4,8],[8],[]", R"("float","float","Scalar")"), "32|288|4x8");
  // In place: read and written.
  EXPECT_EQ(work("aten::mul_", "[4,8],[]", R"("c10::Half","double")"), "32|128|4x8");
  // The wider type is that of the result.
  EXPECT_EQ(work("aten::mul", "[4],[4]", R"("c10::Half","float")"), "4|40|4");
  EXPECT_EQ(work("aten::eq", "[10],[]", R"("long int","Scalar")"), "0|90|10");
  EXPECT_EQ(work("aten::copy_", "[10],[10],[]", R"("float","long int","Scalar")"), "0|120|10");
  EXPECT_EQ(work("aten::fill_", "[10],[]", R"("float","Scalar")"), "0|40|10");
  EXPECT_EQ(work("aten::where", "[4,1],[4,8],[]", R"("bool","float","float")"), "0|260|4x8");
  EXPECT_EQ(work("aten::index_select", "[100,16],[],[5]", R"("float","Scalar","long int")",
                 R"("","0","")"),
            "0|680|5x16");
}

}  // namespace
}  // namespace sonde::analysis
