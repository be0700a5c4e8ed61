#include "base/redact.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Redact, VariablesThatExplainPerformanceAreTold) {
  for (const char* told :
       {"HSA_ENABLE_SDMA=0", "OMP_NUM_THREADS=8", "NCCL_DEBUG=INFO", "LD_LIBRARY_PATH=/x:/y",
        "SLURM_PROCID=3", "RANK=1", "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True",
        "CUDA_VISIBLE_DEVICES=0,1", "TF_GPU_THREAD_MODE=gpu_private", "MKL_NUM_THREADS=4",
        "LC_ALL=C.UTF-8", "PATH=/usr/bin", "OMPI_COMM_WORLD_RANK=0", "HIP_VISIBLE_DEVICES="}) {
    EXPECT_EQ(redact_variable(told), told);
  }
}

TEST(Redact, OfOtherVariablesOnlyTheName) {
  for (const std::string name :
       {"HOME", "DATABASE_URL", "TF_VAR_database", "TF_CLI_CONFIG_FILE", "http_proxy"}) {
    EXPECT_EQ(redact_variable(name + "=http://me:pw@host:80/x"), name + "=***");
    EXPECT_EQ(redact_variable(name + "="), name + "=");
  }
}

TEST(Redact, ASecretIsNeverToldWhateverTheListSays) {
  for (const char* name : {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "PGPASSWORD",
                           "VLLM_API_KEY", "SLURM_JWT", "OMPI_MCA_KEYFILE", "TORCH_CREDENTIALS",
                           "HIP_PASSPHRASE", "NCCL_Secret", "PYTHON_KEYRING", "TOKENS_PATH"}) {
    EXPECT_EQ(redact_variable(std::string(name) + "=abc"), std::string(name) + "=***");
  }
  EXPECT_EQ(redact_variable("PYTHONPATH=https://me:pw@host/x"), "PYTHONPATH=https://me:***@host/x");
  EXPECT_EQ(redact_variable("MPI_SESSION=Bearer abc.def-1"), "MPI_SESSION=Bearer ***");
}

TEST(Redact, Arguments) {
  EXPECT_EQ(redact_arguments({"prog", "--token", "abc", "--lr=0.1", "--api-key=k", "--no-auth",
                              "--verbose", "file"}),
            (std::vector<std::string>{"prog", "--token", "***", "--lr=0.1", "--api-key=***",
                                      "--no-auth", "--verbose", "file"}));
  EXPECT_EQ(redact_arguments({"-H", "Authorization: Bearer abc", "-H", "Accept: text/html"}),
            (std::vector<std::string>{"-H", "Authorization: ***", "-H", "Accept: text/html"}));
  EXPECT_EQ(redact_arguments({"--password", "-dashed", "--secret", "--other"}),
            (std::vector<std::string>{"--password", "***", "--secret", "--other"}));
  EXPECT_EQ(redact_arguments({"curl", "https://u:p@h/"}),
            (std::vector<std::string>{"curl", "https://u:***@h/"}));
  EXPECT_EQ(redact_arguments({"env", "PASSWORD=abc", "MYPASS=abc", "LR=1", "--db=mysql://a:b@c"}),
            (std::vector<std::string>{"env", "PASSWORD=***", "MYPASS=***", "LR=1",
                                      "--db=mysql://a:***@c"}));
  EXPECT_EQ(
      redact_arguments({"sh", "-c", "cd x; HF_TOKEN=abc python --password 'x y' --lr 1"}),
      (std::vector<std::string>{"sh", "-c", "cd x; HF_TOKEN=*** python --password '***' --lr 1"}));
  EXPECT_EQ(redact_arguments({"PASSWORD=a long phrase"}),
            (std::vector<std::string>{"PASSWORD=***"}));
}

TEST(Redact, OptionsThatOnlySoundLikeSecretsAreTold) {
  const std::vector<std::string> plain = {
      "--tokenizer=gpt2", "--max-tokens=512", "--tokenizer", "gpt2", "--passes", "3"};
  EXPECT_EQ(redact_arguments(plain), plain);
}

TEST(Redact, TextsOfOtherTools) {
  const std::pair<const char*, const char*> kTexts[] = {
      {R"({"PATH": "/bin", "HF_TOKEN": "abc", "max_tokens": 5})",
       R"({"PATH": "/bin", "HF_TOKEN": "***", "max_tokens": 5})"},
      {R"("{\"HF_TOKEN\": \"a b\", \"x\": 1}")", R"("{\"HF_TOKEN\": \"***\", \"x\": 1}")"},
      {"A=1\nAPI_KEY=abc\nB=2", "A=1\nAPI_KEY=***\nB=2"},
      {"python t.py --token=abc --lr 1", "python t.py --token=*** --lr 1"},
      {"get https://h/p?access_token=abc&n=1", "get https://h/p?access_token=***&n=1"},
      {"Authorization: Bearer abc def", "Authorization: *** def"},
      {"git clone https://0123456789abcdef0123@github.com/x", "git clone https://***@github.com/x"},
      {"run hf_abcdefghijklmnopqrstuv now", "run *** now"},
      {"x eyJhbGciOi.eyJzdWIiOiIx.SflKx y", "x *** y"},
      {"run --no-auth --lr 1 --api-key abc", "run --no-auth --lr 1 --api-key ***"}};
  for (const auto& [text, told] : kTexts) EXPECT_EQ(redact_text(text), told);
}

TEST(Redact, TextsWithoutASecretStay) {
  for (const char* text :
       {"ssh://git@host/x http://host:80/a@b", R"({"num_key": 8, "keys": [1], "key": {"b": 2}})",
        "void moe::token::sort<key_t>", "asttokens==3.0.0, a==1", "key", "password:", "password=\"",
        R"(token\)", ""}) {
    EXPECT_EQ(redact_text(text), text);
  }
}

TEST(Redact, Facts) {
  EXPECT_EQ(redact_fact("HF_TOKEN", "abc"), "***");
  EXPECT_EQ(redact_fact("host", "HF_TOKEN=abc"), "HF_TOKEN=***");
  EXPECT_EQ(redact_fact("password", ""), "");
  EXPECT_EQ(redact_fact("with_stack", "1"), "1");
}

TEST(Redact, TakesTimeLinearInTheText) {
  std::string text;
  while (text.size() < (4u << 20)) text += "token=\"x\\\" http://a:b ";
  EXPECT_LE(redact_text(text).size(), text.size() * 2);
}

}  // namespace
}  // namespace sonde
