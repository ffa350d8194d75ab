// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IDX files, the format of MNIST (http://yann.lecun.com/exdb/mnist), plain or gzipped.
#ifndef MPC_RUNTIME_DATA_IDX_H
#define MPC_RUNTIME_DATA_IDX_H

#include "runtime/data/array.h"

namespace mpc::data {

/// One array of any of IDX's six element types.
Result<Array> readIdx(const std::string &path);

/// The path of an MNIST file in `folder`: `name` ("train-images-idx3-ubyte"), the same with ".gz",
/// or either with '.' for the last '-'. Empty when none is there.
std::string findIdx(const std::string &folder, const std::string &name);

} // namespace mpc::data
#endif
