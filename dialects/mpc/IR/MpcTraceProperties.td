// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Properties of mpc.trace and mpcrt.trace, by which they name a value: one list, because the first becomes the second.

#ifndef MPC_TRACE_PROPERTIES
#define MPC_TRACE_PROPERTIES

include "dialects/mpc/IR/MpcEnums.td"
include "mlir/IR/CommonAttrConstraints.td"

defvar Mpc_TraceProperties = (ins Mpc_TraceDirectionAttr:$direction,
                                  ConfinedAttr<I64Attr, [IntNonNegative]>:$slot, StrAttr:$op, StrAttr:$layer,
                                  DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$sources, UnitAttr:$scaled,
                                  OptionalAttr<TypeAttr>:$format);

#endif // MPC_TRACE_PROPERTIES
