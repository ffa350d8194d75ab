// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Algorithms of the look-alike of cuBLASLt, which differ in what they cost and in how they add up.
#ifndef MPC_TEST_FAKECUDA_CUBLASLT_ALGORITHMS_H
#define MPC_TEST_FAKECUDA_CUBLASLT_ALGORITHMS_H

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace fake {

// MPC_FAKE_CUBLASLT_ALGORITHMS: so many algorithms as there are numbers with commas between them,
// which are the milliseconds that a product takes by each; after a number "inplace" (adds up parts
// in the result), "atomic" (in an order that differs from run to run) or "refused" (what a check
// says of it).
inline std::vector<std::string> algorithmsPlayed() {
  const char *value = std::getenv("MPC_FAKE_CUBLASLT_ALGORITHMS");
  std::vector<std::string> played;
  std::istringstream words(value ? value : "0");
  for (std::string word; std::getline(words, word, ',');)
    played.push_back(word);
  return played;
}
inline bool isPlayed(uint64_t number, const char *property) {
  static const std::vector<std::string> played = algorithmsPlayed();
  return number >= played.size() || played[number].find(property) != std::string::npos;
}

} // namespace fake

#endif
