// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which functions are optimised: kernels and loops, but for -O0; what runs once in a step is code
// as it stands.
#include "lib/Codegen/CPU/CompileUnits.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Object/ELFObjectFile.h"
#include <gtest/gtest.h>

using namespace mpc;

namespace {
struct CompileUnits : testing::Test {
  CompileUnits() {
    context.loadDialect<mlir::LLVM::LLVMDialect>();
    mlir::registerBuiltinDialectTranslation(context);
    mlir::registerLLVMDialectTranslation(context);
  }
  /// Bytes of code of a function that writes `count` zeros to one address.
  uint64_t codeSize(int count, bool loops, llvm::ArrayRef<std::string> kernels = {},
                    Effort effort = Effort::Full) {
    std::string text = "llvm.func @f(%p: !llvm.ptr, %n: i64, %m: i64) {\n"
                       "  %zero = llvm.mlir.constant(0 : i64) : i64\n";
    if (loops)
      text += "  llvm.br ^body\n^body:\n";
    for (int i = 0; i < count; ++i)
      text += "  llvm.store %zero, %p : i64, !llvm.ptr\n";
    if (loops)
      text += "  %c = llvm.load volatile %p : !llvm.ptr -> i64\n"
              "  %go = llvm.icmp \"ne\" %c, %zero : i64\n"
              "  llvm.cond_br %go, ^body, ^end\n^end:\n";
    text += "  llvm.return\n}\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    auto units = llvm::cantFail(takeApart(*module, kernels));
    auto objects = llvm::cantFail(
        compileUnits(units, listLevels("x86-64-v2"), effort, /*cache=*/nullptr, [](size_t) {}));
    auto file = llvm::cantFail(
        llvm::object::ObjectFile::createELFObjectFile({objects[0].content, "object"}));
    uint64_t size = 0;
    for (const llvm::object::SectionRef &section : file->sections())
      if (section.isText())
        size += section.getSize();
    return size;
  }
  mlir::MLIRContext context;
};
} // namespace

TEST_F(CompileUnits, LeavesWhatRunsOnceAsItIs) {
  EXPECT_GE(codeSize(40, /*loops=*/false), codeSize(20, /*loops=*/false) + 20 * 5);
}

TEST_F(CompileUnits, OptimisesLoopsAndKernels) {
  EXPECT_EQ(codeSize(40, /*loops=*/true), codeSize(20, /*loops=*/true));
  EXPECT_EQ(codeSize(40, /*loops=*/false, {"f"}), codeSize(20, /*loops=*/false, {"f"}));
}

TEST_F(CompileUnits, OptimisesNothingWhereItIsToldSo) {
  for (const bool loops : {false, true})
    EXPECT_GE(codeSize(40, loops, {"f"}, Effort::Least),
              codeSize(20, loops, {"f"}, Effort::Least) + 20 * 5);
}
