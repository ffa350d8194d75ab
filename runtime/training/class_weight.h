// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Class weights: factors on the sample weights by the class of the target, as Keras's fit has them.
#ifndef MPC_RUNTIME_TRAINING_CLASS_WEIGHT_H
#define MPC_RUNTIME_TRAINING_CLASS_WEIGHT_H

#include "runtime/data/bind.h"

namespace mpc::training {

using ClassWeights = std::map<int64_t, double>;

/// A JSON object such as `{"0": 1.0, "1": 2.5}`.
data::Result<ClassWeights> readClassWeights(const std::string &path);

/// Multiplies the sample weights of `data`. The class is the target's integer, or the index
/// of the largest of a one-hot target; classes without a weight have 1 (keras/src/trainers/
/// data_adapters/data_adapter_utils.py, class_weight_to_sample_weights). Fails unless the model has
/// one target and takes sample weights.
data::Status applyClassWeights(data::Dataset &data, const ClassWeights &weights,
                               const std::string &path);

} // namespace mpc::training
#endif
