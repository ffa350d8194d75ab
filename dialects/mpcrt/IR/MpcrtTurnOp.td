// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers in another order, for libraries that take no other.

#ifndef MPCRT_TURN_OP
#define MPCRT_TURN_OP

include "dialects/mpc/IR/MpcEnums.td"
include "dialects/mpcrt/IR/MpcrtBase.td"
include "dialects/mpcrt/IR/MpcrtInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mpcrt_Turned : AnyTypeOf<[RankedTensorOf<[Mpc_Float8]>, MemRefOf<[Mpc_Float8]>], "ranked tensor or memref of float8">;

def Mpcrt_TurnOp : Mpcrt_Op<"turn", [DestinationStyleOpInterface, Mpcrt_BufferizedCallInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a matrix whose columns lie one after the other";
  let description = [{
    Element [i, j] of `numbers` [rows, columns] is at place j * rows + i of `out`, which has the same type, since samples come
    first in every type. Only mpcrt.contract with `mpcrt.turned_lhs` or `mpcrt.turned_rhs` reads that. convert-linalg-to-mpcrt makes a
    kernel of it, and mpc-merge-launches makes it one with the kernel that writes `numbers`.

    Example: `%t = mpcrt.turn ins(%x : tensor<?x64xf8E4M3FN>) outs(%empty : tensor<?x64xf8E4M3FN>) -> tensor<?x64xf8E4M3FN>`
  }];
  let arguments = (ins Mpcrt_Turned:$numbers, Mpcrt_Turned:$out);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "`ins` `(` $numbers `:` type($numbers) `)` `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
  }];
}

#endif // MPCRT_TURN_OP
