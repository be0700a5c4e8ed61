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

TEST(Names, OutputNames) {
  EXPECT_EQ(output_of("trace.rpd", std::nullopt), "trace.rpd");
  EXPECT_EQ(output_of("trace.rpd", Rank{0, 1, ""}), "trace.rpd");
  const Rank third{3, 8, ""};
  EXPECT_EQ(output_of("trace.rpd", third), "trace.rank3.rpd");
  EXPECT_EQ(output_of("rank3/v1.2.rpd", third), "rank3/v1.2.rank3.rpd");
  EXPECT_EQ(output_of("/a/run", third), "/a/run.rank3");
  EXPECT_EQ(output_of("job_rank3.rpd", third), "job_rank3.rpd");
}

}  // namespace
}  // namespace sonde::record
