// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader with its limits and its trial in a child as arguments, for tests and fuzzers.
#ifndef MPC_IMPORT_ONNX_READER_READMODEL_H
#define MPC_IMPORT_ONNX_READER_READMODEL_H

#include "lib/Import/ONNX/Reader/ParseMessage.h"
#include "mpc/Import/ONNX/Model.h"

namespace mpc::onnx {

/// `folder`: where external data lie; empty refuses them.
llvm::Expected<Model> readModel(llvm::ArrayRef<char> bytes, llvm::StringRef name,
                                llvm::StringRef folder, const ReadLimits &limits, Trial trial);

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_READER_READMODEL_H
