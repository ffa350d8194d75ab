// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device that a module is compiled for, and the option `target` of passes.
#ifndef MPC_SUPPORT_DEVICE_H
#define MPC_SUPPORT_DEVICE_H

#include "mlir/Pass/PassOptions.h"

namespace mpc {

/// Where entries compute. A CUDA device has memory of its own.
enum class Device { cpu, cuda };

llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, Device device);

} // namespace mpc

namespace llvm::cl {

/// Lets options of passes be of type mpc::Device: `cpu`, `cuda`, or `cuda:` with architectures
/// behind it, which no pass reads.
template <> class parser<mpc::Device> : public basic_parser<mpc::Device> {
public:
  using basic_parser::basic_parser;
  bool parse(Option &option, StringRef name, StringRef argument, mpc::Device &value);
  StringRef getValueName() const override { return "cpu|cuda"; }
  void printOptionDiff(const Option &option, mpc::Device value, OptVal standard,
                       size_t globalWidth) const;
};

} // namespace llvm::cl

#endif // MPC_SUPPORT_DEVICE_H
