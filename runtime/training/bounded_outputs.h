// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outputs of an entry that have a largest extent: the extent of a call is another output.
#ifndef MPC_RUNTIME_TRAINING_BOUNDED_OUTPUTS_H
#define MPC_RUNTIME_TRAINING_BOUNDED_OUTPUTS_H

#include "runtime/training/session.h"

namespace mpc::training {

class BoundedOutputs {
public:
  BoundedOutputs(const Session &session, const mpc_rt_entry_info_t &entry);

  /// Whether the entry has one. Each call then stands for itself: rows of several cannot be joined,
  /// and none may be filled up, for what is found in a filling would be results.
  bool areThere() const { return !forms_.empty(); }
  /// Whether an output is only the extent of others.
  bool isExtent(uint32_t output) const;
  /// One of the outputs of a call, as large as it is.
  data::Result<data::Array> cut(const std::vector<data::Array> &outputs, uint32_t output) const;
  /// All of them but the extents, which `names` loses, too.
  data::Result<std::vector<data::Array>> cutAll(const std::vector<data::Array> &outputs,
                                                std::vector<std::string> &names) const;
  /// A Failure where not all rows go into one call, of the batch that the model has if `fixed` is
  /// not 0.
  data::Status checkRows(int64_t rows, int64_t batchSize, int64_t fixed) const;

private:
  std::string path_;
  std::vector<mpc_rt_tensor_form_t> forms_;
};

} // namespace mpc::training
#endif
