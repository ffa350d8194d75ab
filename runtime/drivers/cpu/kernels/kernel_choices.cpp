// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernels/kernel_choices.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <sstream>
#include <tuple>

namespace mpc::rt {

// In front of a line.
static const std::string convolution = "convolution ";

bool KernelChoices::Product::operator<(const Product &other) const {
  return std::tie(operation, id, batch, rhsKept) <
         std::tie(other.operation, other.id, other.batch, other.rhsKept);
}

const std::string *KernelChoices::find(const Product &product) const {
  auto found = kernels.find(product);
  return found == kernels.end() ? nullptr : &found->second;
}

std::string KernelChoices::text() const {
  std::ostringstream lines;
  lines.imbue(std::locale::classic());
  for (auto &[product, kernel] : kernels)
    lines << (product.operation == Operation::convolution ? convolution : "") << product.id << ' '
          << product.batch << ' ' << (product.rhsKept ? "kept" : "changing") << ' ' << kernel
          << '\n';
  return lines.str();
}

bool KernelChoices::parse(const std::string &text) {
  std::map<Product, std::string> parsed;
  std::istringstream lines(text);
  lines.imbue(std::locale::classic());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    words.imbue(std::locale::classic());
    Product product = {};
    std::string kept, kernel, more;
    if (line.rfind(convolution, 0) == 0) {
      product.operation = Operation::convolution;
      words.ignore(convolution.size());
    }
    if (!(words >> product.id >> product.batch >> kept >> kernel) || words >> more ||
        product.batch < 0 || (kept != "kept" && kept != "changing"))
      return false;
    product.rhsKept = kept == "kept";
    parsed[product] = kernel;
  }
  kernels = std::move(parsed);
  return true;
}

size_t fastestOf(const std::vector<std::function<void()>> &calls) {
  constexpr int fewestTurns = 3, mostTurns = 100;
  constexpr double enoughSeconds = 0.005, worthwhile = 0.97;
  for (auto &call : calls)
    call();
  std::vector<double> least(calls.size(), std::numeric_limits<double>::infinity());
  double total = 0;
  const double enough = enoughSeconds * static_cast<double>(calls.size());
  for (int turn = 0; turn < fewestTurns || (turn < mostTurns && total < enough); ++turn)
    for (size_t i = 0; i < calls.size(); ++i) {
      auto start = std::chrono::steady_clock::now();
      calls[i]();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      least[i] = std::min(least[i], taken.count());
      total += taken.count();
    }
  const auto fastest = std::min_element(least.begin(), least.end());
  return *fastest < worthwhile * least[0] ? static_cast<size_t>(fastest - least.begin()) : 0;
}

} // namespace mpc::rt
