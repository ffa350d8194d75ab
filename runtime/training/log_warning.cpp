// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logs that cannot be written.
#include "runtime/training/epoch_log.h"

namespace mpc::training {

data::Status LogWarning::operator()(const data::Status &written) {
  if (!written && !hasWarned_) {
    hasWarned_ = true;
    for (const std::string &message : written.failure().messages)
      warn_(message + "; training goes on, and the log is tried again after each epoch");
  }
  return data::Status();
}

} // namespace mpc::training
