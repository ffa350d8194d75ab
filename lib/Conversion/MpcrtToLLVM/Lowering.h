// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of convert-mpcrt-to-llvm.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_LOWERING_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_LOWERING_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {

/// Numbers by which the runtime knows library calls, as many as were given so far.
struct CallIds {
  unsigned contracts = 0, convolutions = 0, attentions = 0;
};

/// Positions in the tables of the executable.
struct TablePositions {
  llvm::DenseMap<mlir::Attribute, unsigned> variables; ///< symbol to index
  llvm::SmallVector<mlir::Attribute> kernels;          ///< symbols in table order
  llvm::DenseMap<mlir::StringAttr, unsigned> kernelIndex;
  CallIds ids;
  llvm::StringRef suffix;                  ///< of the descriptors' names
  unsigned traces = 0, reductions = 0;     ///< descriptors so far
  unsigned rowLoops = 0;                   ///< functions of rows so far
  int32_t prepared = 0;                    ///< operands that mpcrt.prepare wrote, so far
  llvm::StringMap<mlir::StringAttr> texts; ///< globals of texts of descriptors, by the text
  unsigned callTables = 0;                 ///< tables of calls so far
  llvm::StringSet<> callables;             ///< functions that tables call
  int64_t servicesSize = 0; ///< bytes of mpc_rt_services_t up to the last service called
};

/// Rewrites an entry to `llvm.func @entry(%call: !llvm.ptr) -> i32`: arguments are read from
/// mpc_rt_call_t, contractions and launches become calls of its services. Other ops stay.
mlir::LogicalResult lowerEntry(mlir::func::FuncOp entry, TablePositions &tables);

/// A function with the arguments of the entry that does what the body of `op` does; `op` stays.
/// Failure, with an error on the op, when the body needs what only a run of the entry knows.
mlir::FailureOr<mlir::func::FuncOp> outlineBody(mlir::Operation *op, llvm::StringRef name);

/// Rewrites a kernel to `llvm.func @kernel(%arguments: !llvm.ptr, %begin: i64, %end: i64)`.
void lowerKernel(mlir::func::FuncOp kernel);

/// Rewrites functions that mpc-share-host-loops made to `llvm.func` of pointers and numbers, and
/// all calls of them.
void lowerHostLoops(mlir::ModuleOp module, llvm::ArrayRef<mlir::func::FuncOp> loops);

/// float16 and bfloat16 become storage only: arithmetic in float32, conversions in integers, the
/// same on every ISA and without library calls. Rounds to nearest, ties to even; NaN stays NaN.
mlir::LogicalResult expandSmallFloats(mlir::ModuleOp module);

/// Sums whose terms may come in any order (fastmath<reassoc>) get one that depends on their length
/// alone, in vectors; no sum has such a flag afterwards. Wants arithmetic in float32 or wider.
void orderSums(mlir::ModuleOp module);

/// Extremes that loops carry (softmax's largest value of a row) become LLVM's intrinsics, which its
/// vectorizer knows as reductions; other ones are expanded later. Wants arithmetic in float32 or
/// wider.
void lowerLoopExtremes(mlir::ModuleOp module);

/// Buffers become pointers: loads, stores, views, globals.
void populateMemoryPatterns(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

/// The type of an element in memory: i1 is a byte, bf16 and f16 are 16 bits, integers have no sign.
mlir::Type storageType(mlir::Type element);

/// Gives each loop marked mpcrt.independent an access group that its loads and stores carry.
void annotateIndependentLoops(mlir::ModuleOp module);
/// The discardable attribute that carries it on memref.load and memref.store.
inline constexpr llvm::StringLiteral kAccessGroupAttr = "llvm.access_groups";

} // namespace mpc

#endif
