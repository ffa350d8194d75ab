// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of devices.
#include "mpc/Support/Device.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

raw_ostream &mpc::operator<<(raw_ostream &stream, Device device) {
  return stream << (device == Device::cuda ? "cuda" : "cpu");
}

bool cl::parser<mpc::Device>::parse(Option &option, StringRef, StringRef argument,
                                    mpc::Device &value) {
  const bool isCuda = argument == "cuda" || argument.starts_with("cuda:");
  if (!isCuda && argument != "cpu")
    return option.error("'" + argument + "': expected cpu, cuda or cuda:sm_N,…");
  value = isCuda ? mpc::Device::cuda : mpc::Device::cpu;
  return false;
}

void cl::parser<mpc::Device>::printOptionDiff(const Option &option, mpc::Device value, OptVal,
                                              size_t globalWidth) const {
  printOptionName(option, globalWidth);
  outs() << "= " << value << '\n';
}
