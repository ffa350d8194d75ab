// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A constant beyond the largest number of the dtype that a policy gives it: attention masks of
// -1e9.
#include "lib/Numerics/Lint/Rules.h"
#include "mpc/Analysis/LintName.h"

using namespace mlir;
using namespace mpc;

const LintRule mpc::kInfiniteConstantRule = {
    kInfiniteConstantLint,
    "a constant that becomes infinite in the layer's compute dtype: a mask of -1e9 in float16",
    "inf - inf is NaN; a row that is all masked has no softmax",
    "give the layer a policy that computes in float32 or bfloat16, or the model another constant",
    /*isAlwaysTold=*/true,
    /*check=*/nullptr,
    /*foundBy=*/"mpc-insert-casts",
};
