// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The datasets and texts of an HDF5 file. libhdf5 1.10 has memory errors on damaged files, so it
// runs in a child process with limits on memory and time and with no file descriptor but its pipe;
// the child's death is the error "damaged HDF5".
#ifndef MPC_IMPORT_KERAS_WEIGHTS_H
#define MPC_IMPORT_KERAS_WEIGHTS_H

#include "mpc-rt/dtype.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpc::keras {

/// A tensor as a file stores it: C order, little endian, `bytes.size()` equal to the product of the
/// dimensions times the dtype's size.
struct StoredTensor {
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32;
  std::vector<int64_t> dims; ///< empty for a scalar
  std::vector<uint8_t> bytes;
};

/// Dataset path without the leading '/' ("layers/dense/vars/0") to its value.
using WeightFile = std::map<std::string, StoredTensor>;

/// The part of an HDF5 file that mpc reads.
struct Hdf5File {
  WeightFile datasets;
  /// The strings of an attribute, under GROUP@ATTRIBUTE ("@model_config" on the root). Read are
  /// model_config, training_config, keras_version, layer_names… and weight_names….
  std::map<std::string, std::vector<std::string>> strings;

  /// A list that Keras may have cut into ATTRIBUTE0, ATTRIBUTE1, …; empty when there is none.
  std::vector<std::string> listAt(llvm::StringRef group, llvm::StringRef attribute) const;
  /// The only string of an attribute; empty when there is none.
  std::string textAt(llvm::StringRef group, llvm::StringRef attribute) const;
};

struct WeightLimits {
  uint64_t maxTotalBytes =
      0; ///< of all datasets and strings; 0: size of the image (Keras stores contiguously)
  uint64_t maxTensors = 1000000;
  unsigned maxDepth = 64;   ///< of groups in groups
  unsigned maxSeconds = 60; ///< of the child, wall time; less processor time for small images
};

/// Reads every dataset, and the attributes named above, of the HDF5 file whose bytes are `image`.
/// Refused, with the path of the offender: soft and external links, virtual and external storage,
/// filters (compression), datasets whose declared size differs from what is stored, big-endian or
/// unknown element types. bfloat16 is what Keras writes: two opaque bytes with the attribute dtype
/// = "bfloat16".
llvm::Expected<Hdf5File> readHdf5(llvm::MemoryBufferRef image, const WeightLimits &limits = {});

/// The same, the datasets alone.
llvm::Expected<WeightFile> readWeights(llvm::MemoryBufferRef image,
                                       const WeightLimits &limits = {});

/// Keras's name of an object's group in a weight file, from its class name: "PReLU" is "p_re_lu",
/// "BatchNormalization" is "batch_normalization" (keras/src/utils/naming.py, to_snake_case).
std::string snakeCase(llvm::StringRef className);

} // namespace mpc::keras

#endif
