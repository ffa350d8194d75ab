// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ServedModel: what clients of the inference protocol may know of a model, and by which names.
#ifndef MPC_RUNTIME_SERVING_SERVED_MODEL_H
#define MPC_RUNTIME_SERVING_SERVED_MODEL_H

#include "runtime/training/session.h"

namespace mpc::serving {

/// The protocol's name of an element type ("FP32").
const char *protocolName(mpc_rt_dtype_t dtype);
std::optional<mpc_rt_dtype_t> protocolDtype(const std::string &name);

struct ServedTensor {
  std::string name;
  mpc_rt_dtype_t dtype;
  std::vector<int64_t> shape; // -1: the rows of a request, or an extent that its values say
};

struct ServedModel {
  std::string name, path;
  std::vector<ServedTensor> inputs, outputs; // in the order of the entry "predict"
  data::Signature signature;
  uint32_t entry = 0;     // the index of "predict"
  int64_t fixedBatch = 0; // 0: any
  /// Whether rows of several requests may be one run: every input and output has a row for each.
  bool joinsRows = false;

  /// An output by the name that metadata gives or by `outN`; -1: none.
  int findOutput(const std::string &wanted) const;
};

/// A Failure where the model has no entry "predict".
data::Result<ServedModel> describeServed(const training::Session &session);

} // namespace mpc::serving
#endif
