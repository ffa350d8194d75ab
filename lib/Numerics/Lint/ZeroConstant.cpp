// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A constant below the smallest number of the dtype that a policy gives it: epsilons of 1e-8.
#include "lib/Numerics/Lint/Rules.h"
#include "mpc/Analysis/LintName.h"

using namespace mlir;
using namespace mpc;

const LintRule mpc::kZeroConstantRule = {
    kZeroConstantLint,
    "a constant that becomes 0 in the layer's compute dtype: an epsilon of 1e-8 in float16",
    "what it kept from 0 is divided by, or has its logarithm taken",
    "give the layer a policy that computes in float32 or bfloat16, or the model another constant",
    /*isAlwaysTold=*/true,
    /*check=*/nullptr,
    /*foundBy=*/"mpc-insert-casts",
};
