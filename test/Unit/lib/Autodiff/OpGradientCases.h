// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small functions of ops, whose derivatives OpGradientTest.cpp compares with differences.
#ifndef MPC_TEST_UNIT_LIB_AUTODIFF_OPGRADIENTCASES_H
#define MPC_TEST_UNIT_LIB_AUTODIFF_OPGRADIENTCASES_H

#include "dialects/mpc/IR/Mpc.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace mpc::test {

using Dims = std::vector<int64_t>;

enum class Domain { AwayFromZero, Positive };

/// Operand shapes as text, one letter per dimension: B the (dynamic) batch, M N K random extents,
/// digits themselves.
struct Case {
  std::string name;
  std::vector<std::string> shapes;
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> build;
  Domain domain = Domain::AwayFromZero;
};

inline void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

/// Convolutions, pools and resampling.
std::vector<Case> windowCases();

} // namespace mpc::test

#endif
