// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models for the tests of the reader, written by protobuf, and what reading them says.
#ifndef MPC_TEST_UNIT_IMPORT_ONNX_MODELBYTES_H
#define MPC_TEST_UNIT_IMPORT_ONNX_MODELBYTES_H

#include "lib/Import/ONNX/Reader/Onnx.pb.h"
#include "lib/Import/ONNX/Reader/ReadModel.h"

#include <string>

namespace mpc::onnx {

/// A model without nodes, of IR version 10 and opset 21.
inline file::ModelProto makeModel() {
  file::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  model.mutable_graph()->set_name("g");
  return model;
}

inline llvm::Expected<Model> readBytes(const std::string &bytes, llvm::StringRef folder = "",
                                       const ReadLimits &limits = {}) {
  return readModel({bytes.data(), bytes.size()}, "m.onnx", folder, limits, Trial::InChild);
}

/// The error, or "" where there is none.
inline std::string errorOf(const std::string &bytes, llvm::StringRef folder = "",
                           const ReadLimits &limits = {}) {
  llvm::Expected<Model> model = readBytes(bytes, folder, limits);
  return model ? "" : llvm::toString(model.takeError());
}

inline std::string errorOf(const file::ModelProto &model, llvm::StringRef folder = "",
                           const ReadLimits &limits = {}) {
  return errorOf(model.SerializeAsString(), folder, limits);
}

} // namespace mpc::onnx

#endif // MPC_TEST_UNIT_IMPORT_ONNX_MODELBYTES_H
