// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs passes on IR that may be anything, and says how it ended.
#ifndef MPC_TEST_TOOLS_MPC_IR_TRIALS_TRIAL_H
#define MPC_TEST_TOOLS_MPC_IR_TRIALS_TRIAL_H

#include "mlir/IR/MLIRContext.h"
#include "mpc/Pipelines/Phases.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace mpc {

/// IR of one phase.
struct Sample {
  std::string name;
  Phase phase;
  std::string text;
};

/// The IR of each phase that leads from the IR of `import` in `file`, itself first.
std::vector<Sample> sampleEachPhase(mlir::MLIRContext &context, llvm::StringRef file);

/// Says what is wrong with how the passes ended, empty where nothing is: a failure without an
/// error, an error that is the compiler's. Crashes and loops end the process.
///
/// As `mpcc --compile-from` goes on from IR of this phase, to the LLVM dialect.
std::string tryPhases(mlir::MLIRContext &context, const Sample &sample);
/// As mpc-opt runs a pipeline of one pass; `twice`: and once more, which must change nothing.
std::string tryPass(mlir::MLIRContext &context, const Sample &sample, llvm::StringRef pass,
                    bool twice);

struct Finding {
  size_t number;
  std::string what;
};

/// Tries 0 to `count` in child processes, in one as long as it lives. `seconds` for each.
std::vector<Finding> tryEach(size_t count, unsigned seconds,
                             llvm::function_ref<std::string(mlir::MLIRContext &, size_t)> work);

} // namespace mpc

#endif // MPC_TEST_TOOLS_MPC_IR_TRIALS_TRIAL_H
