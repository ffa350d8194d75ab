// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptors and structs of calls from code that was compiled with another mpc-rt/services.h.
#ifndef MPC_RUNTIME_DRIVERS_CALL_STRUCT_H
#define MPC_RUNTIME_DRIVERS_CALL_STRUCT_H

#include "mpc-rt/status.h"
#include "runtime/base/status.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace mpc::rt {

// A struct may be smaller than this runtime's, down to `minimum`, and larger where what this
// runtime does not know is 0 and null: the code does without it then.
template <typename Struct>
mpc_rt_status_t checkStruct(const char *layer, const char *what, const Struct &given,
                            size_t minimum) noexcept {
  const uint32_t size = given.struct_size;
  if (size < minimum)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: %s of %u bytes; this runtime needs %zu; compile the model again", layer, what,
                size, minimum);
  const auto *bytes = reinterpret_cast<const uint8_t *>(&given);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i])
      return fail(MPC_RT_FAILED_PRECONDITION,
                  "%s: %s with fields that are newer than this runtime; update libmpcrt", layer,
                  what);
  return MPC_RT_OK;
}

// Descriptors have had their fields from the first version on.
template <typename Descriptor>
mpc_rt_status_t checkDescriptor(const char *layer, const Descriptor &descriptor) noexcept {
  return checkStruct(layer, "a descriptor", descriptor, sizeof(Descriptor));
}

// The struct of a call with all fields, 0 and null where the code has none.
template <typename Call>
mpc_rt_status_t readCall(const char *layer, const Call &given, size_t minimum,
                         Call &result) noexcept {
  if (auto status = checkStruct(layer, "a call", given, minimum))
    return status;
  result = {};
  std::memcpy(&result, &given, std::min<size_t>(given.struct_size, sizeof(Call)));
  result.struct_size = sizeof(Call);
  return MPC_RT_OK;
}

} // namespace mpc::rt

#endif
