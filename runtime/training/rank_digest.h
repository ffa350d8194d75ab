// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Digests of what every rank of a job must have alike. Equal things have equal digests; different
// ones, as mistakes make them, have different ones.
#ifndef MPC_RUNTIME_TRAINING_RANK_DIGEST_H
#define MPC_RUNTIME_TRAINING_RANK_DIGEST_H

#include "runtime/training/session.h"

namespace mpc::training {

uint64_t digestOf(const std::string &text);
/// The first and the last 4 MiB of the library's file count.
uint64_t digestOfLibrary(const Session &session);
/// All values of all variables count.
uint64_t digestOfVariables(Session &session);
/// Names, types, the number of rows, and the first, the middle and the last row count: a rank shall
/// not read the others' rows.
uint64_t digestOfData(const data::Dataset &data);

} // namespace mpc::training
#endif
