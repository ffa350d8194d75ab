// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops whose results are as many as values say: kernels of loops that carry a count.

#ifndef MPCRT_SELECTION_OPS
#define MPCRT_SELECTION_OPS

include "dialects/mpc/IR/MpcEnums.td"
include "dialects/mpcrt/IR/MpcrtBase.td"
include "dialects/mpcrt/IR/MpcrtInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mpcrt_Numbers : AnyTypeOf<[RankedTensorOf<[Mpc_Float]>, MemRefOf<[Mpc_Float]>], "ranked tensor or memref of a floating type">;
def Mpcrt_Truths : AnyTypeOf<[RankedTensorOf<[I1]>, MemRefOf<[I1]>], "ranked tensor or memref of i1">;
def Mpcrt_Wholes : AnyTypeOf<[RankedTensorOf<[I32, I64]>, MemRefOf<[I32, I64]>], "ranked tensor or memref of i32 or i64">;

class Mpcrt_SelectionOp<string mnemonic, list<Trait> traits = []> : Mpcrt_Op<mnemonic, [DestinationStyleOpInterface,
    Mpcrt_BufferizedCallInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>] # traits> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
}

def Mpcrt_CompactOp : Mpcrt_SelectionOp<"compact"> {
  let summary = "the places of what is true, and how many there are";
  let description = [{
    mpc.compact, as a kernel of one iteration (convert-linalg-to-mpcrt).

    Example: `%p, %n = mpcrt.compact ins(%m : tensor<8xi1>) outs(%e, %f : tensor<8xi64>, tensor<i64>) -> tensor<8xi64>, tensor<i64>`
  }];
  let arguments = (ins Mpcrt_Truths:$mask, Mpcrt_Wholes:$places, Mpcrt_Wholes:$count);
  let assemblyFormat = [{
    `ins` `(` $mask `:` type($mask) `)` `outs` `(` $places `,` $count `:` type($places) `,` type($count) `)` attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return ::mlir::MutableOperandRange(getOperation(), 1, 2); }
  }];
}

def Mpcrt_SelectBoxesOp : Mpcrt_SelectionOp<"select_boxes"> {
  let summary = "boxes of which none overlaps a better one";
  let description = [{
    mpc.select_boxes, as a kernel whose iterations are the classes of the samples. `left` [batch, classes, boxes] is
    memory for the boxes that may still be chosen.

    Example:
    ```mlir
    %i:2 = mpcrt.select_boxes ins(%b, %s, %o : tensor<?x9x4xf32>, tensor<?x3x9xf32>, tensor<f32>)
        outs(%p, %l : tensor<?x3x5xi32>, tensor<?x3x9xi32>) -> tensor<?x3x5xi32>, tensor<?x3x9xi32>
    ```
  }];
  let arguments = (ins Mpcrt_Numbers:$boxes, Mpcrt_Numbers:$scores, Mpcrt_Numbers:$overlap,
                       Optional<Mpcrt_Numbers>:$least, Mpcrt_Wholes:$picks, Mpcrt_Wholes:$left, UnitAttr:$centered);
  let assemblyFormat = [{
    `ins` `(` $boxes `,` $scores `,` $overlap `:` type($boxes) `,` type($scores) `,` type($overlap) `)`
    (`least` `(` $least^ `:` type($least) `)`)? `outs` `(` $picks `,` $left `:` type($picks) `,` type($left) `)` attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), getLeast() ? 4 : 3, 2);
    }
  }];
}

#endif // MPCRT_SELECTION_OPS
