// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Importers name the location of each op after its layer.
#include "mpc/Analysis/LayerPath.h"

using namespace mlir;

StringRef mpc::layerPathOf(Location loc) {
  auto named = loc->findInstanceOf<NameLoc>();
  return named ? named.getName().getValue() : StringRef();
}
