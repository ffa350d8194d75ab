// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// InferResponse: what goes back, JSON with the binary tensor extension or without.
#ifndef MPC_RUNTIME_SERVING_INFER_RESPONSE_H
#define MPC_RUNTIME_SERVING_INFER_RESPONSE_H

#include "runtime/serving/infer_request.h"
#include "runtime/serving/served_model.h"

namespace mpc::serving {

/// An output that a request asks for.
struct WantedOutput {
  size_t index;     // of ServedModel::outputs
  std::string name; // by which it is asked for
  bool isBinary;
};

/// The outputs in the request's order, all where it names none; fails for names that there are not.
data::Result<std::vector<WantedOutput>> resolveOutputs(const ServedModel &model,
                                                       const InferRequest &request);

struct InferResponse {
  std::string body;
  std::optional<size_t> jsonBytes; // binary tensors follow there
};

/// `outputs` are those of the model, in its order. JSON has the shortest decimal that reads as the
/// same value, null for NaN, and 1e999 for infinity, which readers of JSON take as such.
InferResponse formatInferResponse(const ServedModel &model, const std::optional<std::string> &id,
                                  const std::vector<WantedOutput> &wanted,
                                  const std::vector<data::Array> &outputs);

/// JSON text of a string of any bytes.
std::string quoteJson(const std::string &text);

} // namespace mpc::serving
#endif
