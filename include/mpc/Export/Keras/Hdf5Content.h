// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of an HDF5 file, as h5py writes it for Keras.
#ifndef MPC_EXPORT_KERAS_HDF5CONTENT_H
#define MPC_EXPORT_KERAS_HDF5CONTENT_H

#include "mpc/Import/Keras/Weights.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mpc::keras {

/// The content of a file to be written. Paths have no leading '/'; groups on the way are made.
struct Hdf5Content {
  struct Text {
    std::string group, name, value; ///< one string of variable length, UTF-8
  };
  struct List {
    std::string group, name;
    std::vector<std::string>
        values; ///< an array of strings; cut into NAME0, NAME1, … when too long
  };
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, const StoredTensor *>> datasets;
  std::vector<Text> texts;
  std::vector<List> lists;
};

/// The file's bytes; the same content gives the same bytes. Data lie contiguous and uncompressed;
/// bfloat16 is two opaque bytes with the attribute dtype = "bfloat16". libhdf5 runs in a child
/// process, as for reading.
llvm::Expected<std::string> writeHdf5(const Hdf5Content &content);

} // namespace mpc::keras

#endif
