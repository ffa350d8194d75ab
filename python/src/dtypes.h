// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras's names of dtypes and DLPack's codes.
#ifndef MPC_PYTHON_DTYPES_H
#define MPC_PYTHON_DTYPES_H

#include <nanobind/ndarray.h>
#include <string>

namespace mpc::python {

nanobind::dlpack::dtype dlpackType(const std::string &name);

/// Throws for a type that no model takes.
std::string nameOf(nanobind::dlpack::dtype type);

} // namespace mpc::python
#endif
