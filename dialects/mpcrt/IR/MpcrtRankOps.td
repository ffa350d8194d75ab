// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops that reduce over the ranks of a job.

#ifndef MPCRT_RANK_OPS
#define MPCRT_RANK_OPS

include "dialects/mpc/IR/MpcEnums.td"
include "dialects/mpcrt/IR/MpcrtBase.td"
include "dialects/mpcrt/IR/MpcrtInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mpcrt_RankShaped : AnyTypeOf<[RankedTensorOf<[F32, F64, I32, I64]>, MemRefOf<[F32, F64, I32, I64]>],
    "ranked tensor or memref of f32, f64, i32 or i64">;

class Mpcrt_ReductionOp<string mnemonic> : Mpcrt_Op<mnemonic, [DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<Mpcrt_BufferizedCallInterface, ["readsInit"]>, Mpcrt_ServiceCallInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
  }];
}

def Mpcrt_AllReduceOp : Mpcrt_ReductionOp<"all_reduce"> {
  let summary = "library call: the reduction of an array over the ranks of a job";
  let description = [{
    mpc.all_reduce, in place; with `before` the sum of what the ranks before this one have. On buffers the arrays of one `bucket` go in one message, with the last of them
    (`ends_bucket`); until mpcrt.wait_for_ranks of the bucket nothing may touch them.

    Example: `%g = mpcrt.all_reduce sum outs(%part : tensor<784x64xf32>) -> tensor<784x64xf32>`
  }];
  let arguments = (ins Mpc_ReduceKindAttr:$kind, Mpcrt_RankShaped:$out, DefaultValuedAttr<I64Attr, "0">:$bucket,
                       UnitAttr:$ends_bucket, UnitAttr:$before, DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let assemblyFormat = "$kind `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}

def Mpcrt_WaitForRanksOp : Mpcrt_ReductionOp<"wait_for_ranks"> {
  let summary = "library call: from here on an array holds its reduction over ranks";
  let description = [{
    Behind the mpcrt.all_reduce of the bucket, in front of what touches the array. On buffers only.

    Example: `mpcrt.wait_for_ranks outs(%g : memref<784x64xf32>) {bucket = 2 : i64}`
  }];
  let arguments = (ins Mpcrt_RankShaped:$out, I64Attr:$bucket, DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let assemblyFormat = "`outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}

#endif // MPCRT_RANK_OPS
