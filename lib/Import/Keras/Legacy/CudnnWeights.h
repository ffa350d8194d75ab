// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of CuDNNLSTM and CuDNNGRU for the layers LSTM and GRU, and back.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_CUDNNWEIGHTS_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_CUDNNWEIGHTS_H

#include "mpc/Import/Keras/Weights.h"

#include "llvm/ADT/ArrayRef.h"

namespace mpc::keras {

/// Rewrites kernel, recurrent kernel and bias of a recurrence where the shape of the bias says that
/// they are cuDNN's and the layer, whose bias has the shape `wanted`, is not cuDNN's; or the other
/// way round. Everything else stays as it is, wrong shapes, too.
void convertCudnnWeights(StoredTensor &kernel, StoredTensor &recurrent, StoredTensor &bias,
                         llvm::ArrayRef<int64_t> wanted);

} // namespace mpc::keras

#endif
