// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernel_choices.h"

#include <sstream>
#include <tuple>

namespace mpc::rt {

bool KernelChoices::Product::operator<(const Product &other) const {
  return std::tie(contraction, batch, rhsKept) <
         std::tie(other.contraction, other.batch, other.rhsKept);
}

const std::string *KernelChoices::find(const Product &product) const {
  auto found = kernels.find(product);
  return found == kernels.end() ? nullptr : &found->second;
}

std::string KernelChoices::text() const {
  std::ostringstream lines;
  lines.imbue(std::locale::classic());
  for (auto &[product, kernel] : kernels)
    lines << product.contraction << ' ' << product.batch << ' '
          << (product.rhsKept ? "kept" : "changing") << ' ' << kernel << '\n';
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
    if (!(words >> product.contraction >> product.batch >> kept >> kernel) || words >> more ||
        product.batch < 0 || (kept != "kept" && kept != "changing"))
      return false;
    product.rhsKept = kept == "kept";
    parsed[product] = kernel;
  }
  kernels = std::move(parsed);
  return true;
}

} // namespace mpc::rt
