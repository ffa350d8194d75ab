// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernels/kernel_choices.h"

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

void KernelChoices::measure(const Product &product, const std::vector<const char *> &names,
                            const std::vector<std::function<void()>> &calls) {
  std::optional<size_t> fastest;
  if (calls.size() > 1)
    fastest = fastestOf(calls, allowance);
  if (fastest)
    set(product, names[*fastest]);
  else
    left.insert(product);
}

} // namespace mpc::rt
