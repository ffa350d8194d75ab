// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/algorithm_text.h"

#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace mpc::rt::cuda {
namespace {

std::string digitsOf(uint64_t number) {
  char word[17];
  std::snprintf(word, sizeof word, "%016" PRIx64, number);
  return word;
}

} // namespace

std::string hexOf(const lt::Algorithm &algorithm) {
  std::string text;
  for (uint64_t data : algorithm.data)
    text += digitsOf(data);
  return text;
}

bool algorithmOf(const std::string &text, lt::Algorithm &algorithm) {
  constexpr size_t digits = 16, words = sizeof algorithm.data / sizeof *algorithm.data;
  if (text.size() != words * digits)
    return false;
  for (size_t i = 0; i < words; ++i)
    algorithm.data[i] = std::strtoull(text.substr(i * digits, digits).c_str(), nullptr, 16);
  return hexOf(algorithm) == text;
}

// FNV-1a.
std::string checksumOf(const std::string &text) {
  uint64_t hash = 1469598103934665603ull;
  for (unsigned char c : text)
    hash = (hash ^ c) * 1099511628211ull;
  return digitsOf(hash);
}

std::string asWord(const std::string &name) {
  std::string word;
  for (char c : name)
    word += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
  return word;
}

} // namespace mpc::rt::cuda
