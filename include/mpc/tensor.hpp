// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A DLPack tensor that is released with its owner.
#ifndef MPC_TENSOR_HPP
#define MPC_TENSOR_HPP

#include "mpc-rt/dlpack.h"

#include <memory>

namespace mpc {

/// Owns a DLManagedTensor, of mpc or of anybody else.
class Tensor {
public:
  Tensor() = default;
  /// Takes ownership; null is allowed.
  explicit Tensor(::DLManagedTensor *tensor) : owned(tensor) {}

  ::DLManagedTensor *get() const { return owned.get(); }
  /// Gives ownership away, to whom DLPack calls the consumer.
  [[nodiscard]] ::DLManagedTensor *release() { return owned.release(); }

private:
  struct Release {
    void operator()(::DLManagedTensor *tensor) const { mpc_rt_dlpack_release(tensor); }
  };
  std::unique_ptr<::DLManagedTensor, Release> owned;
};

} // namespace mpc

#endif // MPC_TENSOR_HPP
