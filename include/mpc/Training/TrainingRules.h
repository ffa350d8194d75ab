// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whose training the file of a model means: what its Keras computes otherwise than Keras 3 does.
#ifndef MPC_TRAINING_TRAININGRULES_H
#define MPC_TRAINING_TRAININGRULES_H

#include <string>
#include <vector>

namespace mpc {

/// The optimizers that a file's own is one of (docs/keras-2.md, Training).
enum class OptimizerFamily {
  Keras3,
  Keras2,           ///< of Keras 2.11 to 2.16
  OptimizerV2,      ///< of tf.keras in TensorFlow 1.14 to 2.10; later tf.keras.optimizers.legacy
  BeforeTensorFlow2 ///< of Keras 2.0 to 2.3, which stood by itself, and tf.keras up to
                    ///< TensorFlow 1.13
};

struct TrainingRules {
  OptimizerFamily optimizers = OptimizerFamily::Keras3;
  /// Keras 2.3 and tf.keras of TensorFlow 1.13 to 2.9: a mask takes losses out of the sum, and not
  /// out of the number by which a mean divides it.
  bool masksStayInMeans = false;
  /// Keras 2.0 to 2.2, by itself: labels of 0 and 1 are none of -1 and 1 for hinge losses, the mean
  /// of weighted losses is one of the samples whose weights are not 0, the metric cosine_proximity
  /// is its loss.
  bool isBefore23 = false;
  /// tf.keras up to TensorFlow 2.1, and Keras up to 2.3 by itself: beside a binary cross-entropy
  /// the accuracy is the binary one, whatever the output's shape.
  bool accuracyFollowsLoss = false;
  /// What a vector is divided by at least where it is normalized; Keras 2: 1e-6.
  double leastNorm = 1e-7;
  /// What the binary cross-entropy adds to probabilities in its logarithms; Keras 2: 1e-7.
  double besideProbability = 0;
  /// Keras 2: what outputs are called in the names of their losses and metrics, the layers that
  /// compute them. Empty: as the outputs are.
  std::vector<std::string> outputNames;
};

} // namespace mpc

#endif // MPC_TRAINING_TRAININGRULES_H
