// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that stop at the first failure.
#include "runtime/drivers/cuda/cudnn_descriptions.h"

namespace mpc::rt::cuda::dnn {

Descriptions::~Descriptions() {
  for (auto descriptor = made.rbegin(); descriptor != made.rend(); ++descriptor)
    library.destroyDescriptor(*descriptor);
}

Descriptor Descriptions::make(DescriptorType type) {
  if (failure)
    return nullptr;
  made.push_back(nullptr);
  failure = library.createDescriptor(type, &made.back());
  if (!failure)
    return made.back();
  made.pop_back();
  return nullptr;
}

Descriptions &Descriptions::set(Descriptor descriptor, Attribute name, AttributeType type,
                                int64_t count, const void *values) {
  if (!failure)
    failure = library.setAttribute(descriptor, name, type, count, values);
  return *this;
}

Descriptions &Descriptions::finalize(Descriptor descriptor) {
  if (!failure)
    failure = library.finalize(descriptor);
  return *this;
}

int64_t Descriptions::get(Descriptor descriptor, Attribute name, AttributeType type, int64_t room,
                          void *values) {
  int64_t count = 0;
  if (!failure)
    failure = library.getAttribute(descriptor, name, type, room, &count, values);
  return failure ? 0 : count;
}

void Descriptions::take(Descriptions &&other) {
  made.insert(made.end(), other.made.begin(), other.made.end());
  other.made.clear();
}

} // namespace mpc::rt::cuda::dnn
