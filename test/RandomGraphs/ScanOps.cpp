// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences with random bodies.
#include "test/RandomGraphs/RandomGraph.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

/// Steps of recurrent layers are made of these ops.
static bool mayStandInStep(RegisteredOperationName name) {
  StringRef op = name.getStringRef();
  return name.hasInterface<ElementwiseOpInterface>() || op == ContractOp::getOperationName() ||
         op == SliceOp::getOperationName() || op == ConcatenateOp::getOperationName() ||
         op == SoftmaxOp::getOperationName();
}

/// Carries one value, reads one sequence step by step and captures what its ops ask for.
static bool makeScan(Scope &outer) {
  Random &random = outer.random();
  Value sequence = outer.pick([](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() >= 3 && type.isDynamicDim(0);
  });
  if (!sequence || outer.capture)
    return false;
  RankedTensorType slice = ScanOp::sliceType(tensorTypeOf(sequence));
  const int64_t steps = tensorTypeOf(sequence).getDimSize(1);
  Value init = outer.pick([&](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() >= 1 && type.isDynamicDim(0) &&
           succeeded(broadcastShapes({type.getShape(), slice.getShape()}));
  });
  if (!init)
    return false;

  auto block = std::make_unique<Block>();
  SmallVector<Value> captures;
  OpBuilder in(outer.builder.getContext());
  in.setInsertionPointToEnd(block.get());
  Scope step(outer.graph, in);
  // Values of the first step; the scan as a whole is judged when it is there.
  auto bind = [&](Type type, ReferenceTensor tensor) {
    Value argument = block->addArgument(type, outer.loc());
    outer.setValue(argument, std::move(tensor));
    return argument;
  };
  ReferenceTensor first;
  {
    const ReferenceTensor &whole = outer.at(sequence);
    SmallVector<int64_t> shape(whole.shape);
    shape.erase(shape.begin() + 1);
    startReference(first, whole.elementType, shape);
    const int64_t rest = first.size() / shape[0];
    for (int64_t i = 0; i < first.size(); ++i)
      first.floats[i] = whole.floats[(i / rest) * rest * steps + i % rest];
  }
  Value carried = bind(init.getType(), outer.at(init));
  step.pool = {carried, bind(slice, first)};
  step.capture = [&](Value value) {
    captures.push_back(value);
    Value argument = bind(value.getType(), outer.at(value));
    step.pool.push_back(argument);
    return argument;
  };

  SmallVector<RegisteredOperationName> ops;
  for (RegisteredOperationName name : differentiableOps(*in.getContext()))
    if (mayStandInStep(name))
      ops.push_back(name);
  const size_t before = step.pool.size();
  const int64_t wanted = random.between(1, 5);
  for (int tries = 0; int64_t(step.pool.size() - before) < wanted && tries < 100; ++tries)
    step.addOp(ops[random.below(int64_t(ops.size()))]);

  // The next state is bounded, whatever the body makes of the last one.
  Value change = step.pick([&](RankedTensorType type) {
    auto shape = broadcastShapes({type.getShape(), tensorTypeOf(carried).getShape()});
    return type.getElementType().isF64() && succeeded(shape) &&
           ArrayRef<int64_t>(*shape) == tensorTypeOf(carried).getShape();
  });
  Value next = TanhOp::create(in, outer.loc(), AddOp::create(in, outer.loc(), carried, change));
  SmallVector<Value> yielded{next};
  SmallVector<Type> types{init.getType()};
  for (Value value : llvm::reverse(step.pool))
    if (tensorTypeOf(value).getRank() >= 1 && tensorTypeOf(value).isDynamicDim(0) &&
        elementTypeOf(value).isF64() && value != carried) {
      yielded.push_back(value);
      types.push_back(ScanOp::stackType(tensorTypeOf(value), steps));
      break;
    }
  YieldOp::create(in, outer.loc(), yielded);
  auto scan = ScanOp::create(outer.builder, outer.loc(), types, init, sequence, captures, steps,
                             random.chance(0.5));
  scan.getBody().push_back(block.release());
  return outer.accept(scan);
}

void mpc::test::addScanOps(OpMakers &makers) { makers[ScanOp::getOperationName()] = makeScan; }
