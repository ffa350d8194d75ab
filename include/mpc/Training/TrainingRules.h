// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whose training the file of a model means: what its Keras computes otherwise than Keras 3 does.
#ifndef MPC_TRAINING_TRAININGRULES_H
#define MPC_TRAINING_TRAININGRULES_H

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
};

} // namespace mpc

#endif // MPC_TRAINING_TRAININGRULES_H
