// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spelling of options of training, for tools that check their command line.
#ifndef MPC_TRAINING_TRAININGOPTIONS_H
#define MPC_TRAINING_TRAININGOPTIONS_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mpc {

/// The forms of a loss scale, for messages. Denormal scales are zero where gradients are divided by
/// them.
inline constexpr llvm::StringLiteral kLossScaleForms =
    "auto, none, fixed:N or dynamic:INITIAL:GROWTH_STEPS[:MIN:MAX] with positive scales that are "
    "finite in float32 and at least 1.2e-38, no denormals, GROWTH_STEPS of at least 1 and INITIAL "
    "between MIN and MAX";
bool isLossScaleOption(llvm::StringRef text);

/// A number that is finite in float32. Keras takes negative rates, and so does mpc.
std::optional<double> parseLearningRate(llvm::StringRef text);

/// Keras's class of an optimizer that is given by name ("rmsprop": "RMSprop"); an unknown name is
/// returned as it is.
llvm::StringRef optimizerClassName(llvm::StringRef name);

} // namespace mpc

#endif // MPC_TRAINING_TRAININGOPTIONS_H
