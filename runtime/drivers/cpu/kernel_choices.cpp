// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernel_choices.h"

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

double secondsOf(const std::function<void()> &call) {
  constexpr int repetitions = 3;
  call();
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    auto start = std::chrono::steady_clock::now();
    call();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  return least;
}

} // namespace mpc::rt
