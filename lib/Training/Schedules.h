// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Serialised learning-rate schedules.
#ifndef MPC_LIB_TRAINING_SCHEDULES_H
#define MPC_LIB_TRAINING_SCHEDULES_H

#include "dialects/mpc/IR/Mpc.h"
#include "llvm/Support/JSON.h"

namespace mpc {

/// `{"class_name", "config": {…}}` of a schedule as one dictionary with class_name in it. An error
/// when the class is not known or an argument is missing or refused by Keras.
llvm::FailureOr<mlir::DictionaryAttr> buildSchedule(mlir::Builder &builder, mlir::Location loc,
                                                    const llvm::json::Object &schedule);

} // namespace mpc

#endif // MPC_LIB_TRAINING_SCHEDULES_H
