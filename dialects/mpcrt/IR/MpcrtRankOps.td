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
    (`ends_bucket`); until mpcrt.wait_for_ranks of the bucket nothing may touch them. `by_elements`, `always` and `in_bfloat16`
    are those of mpc.all_reduce; all arrays of a bucket have the last one, or none.

    Example: `%g = mpcrt.all_reduce sum outs(%part : tensor<784x64xf32>) -> tensor<784x64xf32>`
  }];
  let arguments = (ins Mpc_ReduceKindAttr:$kind, Mpcrt_RankShaped:$out, DefaultValuedAttr<I64Attr, "0">:$bucket,
                       UnitAttr:$ends_bucket, UnitAttr:$before, DefaultValuedAttr<StrAttr, "\"\"">:$layer,
                       UnitAttr:$by_elements, UnitAttr:$always, UnitAttr:$in_bfloat16);
  let assemblyFormat = "$kind `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}

def Mpcrt_ReduceScatterOp : Mpcrt_ReductionOp<"reduce_scatter"> {
  let summary = "library call: each rank's own part of the reduction of an array over the ranks of a job";
  let description = [{
    Like mpcrt.all_reduce, but for the elements that other ranks own (mpcrt.own_part): they hold sums of some ranks, in which
    an infinity or a NaN is one of the whole sum. On buffers only. mpc-shard-updates makes these ops.

    Example: `mpcrt.reduce_scatter sum outs(%g : memref<784x64xf32>) {ends_bucket}`
  }];
  let arguments = (ins Mpc_ReduceKindAttr:$kind, Mpcrt_RankShaped:$out, DefaultValuedAttr<I64Attr, "0">:$bucket,
                       UnitAttr:$ends_bucket, DefaultValuedAttr<StrAttr, "\"\"">:$layer, UnitAttr:$in_bfloat16);
  let assemblyFormat = "$kind `outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}

def Mpcrt_AllGatherOp : Mpcrt_ReductionOp<"all_gather"> {
  let summary = "library call: the parts of an array that the ranks of a job own come together";
  let description = [{
    Each rank has written the elements that it owns (mpcrt.own_part); all get those of the others. Arrays of one `bucket` go in
    one message, with the last of them (`ends_bucket`); until mpcrt.wait_for_ranks of the bucket nothing may touch them. That
    may stand further up: then the gather goes on when the entry has ended, and its next run waits. On buffers only.

    Example: `mpcrt.all_gather outs(%w : memref<784x64xbf16>) {bucket = 3 : i64, ends_bucket}`
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$out, DefaultValuedAttr<I64Attr, "0">:$bucket,
                       UnitAttr:$ends_bucket, DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let assemblyFormat = "`outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}

def Mpcrt_OwnPartOp : Mpcrt_Op<"own_part", [Mpcrt_HostCallInterface, MemoryEffects<[MemRead]>]> {
  let summary = "which of so many elements this rank owns";
  let description = [{
    `count` elements from `begin` on, which is a multiple of 64. All of them without ranks; on several ranks there may be none
    (services->own_part).

    Example: `%begin, %count = mpcrt.own_part of 50176`
  }];
  let arguments = (ins I64Attr:$elements);
  let results = (outs Index:$begin, Index:$count);
  let assemblyFormat = "`of` $elements attr-dict";
  let hasVerifier = 1;
}

def Mpcrt_WaitForRanksOp : Mpcrt_ReductionOp<"wait_for_ranks"> {
  let summary = "library call: from here on an array holds its reduction over ranks";
  let description = [{
    Behind the mpcrt.all_reduce, reduce_scatter or all_gather of the bucket, in front of what touches the array. On buffers only.

    Example: `mpcrt.wait_for_ranks outs(%g : memref<784x64xf32>) {bucket = 2 : i64}`
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$out, I64Attr:$bucket, DefaultValuedAttr<StrAttr, "\"\"">:$layer);
  let assemblyFormat = "`outs` `(` $out `:` type($out) `)` attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}

#endif // MPCRT_RANK_OPS
