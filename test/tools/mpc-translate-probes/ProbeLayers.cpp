// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a class of a user's is added to the importer: a function that makes ops, and a name.
#include "test/tools/mpc-translate-probes/ProbeLayers.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/LayerRegistry.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::keras;

/// x * w in what their dtypes promote to; `var_dtype` and `var_autocast` are add_weight's `dtype`
/// and `autocast`.
static bool importProbe(CompositeBuilder &b, SmallVectorImpl<Value> &outputs) {
  Value x = b.getTensor(0, "inputs");
  if (!x)
    return b.error("Probe is called without a tensor"), false;
  VariableRequest request{"w", {ValueBuilder::shapeOf(x).back()}, "", "", ""};
  request.defaultInitializer = "ones";
  request.autocast = b.own.getFlag("var_autocast", true);
  if (const std::string dtype = b.own.getString("var_dtype", ""); !dtype.empty())
    request.ownType = dtypeElement(b.builder, dtype);
  Value w = b.addVariable(request);
  if (!w)
    return false;
  // Integers take the floating dtype of what they meet.
  if (!isa<FloatType>(elementTypeOf(w)))
    w = b.makeCastLike(w, x);
  outputs.push_back(b.make<MultiplyOp>(x, w));
  return true;
}

static bool importParent(CompositeBuilder &b, SmallVectorImpl<Value> &outputs) {
  Value x = b.getTensor(0, "inputs");
  if (!x)
    return b.error("Parent is called without a tensor"), false;
  VariableRequest request{"p", {}, "", "", ""};
  request.defaultInitializer = "ones";
  Value p = b.addVariable(request);
  Value y = b.callWrapped("child", x);
  if (!p || !y)
    return false;
  outputs.push_back(b.make<MultiplyOp>(y, p));
  return true;
}

void mpc::test::registerProbeLayers() {
  registerLayer("Probe", compositeLayer("Probe", importProbe));
  registerLayer("Parent", compositeLayer("Parent", importParent));
}
