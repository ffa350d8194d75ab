// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptors of cuDNN's backend API that belong together.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CUDNN_DESCRIPTIONS_H
#define MPC_RUNTIME_DRIVERS_CUDA_CUDNN_DESCRIPTIONS_H

#include "runtime/drivers/cuda/cudnn_api.h"

#include <vector>

namespace mpc::rt::cuda::dnn {

// Makes descriptors, and destroys them in the opposite order. The first failure is kept; what comes
// after it does nothing, so that one look at status() is enough.
class Descriptions {
public:
  explicit Descriptions(const Api &library) : library(library) {}
  ~Descriptions();
  Descriptions(const Descriptions &) = delete;
  Descriptions &operator=(const Descriptions &) = delete;

  // Null after a failure.
  Descriptor make(DescriptorType type);
  Descriptions &set(Descriptor descriptor, Attribute name, AttributeType type, int64_t count,
                    const void *values);
  // One value of an enumeration, a number, a descriptor or a handle.
  template <typename Value>
  Descriptions &set(Descriptor descriptor, Attribute name, AttributeType type, Value value) {
    return set(descriptor, name, type, 1, &value);
  }
  Descriptions &set(Descriptor descriptor, Attribute name, const std::vector<int64_t> &values) {
    return set(descriptor, name, typeInt64, static_cast<int64_t>(values.size()), values.data());
  }
  Descriptions &finalize(Descriptor descriptor);
  // How many there were; at most `room` are in `values`.
  int64_t get(Descriptor descriptor, Attribute name, AttributeType type, int64_t room,
              void *values);
  int status() const { return failure; }
  // Takes over everything that the other one made, which must not have failed.
  void take(Descriptions &&other);

private:
  const Api &library;
  std::vector<Descriptor> made;
  int failure = success;
};

} // namespace mpc::rt::cuda::dnn

#endif
