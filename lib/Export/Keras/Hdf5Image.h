// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of writing HDF5 that calls libhdf5.
#ifndef MPC_LIB_EXPORT_KERAS_HDF5IMAGE_H
#define MPC_LIB_EXPORT_KERAS_HDF5IMAGE_H

#include "mpc/Export/Keras/Hdf5Content.h"

namespace mpc::keras {

/// The file in memory; empty when libhdf5 refused something (a name twice, for one).
std::string makeHdf5Image(const Hdf5Content &content);

} // namespace mpc::keras

#endif
