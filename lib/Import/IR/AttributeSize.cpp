// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of attributes by their parts. It recurses as deeply as they are nested: to be called where
// a crash does no harm.
#include "lib/Import/IR/AttributeSize.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

namespace {
class Sizes {
public:
  AttributeSize largest;

  template <typename Node> AttributeSize of(Node node) {
    if (!node)
      return {};
    if (auto found = known.find(node.getAsOpaquePointer()); found != known.end())
      return found->second;
    AttributeSize size = {1, 1};
    auto add = [&](AttributeSize part) {
      size.nodes = llvm::SaturatingAdd(size.nodes, part.nodes);
      size.depth = std::max(size.depth, part.depth + 1);
    };
    node.walkImmediateSubElements([&](Attribute part) { add(of(part)); },
                                  [&](Type part) { add(of(part)); });
    known[node.getAsOpaquePointer()] = size;
    largest.nodes = std::max(largest.nodes, size.nodes);
    largest.depth = std::max(largest.depth, size.depth);
    return size;
  }

private:
  llvm::DenseMap<const void *, AttributeSize> known;
};
} // namespace

AttributeSize mpc::findLargestAttribute(Operation *operation) {
  Sizes sizes;
  operation->walk([&](Operation *inner) {
    sizes.of(Attribute(inner->getAttrDictionary()));
    sizes.of(Attribute(LocationAttr(inner->getLoc())));
    for (Type type : inner->getResultTypes())
      sizes.of(type);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments()) {
          sizes.of(argument.getType());
          sizes.of(Attribute(LocationAttr(argument.getLoc())));
        }
  });
  return sizes.largest;
}
