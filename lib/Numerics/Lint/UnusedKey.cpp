// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A key of a policy map that decides nothing.
#include "lib/Numerics/Lint/Rules.h"
#include "mpc/Analysis/LintName.h"

using namespace mlir;
using namespace mpc;

const LintRule mpc::kUnusedKeyRule = {
    kUnusedKeyLint,
    "a key of the policy map of `--policy` that matches no layer",
    "it is misspelled more often than meant for another model, and its layer computes in what the "
    "default says",
    "keys are whole paths, or regular expressions of these (--explain lists them)",
    /*isAlwaysTold=*/true,
    /*check=*/nullptr,
    /*foundBy=*/"mpc-apply-policy",
};
