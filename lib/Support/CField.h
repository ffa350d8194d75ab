// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fields of the C structs of mpc-rt: where generated code finds them. The compiler runs on a
// machine whose C lays structs out as the targets' does; the sizes are asserted.
#ifndef MPC_LIB_SUPPORT_CFIELD_H
#define MPC_LIB_SUPPORT_CFIELD_H

#include "mpc-rt/executable.h"

namespace mpc {

/// In bytes.
struct CField {
  size_t offset, size;
  constexpr size_t end() const { return offset + size; }
};

#define MPC_C_FIELD(type, field)                                                                   \
  ::mpc::CField { offsetof(type, field), sizeof(decltype(type::field)) }

#define MPC_RT_STRUCT(type, size) static_assert(sizeof(type) == (size), #type);
#include "mpc-rt/struct_sizes.inc"
#undef MPC_RT_STRUCT

} // namespace mpc

#endif // MPC_LIB_SUPPORT_CFIELD_H
