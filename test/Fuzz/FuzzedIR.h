// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IR as mpcc reads it: limits on text, the parser in a guarded child, then the parser here. The
// child may crash or hang; what is tested is that then checkIR() says so, and that what it lets
// through comes to an end.
#ifndef MPC_TEST_FUZZ_FUZZEDIR_H
#define MPC_TEST_FUZZ_FUZZEDIR_H

#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpc/Import/IR/CheckIR.h"
#include "llvm/Support/SourceMgr.h"

inline void readFuzzedIR(llvm::StringRef bytes) {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry made;
    made.insert<mpc::MpcDialect, mpc::mpcrt::MpcrtDialect, mlir::arith::ArithDialect,
                mlir::func::FuncDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                mlir::memref::MemRefDialect, mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
    return made;
  }();
  const llvm::MemoryBufferRef file(bytes, "fuzzed");
  if (llvm::Error error = mpc::checkIR(file, registry, /*allowsUnregistered=*/false)) {
    llvm::consumeError(std::move(error));
    return;
  }
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler silence(&context,
                                        [](mlir::Diagnostic &) { return mlir::success(); });
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(file, /*RequiresNullTerminator=*/false), llvm::SMLoc());
  mlir::parseSourceFile<mlir::ModuleOp>(sources, mlir::ParserConfig(&context));
}

#endif
