// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// load_weights of Keras 2 takes the weights of a layer of cuDNN for the layer without, so that what
// a GPU trained runs elsewhere (tf_keras/src/saving/legacy/hdf5_format.py, _convert_rnn_weights).
#include "lib/Import/Keras/Legacy/CudnnWeights.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace mpc::keras {
namespace {

float readFloat(const StoredTensor &tensor, size_t index) {
  float value;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(float), sizeof value);
  return value;
}

void writeFloat(std::vector<uint8_t> &bytes, size_t index, float value) {
  std::memcpy(bytes.data() + index * sizeof(float), &value, sizeof value);
}

/// In the matrix of each gate, (rows, units), cuDNN has row by row what else stands column by
/// column.
void transposeGates(StoredTensor &kernel, size_t gates, bool toCudnn) {
  const size_t rows = size_t(kernel.dims[0]), width = size_t(kernel.dims[1]), units = width / gates;
  std::vector<uint8_t> transposed(kernel.bytes.size());
  for (size_t gate = 0; gate < gates; ++gate)
    for (size_t row = 0; row < rows; ++row)
      for (size_t unit = 0; unit < units; ++unit) {
        // The index of an element in its gate's matrix, counted along the columns.
        const size_t index = unit * rows + row;
        const size_t plain = row * width + gate * units + unit;
        const size_t cudnn = index / units * width + gate * units + index % units;
        writeFloat(transposed, toCudnn ? cudnn : plain, readFloat(kernel, toCudnn ? plain : cudnn));
      }
  kernel.bytes = std::move(transposed);
}

/// An LSTM of cuDNN has two biases that are added.
void convertBias(StoredTensor &bias, llvm::ArrayRef<int64_t> wanted, size_t count) {
  if (bias.dims.size() == 1 && wanted.size() == 1) {
    const bool joins = bias.bytes.size() == 2 * count * sizeof(float);
    std::vector<uint8_t> converted((joins ? count : 2 * count) * sizeof(float));
    for (size_t i = 0; i < count; ++i) {
      const float value =
          joins ? readFloat(bias, i) + readFloat(bias, count + i) : 0.5f * readFloat(bias, i);
      writeFloat(converted, i, value);
      if (!joins)
        writeFloat(converted, count + i, value);
    }
    bias.bytes = std::move(converted);
  }
  bias.dims = wanted.vec();
}

} // namespace

void convertCudnnWeights(StoredTensor &kernel, StoredTensor &recurrent, StoredTensor &bias,
                         llvm::ArrayRef<int64_t> wanted) {
  const StoredTensor *all[] = {&kernel, &recurrent, &bias};
  if (llvm::any_of(all, [](const StoredTensor *tensor) {
        uint64_t count = 1; // of a file: the reader has checked that it fits the bytes
        for (int64_t extent : tensor->dims)
          count *= uint64_t(extent);
        return tensor->dtype != MPC_RT_FLOAT32 || tensor->bytes.size() != count * sizeof(float);
      }))
    return;
  if (kernel.dims.size() != 2 || recurrent.dims.size() != 2 || kernel.dims[1] != recurrent.dims[1])
    return;
  const int64_t units = recurrent.dims[0], width = recurrent.dims[1];
  const bool isLstm = width == 4 * units, isGru = width == 3 * units;
  const std::vector<int64_t> cudnn{2 * width},
      plain = isLstm ? std::vector<int64_t>{width} : std::vector<int64_t>{2, width};
  const bool fromCudnn = bias.dims == cudnn && wanted == llvm::ArrayRef(plain);
  const bool toCudnn = bias.dims == plain && wanted == llvm::ArrayRef(cudnn);
  if (units <= 0 || !(isLstm || isGru) || !(fromCudnn || toCudnn))
    return;
  for (StoredTensor *tensor : {&kernel, &recurrent})
    transposeGates(*tensor, size_t(width / units), toCudnn);
  convertBias(bias, wanted, size_t(width));
}

} // namespace mpc::keras
