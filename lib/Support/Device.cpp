// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of devices.
#include "mpc/Support/Device.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

std::optional<mpc::Device> mpc::parseDevice(StringRef target) {
  if (target == "cpu")
    return Device::cpu;
  if (target == "cuda" || target.starts_with("cuda:"))
    return Device::cuda;
  return std::nullopt;
}

raw_ostream &mpc::operator<<(raw_ostream &stream, Device device) {
  return stream << (device == Device::cuda ? "cuda" : "cpu");
}

bool cl::parser<mpc::Device>::parse(Option &option, StringRef, StringRef argument,
                                    mpc::Device &value) {
  std::optional<mpc::Device> device = mpc::parseDevice(argument);
  if (!device)
    return option.error("'" + argument + "': expected cpu, cuda or cuda:sm_N,…");
  value = *device;
  return false;
}

void cl::parser<mpc::Device>::printOptionDiff(const Option &option, mpc::Device value, OptVal,
                                              size_t globalWidth) const {
  printOptionName(option, globalWidth);
  outs() << "= " << value << '\n';
}
