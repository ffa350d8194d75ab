// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/CaseMapping.h"

#include "lib/Import/ONNX/CodePoints.h"

namespace mpc::onnx {

namespace {
struct Run {
  Case to;
  int32_t first, last, step, added;
};

constexpr Run kRuns[] = {
#define MPC_LOWER(FIRST, LAST, STEP, ADDED) {Case::lower, FIRST, LAST, STEP, ADDED},
#define MPC_UPPER(FIRST, LAST, STEP, ADDED) {Case::upper, FIRST, LAST, STEP, ADDED},
#include "lib/Import/ONNX/CaseMappings.inc"
#undef MPC_LOWER
#undef MPC_UPPER
};
} // namespace

std::vector<int32_t> makeCaseMapping(Case to) {
  std::vector<int32_t> added(size_t(kCodePointLimit), 0);
  for (const Run &run : kRuns)
    for (int32_t point = run.first; run.to == to && point <= run.last; point += run.step)
      added[size_t(point)] = run.added;
  return added;
}

} // namespace mpc::onnx
