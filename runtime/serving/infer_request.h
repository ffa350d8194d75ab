// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// InferRequest: the body of an inference request of the Open Inference Protocol (version 2), JSON
// with the binary tensor extension or without. Hostile: nothing is allocated for a shape before its
// elements are there, and JSON is read without a tree of it in memory.
#ifndef MPC_RUNTIME_SERVING_INFER_REQUEST_H
#define MPC_RUNTIME_SERVING_INFER_REQUEST_H

#include "runtime/data/array.h"

#include <string_view>

namespace mpc::serving {

struct InferRequest {
  struct Output {
    std::string name;
    std::optional<bool> isBinary; // else as the request says of all
  };
  std::optional<std::string> id;
  bool wantsBinary = false;
  data::NamedArrays inputs;
  std::vector<Output> outputs; // none: all of the model's
};

/// JSON is at most so long; longer tensors come in binary.
inline constexpr size_t maximumJsonBytes = size_t(16) << 20;

/// `jsonBytes` is Inference-Header-Content-Length where the request has it: binary tensors follow
/// there. The messages have no path in front.
data::Result<InferRequest> parseInferRequest(std::string_view body,
                                             std::optional<size_t> jsonBytes);

} // namespace mpc::serving
#endif
