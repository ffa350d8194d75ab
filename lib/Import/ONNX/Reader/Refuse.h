// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An error of the reader's inner parts, to which the outer ones add file and place.
#ifndef MPC_IMPORT_ONNX_READER_REFUSE_H
#define MPC_IMPORT_ONNX_READER_REFUSE_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Error.h"

namespace mpc::onnx {

inline llvm::Error refuse(const llvm::Twine &what) {
  return llvm::createStringError(llvm::errc::invalid_argument, what);
}

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_READER_REFUSE_H
