// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-lint: the rules on IR, without the values of weights.
#include "mpc/Numerics/Lint/Lint.h"
#include "mpc/Numerics/Lint/Passes.h"

using namespace mlir;

namespace mpc {
#define GEN_PASS_DEF_LINT
#include "mpc/Numerics/Lint/Passes.h.inc"
} // namespace mpc

namespace {
struct LintPass : mpc::impl::LintBase<LintPass> {
  using LintBase::LintBase;

  void runOnModule() override {
    mpc::LintContext options;
    options.device = device;
    mpc::emitFindings(mpc::lint(getOperation(), options));
    markAllAnalysesPreserved();
  }
};
} // namespace
