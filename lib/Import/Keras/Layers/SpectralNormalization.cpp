// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/normalization/spectral_normalization.py: each training step first divides the
// wrapped layer's kernel by its largest singular value, which power iteration estimates.
#include "lib/Import/Keras/CompositeBuilder.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using C = CompositeBuilder;

/// x / |x| over all elements.
Value normalizeAll(ValueBuilder &b, Value x, double leastNorm) {
  return b.makeUnitNorm(x, {0, 1}, leastNorm);
}

/// In float32 (Keras: in the compute dtype): u and v are the singular vectors, which no derivative
/// goes through; a kernel of zeros stays.
std::pair<Value, Value> normalizeKernel(ValueBuilder &b, Value kernel, Value u, int64_t iterations,
                                        double leastNorm) {
  const int64_t columns = b.shapeOf(kernel).back();
  int64_t rows = 1;
  for (int64_t extent : b.shapeOf(kernel).drop_back())
    rows *= extent;
  Value wide = b.makeCastLike(kernel, kernel, /*wide=*/true);
  Value matrix = b.makeReshape(wide, {rows, columns});
  Value newU = b.makeCastLike(u, matrix), v;
  for (int64_t i = 0; i < iterations; ++i) {
    v = normalizeAll(b, b.makeEinsum("ac,rc->ar", {newU, matrix}), leastNorm);
    newU = normalizeAll(b, b.makeEinsum("ar,rc->ac", {v, matrix}), leastNorm);
  }
  newU = b.make<StopGradientOp>(newU);
  Value sigma = b.makeEinsum(
      "ac,bc->ab", {b.makeEinsum("ar,rc->ac", {b.make<StopGradientOp>(v), matrix}), newU});
  Value scaled = b.make<DivideOp>(wide, b.makeReshape(sigma, {}));
  llvm::SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(kernel)));
  Value isZero = b.makeReduce(ReduceKind::All,
                              b.makeCompare(ComparePredicate::EQ, wide, b.makeConstant(0.0)), axes,
                              /*keepDims=*/false);
  return {b.makeCastLike(b.makeSelect(isZero, wide, scaled), kernel),
          b.makeCastLike(b.makeSelect(isZero, b.makeCastLike(u, matrix), newU), u)};
}

bool importSpectralNormalization(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  Value x = c.getTensor(0, "inputs");
  const int64_t iterations = c.own.getInteger("power_iterations", 1);
  const double leastNorm = c.own.layer.version.isKeras2() ? kLeastNormOfKeras2 : 1e-7;
  if (iterations <= 0 || iterations > 1000)
    c.error("'power_iterations' of SpectralNormalization must be in [1, 1000]");
  if (!x || c.hasFailed()) {
    if (!x)
      c.error("SpectralNormalization is called without a tensor");
    return false;
  }
  c.passMasksToParts();
  Value y = c.callWrapped("layer", x);
  if (!y)
    return false;
  const bool renewed = c.renewVariable(
      "layer", {"kernel", "embeddings"},
      [](llvm::ArrayRef<int64_t> shape) {
        VariableRequest request{"vector_u", {1, shape.back()}, "", "", ""};
        request.defaultInitializer = "truncated_normal";
        request.trainable = false;
        request.firstInFile = 1; // after the kernel, which files hold once more
        return request;
      },
      [&](ValueBuilder &b, Value kernel, Value u) {
        return normalizeKernel(b, kernel, u, iterations, leastNorm);
      });
  if (!renewed)
    return false;
  // The input's dtype, that of ids, too.
  const mlir::Type element = elementTypeOf(x);
  const bool isFloat = mlir::isa<mlir::FloatType>(element);
  outputs.push_back(isFloat
                        ? c.makeCastLike(y, x)
                        : c.make<CastOp>(mlir::RankedTensorType::get(c.shapeOf(y), element), y));
  // Keras's layer supports no masks, but what the wrapped layer returns keeps its own through a
  // cast that changes no dtype.
  const LayerConfig *wrapped = c.own.getChild("layer");
  if (Value mask = c.getMaskOfResult(y);
      mask && isFloat && wrapped && c.own.policies.computeAlike(c.own.layer, *wrapped, c.own.path))
    c.setMask(outputs.back(), mask);
  return true;
}

constexpr LayerEntry kSpectralNormalizationLayers[] = {
    compositeLayer("SpectralNormalization", importSpectralNormalization),
};

} // namespace

llvm::ArrayRef<LayerEntry> spectralNormalizationLayers() { return kSpectralNormalizationLayers; }

} // namespace mpc::keras
