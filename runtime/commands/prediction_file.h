// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a prediction goes: an .npz, a .npy, a CSV, or standard output.
#ifndef MPC_RUNTIME_COMMANDS_PREDICTION_FILE_H
#define MPC_RUNTIME_COMMANDS_PREDICTION_FILE_H

#include "runtime/commands/console.h"
#include "runtime/data/array.h"

namespace mpc::commands {

/// The suffixes that writePrediction() knows.
extern const std::vector<std::string> predictionSuffixes;

/// Writes the outputs, called out0, out1, ... and by the model's `names`, as the suffix of `path`
/// says; without a suffix as an .npz. `-` is a CSV on standard output. A CSV has a column per value
/// of a row, NAME or NAME_0, NAME_1, ...
data::Status writePrediction(const std::string &path, const std::vector<data::Array> &outputs,
                             const std::vector<std::string> &names, Console &console);

} // namespace mpc::commands
#endif
