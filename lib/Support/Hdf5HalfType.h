// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two-byte IEEE type as h5py makes it for NumPy's float16, which HDF5 has no name for.
#ifndef MPC_LIB_SUPPORT_HDF5HALFTYPE_H
#define MPC_LIB_SUPPORT_HDF5HALFTYPE_H

#include <hdf5.h>

namespace mpc {

inline hid_t makeHalfType() {
  hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

} // namespace mpc

#endif // MPC_LIB_SUPPORT_HDF5HALFTYPE_H
