// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/LinalgToMpcrt/OpKernel.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/BatchExtent.h"

using namespace mlir;
using namespace mpc;

/// A name that no other symbol of the module has.
static std::string uniqueName(func::FuncOp entry, StringRef what) {
  auto module = entry->getParentOfType<ModuleOp>();
  const std::string base = ("kernel_" + entry.getSymName() + "_" + what).str();
  std::string name = base;
  for (unsigned number = 1; SymbolTable::lookupSymbolIn(module, name); ++number)
    name = base + "_" + std::to_string(number);
  return name;
}

OpKernel::OpKernel(func::FuncOp entry, Operation *op, ValueRange given, StringRef what)
    : builder(op->getContext()), arguments(given) {
  arguments.push_back(getBatchArgument(entry));
  SmallVector<Type> types(ValueRange(arguments).getTypes());
  types.append(2, builder.getIndexType());
  builder.setInsertionPoint(entry);
  function = func::FuncOp::create(builder, op->getLoc(), uniqueName(entry, what),
                                  builder.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr(mpcrt::MpcrtDialect::kKernelAttr, builder.getUnitAttr());
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  const auto inside = block->getArguments();
  operands.assign(inside.begin(), inside.end() - 3);
  batch = inside.drop_back(2).back();
  begin = inside.drop_back().back();
  end = inside.back();
}

void OpKernel::launch(Operation *op, Value count, StringRef split) {
  const Location loc = op->getLoc();
  builder.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(builder, loc);
  OpBuilder host(op);
  mpcrt::LaunchOp::create(host, loc, function.getSymName(), count, /*grain=*/1, arguments);
  remark::passed(loc, remark::RemarkOpts::name("kernel").category("mpc-kernels"))
      << "@" << function.getSymName().str() << " split " << split.str() << " grain "
      << remark::metric("grain", 1);
  op->erase();
}
