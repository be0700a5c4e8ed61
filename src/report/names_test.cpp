#include "report/names.h"

#include <gtest/gtest.h>

#include <random>

namespace sonde::report {
namespace {

TEST(Names, DropsWhatMakesNamesLong) {
  EXPECT_EQ(
      short_name("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned "
                 "int, 1, 128, 1>(float*, at::native::(anonymous namespace)::Meta<float>)"),
      "at::native::CatArrayBatchedCopy");
  EXPECT_EQ(short_name("add(float*, int)"), "add");
  EXPECT_EQ(
      short_name("void ns::f<(ns::method)0, true>(int (*)(float), std::vector<int>) [clone x]"),
      "ns::f");
  EXPECT_EQ(short_name("std::enable_if<(((8)>(0)))&&_typeConvert<c10::Half>::exists, void>::type "
                       "vllm::scaled<c10::Half>(int)"),
            "vllm::scaled");
  EXPECT_EQ(short_name("void k<f(int)::{lambda(float)#1}>(int)"), "k");
  EXPECT_EQ(short_name("f(int)::{lambda(float)#1}::operator()(float) const"),
            "f::{lambda#1}::operator()");
}

TEST(Names, KeepsOperators) {
  EXPECT_EQ(short_name("bool operator< <int>(A<int> const&, A<int> const&)"), "operator<");
  EXPECT_EQ(short_name("A::operator<<(int)"), "A::operator<<");
  EXPECT_EQ(short_name("A::operator bool() const"), "A::operator bool");
}

TEST(Names, LeavesOtherTextAlone) {
  for (const char* name : {"Cijk_Ailk_Bljk_SB_MT128x64x16", "batch (3)", "a < b", "epoch 3", "f(",
                           ">", "kernel<int", "((((", "triton_poi_fused_0",
                           "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}) {
    EXPECT_EQ(short_name(name), name);
  }
}

TEST(Names, FramesOfPythonKeepTheirLineAndFunction) {
  const std::vector<std::string> names = {
      "threading.py(359): wait", "threading.py(973): _bootstrap",
      "torch/nn/modules/module.py(1501): _call_impl", "<string>(2): __init__",
      "<frozen importlib._bootstrap>(1007): _find_and_load"};
  EXPECT_EQ(short_names(names), names);
  for (const std::string& name : names) EXPECT_EQ(short_name(name), name);
}

TEST(Names, DifferentNamesStayDifferent) {
  const std::vector<std::string> names = {"void k<A<int>, 1>(int)", "void k<A<float>, 1>(int)",
                                          "void other<int>(int)", "void k<A<int>, 1>(int)"};
  EXPECT_EQ(short_names(names),
            (std::vector<std::string>{"k<A<int>, 1>", "k<A<float>, 1>", "other", "k<A<int>, 1>"}));
  const std::string padding(200, 'x');
  const std::vector<std::string> too_long = {"k<" + padding + "1>(int)",
                                             "k<" + padding + "2>(int)"};
  EXPECT_EQ(short_names(too_long), (std::vector<std::string>{"k #1", "k #2"}));
  const std::string wide = "ns::very_long_template<" + std::string(60, 'x') + ", ";
  const std::vector<std::string> functors = {"void k<" + wide + "AbsFunctor<float>>>(int)",
                                             "void k<" + wide + "AddFunctor<float>>>(int)",
                                             "void k<" + wide + "AddFunctor<double>>>(int)"};
  EXPECT_EQ(
      short_names(functors),
      (std::vector<std::string>{"k<..AbsFunctor..>", "k<..AddFunctor..float..>", "k<..double..>"}));
}

TEST(Names, NamesTheDemanglerDoesNotKnowKeepTheirSourceName) {
  const std::vector<std::string> names = {"_ZN4vllm6kernelIDF99_notatypeEEvPT_",
                                          "_Z32paged_attention_ll4mi_QKV_kernelIDF99_hEvPT_"};
  EXPECT_EQ(short_names(names),
            (std::vector<std::string>{"vllm::kernel", "paged_attention_ll4mi_QKV_kernel"}));
}

TEST(Names, CutNamesStayDifferent) {
  const std::string start(60, 'a');
  const std::string end(60, 'z');
  const std::vector<std::string> names = {start + "1" + end, "short", start + "2" + end,
                                          start + "1" + end};
  const auto cut = cut_names(names, 40);
  EXPECT_EQ(cut[0], std::string(23, 'a') + ".." + std::string(12, 'z') + " #1");
  EXPECT_EQ(cut[1], "short");
  EXPECT_EQ(cut[2].substr(cut[2].size() - 3), " #2");
  EXPECT_EQ(cut[3], cut[0]);
}

// Brackets in any order must neither crash nor hang, and never give an empty name.
TEST(Names, SurvivesAnyBrackets) {
  std::mt19937 random(7);
  const std::string alphabet = "ab:<>(){}[] ,*#operator->_Z1";
  for (int round = 0; round < 20000; ++round) {
    std::string name;
    const size_t length = 1 + random() % 40;
    for (size_t i = 0; i < length; ++i) name += alphabet[random() % alphabet.size()];
    EXPECT_FALSE(short_name(name, random() % 4).empty());
    const std::vector<std::string> names = {name, name + "x"};
    const auto shortened = short_names(names);
    EXPECT_NE(shortened[0], shortened[1]) << name;
  }
}

}  // namespace
}  // namespace sonde::report
