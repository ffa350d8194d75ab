// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The only place that calls protobuf's parser, first in a guarded child process.
#ifndef MPC_IMPORT_ONNX_READER_PARSEMESSAGE_H
#define MPC_IMPORT_ONNX_READER_PARSEMESSAGE_H

#include "lib/Import/ONNX/Reader/ReadLimits.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mpc::onnx {

namespace file {
class ModelProto;
} // namespace file

/// Whether the parser is tried in a child first. Fuzzers, which look for its crashes, do without.
enum class Trial { InChild, None };

llvm::Expected<std::shared_ptr<file::ModelProto>> parseMessage(llvm::ArrayRef<char> bytes,
                                                               llvm::StringRef name,
                                                               const ReadLimits &limits,
                                                               Trial trial);

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_READER_PARSEMESSAGE_H
