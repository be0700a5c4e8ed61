#include "base/redact.h"

#include <algorithm>
#include <iterator>

#include "base/letters.h"
#include "base/redact_scan.h"

namespace sonde {

namespace {

constexpr std::string_view kHidden = "***";

constexpr std::string_view kAnywhere[] = {"token", "key", "secret", "pass", "jwt", "credential"};
constexpr std::string_view kWords[] = {"auth",   "authorization", "oauth", "pwd",
                                       "cookie", "bearer",        "pw"};
// Words of options that contain one of kAnywhere and are not secrets.
constexpr std::string_view kHarmless[] = {
    "tokenizer", "tokenizers", "tokenize", "tokenized",   "tokenization", "tokens",
    "keyboard",  "keyframe",   "keypoint", "keypoints",   "keys",         "monkey",
    "bypass",    "passes",     "compass",  "passthrough", "passive",      "passenger"};

constexpr std::string_view kTold[] = {"PATH",      "LANG",        "LANGUAGE",   "TZ",
                                      "RANK",      "WORLD_SIZE",  "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                                      "NODE_RANK", "GROUP_RANK",  "ROLE_RANK",  "ROLE_WORLD_SIZE",
                                      "NNODES",    "MASTER_ADDR", "MASTER_PORT"};
constexpr std::string_view kToldPrefixes[] = {
    "ROCM_",   "ROCR_",    "ROCPROF", "ROCBLAS_", "HIP_",     "HIPBLAS", "HSA_",
    "AMD_",    "GPU_",     "MIOPEN_", "TENSILE_", "CUDA_",    "CUDNN_",  "CUBLAS_",
    "NVIDIA_", "NCCL_",    "RCCL_",   "TORCH",    "PYTORCH_", "TRITON_", "XLA_",
    "JAX_",    "TF_",      "OMP_",    "GOMP_",    "KMP_",     "MKL_",    "OPENBLAS_",
    "BLIS_",   "NUMEXPR_", "NUMBA_",  "TBB_",     "OMPI_",    "PMI_",    "PMIX_",
    "MPI_",    "MPICH_",   "MV2_",    "I_MPI_",   "UCX_",     "FI_",     "SLURM_",
    "PBS_",    "LSB_",     "FLUX_",   "LD_",      "LC_",      "MALLOC_", "GLIBC_TUNABLES",
    "OCL_",    "OPENCL_",  "POCL_",   "CL_",      "PYTHON",   "SONDE_",  "VLLM_",
    "RAY_",    "DS_",      "CUPY_",   "AOTRITON", "AITER_",   "CK_",     "MAGMA_"};

// Terraform's, not TensorFlow's: their values are whatever somebody deploys.
constexpr std::string_view kUntoldPrefixes[] = {"TF_VAR_", "TF_CLI_", "TF_HTTP_"};

template <size_t kSize>
bool is_one_of(std::string_view word, const std::string_view (&words)[kSize]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Whether `test` holds for a word of the name, in lower case.
template <typename Test>
bool any_word(std::string_view name, Test test) {
  std::string word;
  for (size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && is_alphanumeric(name[i])) {
      word += name[i];
      continue;
    }
    if (!word.empty() && test(lower(word))) return true;
    word.clear();
  }
  return false;
}

bool holds_secret_word(std::string_view text) {
  return std::any_of(std::begin(kAnywhere), std::end(kAnywhere), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// PWD and OLDPWD are working directories, not passwords.
bool is_secret_word(const std::string& word, std::string_view name) {
  return is_one_of(word, kWords) && name != "PWD" && name != "OLDPWD";
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    return !is_alphanumeric(c) && c != '_';
  }) && std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

bool names_a_secret(std::string_view name) {
  return holds_secret_word(lower(name)) ||
         any_word(name, [&](const std::string& word) { return is_secret_word(word, name); });
}

bool option_names_a_secret(std::string_view name) {
  if (is_variable_name(name)) return names_a_secret(name);
  return any_word(name, [&](const std::string& word) {
    return (holds_secret_word(word) && !is_one_of(word, kHarmless)) || is_secret_word(word, name);
  });
}

bool explains_performance(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::any_of(std::begin(kUntoldPrefixes), std::end(kUntoldPrefixes), begins)) return false;
  return name.ends_with("PATH") || is_one_of(name, kTold) ||
         std::any_of(std::begin(kToldPrefixes), std::end(kToldPrefixes), begins);
}

std::string redact_variable(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return std::string(entry);
  const auto name = entry.substr(0, equals);
  const auto value = entry.substr(equals + 1);
  const bool told = value.empty() || (explains_performance(name) && !names_a_secret(name));
  return std::string(name) + "=" + (told ? redact_text(value) : std::string(kHidden));
}

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> redacted;
  bool hide_next = false;
  for (const auto& argument : arguments) {
    const bool option = argument.size() > 1 && argument[0] == '-';
    const size_t equals = argument.find('=');
    const size_t colon = argument.find(':');
    const std::string name = argument.substr(0, std::min(equals, colon));
    const bool is_header = colon < equals && argument.compare(colon, 3, "://") != 0;
    const bool is_line = name.find(' ') != std::string::npos;  // a shell command line, say
    if (hide_next && argument.rfind("--", 0) != 0) {
      redacted.emplace_back(kHidden);
    } else if (is_line) {
      redacted.push_back(redact_text(argument));
    } else if (is_header && option_names_a_secret(name)) {
      redacted.push_back(name + ": " + std::string(kHidden));
    } else if (equals < colon && equals + 1 < argument.size() && option_names_a_secret(name)) {
      redacted.push_back(name + "=" + std::string(kHidden));
    } else {
      redacted.push_back(redact_text(argument));
    }
    hide_next = option && equals == std::string::npos && option_names_a_secret(argument);
  }
  return redacted;
}

std::string redact_text(std::string_view text) {
  constexpr std::string_view kBearer = "Bearer ";  // an HTTP scheme that precedes a token
  std::string result;
  size_t kept = 0;  // `text` up to here is in the result
  const auto hide = [&](redact::Part part) {
    result.append(text.substr(kept, part.begin - kept));
    result.append(kHidden);
    kept = part.end;
  };
  for (size_t at = 0; at < text.size();) {
    const redact::Word word = redact::next_word(text, at);
    at = word.end;
    if (word.begin == word.end) break;
    if (const auto part = redact::secret_of_url(text, word)) {
      if (part->begin != part->end) hide(*part);
      at = part->end;
    } else if (redact::has_form_of_token(text.substr(word.begin, word.end - word.begin))) {
      hide({word.begin, word.end});
    } else if (text.substr(word.begin, kBearer.size()) == kBearer) {
      const redact::Word token = redact::next_word(text, word.begin + kBearer.size());
      if (token.begin != token.end) hide(token);
      at = token.end;
    } else if (option_names_a_secret(text.substr(word.begin, word.end - word.begin))) {
      const redact::Part value = redact::value_after(text, word);
      if (value.begin == value.end) continue;
      hide(value);
      at = value.end;
    }
  }
  result.append(text.substr(kept));
  return result;
}

std::string redact_fact(std::string_view name, std::string_view value) {
  return !value.empty() && option_names_a_secret(name) ? std::string(kHidden) : redact_text(value);
}

}  // namespace sonde
