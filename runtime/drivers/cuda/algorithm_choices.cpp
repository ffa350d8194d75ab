// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/algorithm_choices.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cuda/algorithm_text.h"

#include <sstream>

namespace mpc::rt::cuda {
namespace {

constexpr char firstWord[] = "cublaslt", rankPrefix[] = "algorithm_";

std::string lineOf(const std::string &library, const std::string &key,
                   const AlgorithmChoice &choice) {
  const std::string start = std::string(firstWord) + " " + library + " " + key + " " + rankPrefix +
                            std::to_string(choice.rank) + "/" + hexOf(choice.algorithm);
  return start + "/" + checksumOf(start);
}

// A line that lineOf() wrote.
bool readLine(const std::string &line, std::string &library, std::string &key,
              AlgorithmChoice &choice) {
  std::istringstream words(line);
  std::string first, name;
  if (!(words >> first >> library >> key >> name) || name.rfind(rankPrefix, 0) != 0)
    return false;
  std::istringstream rank(name.substr(sizeof rankPrefix - 1));
  rank.imbue(std::locale::classic());
  const size_t slash = name.find('/'), end = name.rfind('/');
  return rank >> choice.rank && slash != end &&
         algorithmOf(name.substr(slash + 1, end - slash - 1), choice.algorithm) &&
         lineOf(library, key, choice) == line;
}

} // namespace

void AlgorithmChoices::open(const std::string &name) { library = asWord(name); }

void AlgorithmChoices::tune(uint64_t steps) noexcept {
  measuring = true;
  stepsOfTraining = steps;
  left.clear();
  ++versions;
}

std::string AlgorithmChoices::choices() const {
  std::string text;
  for (const auto &[key, choice] : chosen)
    text += lineOf(library, key, choice) + "\n";
  return text;
}

mpc_rt_status_t AlgorithmChoices::setChoices(const char *text) {
  std::map<std::string, AlgorithmChoice> wanted;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string from, key;
    AlgorithmChoice choice = {};
    if (!readLine(line, from, key, choice))
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "choices of kernels: expected lines of cublaslt LIBRARY PRODUCT "
                  "algorithm_RANK/BYTES/CHECKSUM, as mpc_rt_context_kernel_choices gives on a GPU");
    if (from != library)
      return fail(MPC_RT_UNAVAILABLE,
                  "choices of kernels: they are of %s, and here is %s; measure here again",
                  from.c_str(), library.c_str());
    wanted[key] = choice;
  }
  chosen = std::move(wanted);
  refused.clear();
  ++versions;
  return MPC_RT_OK;
}

bool AlgorithmChoices::toBeMeasured(const std::string &key) const {
  return measuring && !find(key) && !left.count(key);
}

bool AlgorithmChoices::isWorthRuns(size_t runs) const {
  constexpr uint64_t share = 50; // two per cent
  return stepsOfTraining == 0 || runs <= stepsOfTraining / share;
}

const AlgorithmChoice *AlgorithmChoices::find(const std::string &key) const {
  auto found = chosen.find(key);
  return found == chosen.end() ? nullptr : &found->second;
}

mpc_rt_status_t AlgorithmChoices::checkRefused(const char *layer) const {
  if (refused.empty())
    return MPC_RT_OK;
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: cuBLASLt does not take the algorithm that was measured for the product %s; "
              "measure here again (--tune, mpc-run tune)",
              layer, refused.c_str());
}

} // namespace mpc::rt::cuda
