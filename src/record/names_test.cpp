#include "record/names.h"

#include <gtest/gtest.h>

#include <map>

namespace sonde::record {
namespace {

std::optional<Rank> rank_in(const std::map<std::string, std::string>& environment) {
  return detect_rank([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found != environment.end() ? found->second.c_str() : nullptr;
  });
}

TEST(Names, RanksOfEveryLauncher) {
  EXPECT_FALSE(rank_in({}));
  EXPECT_EQ(rank_in({{"RANK", "3"}, {"WORLD_SIZE", "8"}})->rank, 3);
  EXPECT_EQ(rank_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}})->rank, 1);
  EXPECT_EQ(rank_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}})->rank, 1);
  EXPECT_EQ(rank_in({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}})->rank, 5);
  EXPECT_EQ(rank_in({{"SLURM_PROCID", "5"}, {"SLURM_NPROCS", "6"}})->rank, 5);
  // torchrun inside an srun task.
  EXPECT_EQ(
      rank_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"RANK", "7"}, {"WORLD_SIZE", "8"}})
          ->rank,
      7);
  EXPECT_FALSE(rank_in({{"RANK", "x"}, {"WORLD_SIZE", "8"}}));
  EXPECT_FALSE(rank_in({{"RANK", "8"}, {"WORLD_SIZE", "8"}}));
}

std::string filled(const std::string& name, const std::optional<Rank>& rank = std::nullopt) {
  const NameFacts facts{12, 3, "node7", rank, {"/opt/my app", "-n", "a/b"}, 0};
  const auto variable = [](const char* wanted) -> const char* {
    const std::string_view given = wanted;
    return given == "X" ? "x y" : given == "SLURM_JOB_ID" ? "99" : nullptr;
  };
  return fill_name(name, facts, variable).name;
}

TEST(Names, Keys) {
  EXPECT_EQ(filled("%p %h %r %s %j.rpd"), "12 node7 0 1 99.rpd");
  EXPECT_EQ(filled("%pid%_%ppid%_%hostname%_%rank%_%size%_%job%", Rank{3, 8}), "12_3_node7_3_8_99");
  EXPECT_EQ(filled("%env{X}%|$env{X}|%env{NONE}%|"), "x y|x y||");
  EXPECT_EQ(filled("%tag%|%args%|%argt%"), "my app|-n_a_b|my app_-n_a_b");
  EXPECT_EQ(filled("%h%p"), "node712");
  EXPECT_EQ(filled("%p%%p"), "12%p");
}

TEST(Names, WhatIsNoKeyStays) {
  for (const char* name : {"trace.rpd", "50%.rpd", "%", "%x", "%pa", "%rank", "%env{X", "%unknown%",
                           "$env", "a % b % c"}) {
    EXPECT_EQ(filled(name), name);
  }
  const NameFacts facts;
  const auto none = [](const char*) -> const char* { return nullptr; };
  EXPECT_FALSE(fill_name("50%.rpd", facts, none).has_keys);
  EXPECT_TRUE(fill_name("%p.rpd", facts, none).has_keys);
  EXPECT_FALSE(fill_name("%p.rpd", facts, none).has_rank);
  EXPECT_TRUE(fill_name("%r.rpd", facts, none).has_rank);
  EXPECT_TRUE(fill_name("%rank%.rpd", facts, none).has_rank);
}

TEST(Names, OutputNames) {
  EXPECT_EQ(output_of("trace.rpd", std::nullopt), "trace.rpd");
  EXPECT_EQ(output_of("trace.rpd", Rank{0, 1}), "trace.rpd");
  const Rank third{3, 8};
  EXPECT_EQ(output_of("trace.rpd", third), "trace.rank3.rpd");
  EXPECT_EQ(output_of("rank3/v1.2.rpd", third), "rank3/v1.2.rank3.rpd");
  EXPECT_EQ(output_of("/a/run", third), "/a/run.rank3");
  EXPECT_EQ(output_of("job_rank3.rpd", third), "job_rank3.rpd");
}

}  // namespace
}  // namespace sonde::record
