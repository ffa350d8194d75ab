// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds and prints them. Sums of floats keep their order, whatever the alignment of a buffer is.
#include "lib/Codegen/CUDA/PackedLoop.h"
#include "lib/Codegen/CUDA/ElementAccess.h"
#include "lib/Codegen/CUDA/KernelPrinter.h"
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "mpc/Analysis/LoopOrder.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

std::optional<PackedLoop> mpc::findPackedLoop(scf::ForOp loop) {
  if (!combinesInAnyOrder(loop))
    return std::nullopt;
  PackedLoop packed;
  packed.tile = findTurnedTile(*loop.getBody(), loop.getInductionVar());
  llvm::SmallDenseSet<Value> others; // read at other places
  bool isWriting = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto load = dyn_cast<memref::LoadOp>(op);
    auto store = dyn_cast<memref::StoreOp>(op);
    if (!load && !store) {
      if (op.getNumRegions() || isa_and_nonnull<memref::MemRefDialect>(op.getDialect()))
        return std::nullopt;
      continue;
    }
    if (load && isWriting)
      return std::nullopt;
    isWriting |= bool(store);
    Value buffer = load ? load.getMemRef() : store.getMemRef();
    auto indices = load ? load.getIndices() : store.getIndices();
    const bool isElement =
        isa<BlockArgument>(buffer) &&
        isLinearPlace(cast<MemRefType>(buffer.getType()), indices, loop.getInductionVar());
    if (store && packed.tile && llvm::is_contained(packed.tile->buffers, buffer))
      continue;
    if (!isElement && store)
      return std::nullopt;
    if (!isElement) {
      others.insert(buffer);
      continue;
    }
    PackedLoop::Access &access = packed.buffers[buffer];
    access.isRead |= bool(load);
    access.isWritten |= bool(store);
  }
  unsigned largest = 0;
  bool readsElements = false;
  for (auto &[buffer, access] : packed.buffers) {
    if (access.isWritten && others.contains(buffer))
      return std::nullopt;
    readsElements |= access.isRead;
    largest = std::max(largest, bytesOf(cast<MemRefType>(buffer.getType())));
  }
  if (!readsElements)
    return std::nullopt;
  packed.width = packWidth(largest);
  if (packed.tile)
    packed.width = std::min<unsigned>(packed.width, TurnedTile::kColumns);
  const unsigned least = packed.tile ? TurnedTile::kColumns : 2;
  return packed.width < least ? std::nullopt : std::optional(packed);
}

LogicalResult KernelPrinter::printPackedFor(scf::ForOp loop, const PackedLoop &packed) {
  const std::string lower = nameOf(loop.getLowerBound()), upper = nameOf(loop.getUpperBound()),
                    step = nameOf(loop.getStep()), width = std::to_string(packed.width),
                    packs = "v" + std::to_string(numbers++);
  if (packed.tile)
    return printTiledFor(loop, packed);
  SmallVector<std::string> places, loads, stores;
  llvm::SmallDenseMap<Value, std::string> elements;
  for (auto &[buffer, access] : packed.buffers) {
    const std::string name = nameOf(buffer), one = "v" + std::to_string(numbers++);
    const std::string type = "pack<" +
                             cudaStorageType(cast<MemRefType>(buffer.getType()).getElementType()) +
                             ", " + width + ">";
    places.push_back("(size_t)" + name);
    loads.push_back(access.isRead
                        ? type + " " + one + " = ((const " + type + " *)" + name + ")[j];\n"
                        : type + " " + one + ";\n");
    if (access.isWritten)
      stores.push_back("((" + type + " *)" + name + ")[j] = " + one + ";\n");
    elements[buffer] = one + ".at[k]";
  }
  auto printBody = [&] {
    ++depth;
    const LogicalResult printed = printBlock(*loop.getBody());
    printCarried(loop.getRegionIterArgs(), loop.getYieldedValues());
    --depth;
    return printed;
  };
  line() << "const index " << packs << " = (" << llvm::join(places, " | ") << ") % 16 == 0 ? "
         << upper << " / " << width << " : 0;\n";
  // So many packs are under way at once, where nothing is stored that might be the next one.
  if (stores.empty())
    os << "#pragma unroll 4\n";
  line() << "for (index j = " << lower << "; j < " << packs << "; j += " << step << ") {\n";
  ++depth;
  for (const std::string &load : loads)
    line() << load;
  os << "#pragma unroll\n";
  const std::string i = define(loop.getInductionVar());
  line() << "for (int k = 0; k < " << width << "; ++k) {\n";
  ++depth;
  line() << "const index " << i << " = j * " << width << " + k;\n";
  --depth;
  packedElements = std::move(elements);
  if (failed(printBody()))
    return failure();
  packedElements.clear();
  line() << "}\n";
  for (const std::string &store : stores)
    line() << store;
  --depth;
  line() << "}\n";
  line() << "for (index " << i << " = " << packs << " * " << width << " + " << lower << "; " << i
         << " < " << upper << "; " << i << " += " << step << ") {\n";
  if (failed(printBody()))
    return failure();
  line() << "}\n";
  return success();
}

LogicalResult KernelPrinter::printTiledFor(scf::ForOp loop, const PackedLoop &packed) {
  const TurnedTile &tile = *packed.tile;
  const std::string width = std::to_string(packed.width), rows = nameOf(tile.rows),
                    lower = nameOf(loop.getLowerBound()), upper = nameOf(loop.getUpperBound()),
                    step = nameOf(loop.getStep()), at = "[(first + g + r) * across + pack_column]";
  SmallVector<std::string> places;
  std::string declared, ahead, shared, turned, loads, stores;
  auto typeOf = [](Value buffer) {
    return cudaStorageType(cast<MemRefType>(buffer.getType()).getElementType());
  };
  for (auto &[buffer, access] : packed.buffers) {
    const std::string name = nameOf(buffer), one = "v" + std::to_string(numbers++);
    const std::string type = "pack<" + typeOf(buffer) + ", " + width + ">";
    places.push_back("(size_t)" + name);
    loads += "    " + type + " " + one + (access.isRead ? " = all" + one + "[r];\n" : ";\n");
    if (access.isRead) {
      declared +=
          "      " + type + " all" + one + "[" + std::to_string(TurnedTile::kRowsAtOnce) + "];\n";
      ahead += "          all" + one + "[r] = ((const " + type + " *)" + name + ")" + at + ";\n";
    }
    if (access.isWritten)
      stores += "    ((" + type + " *)" + name + ")" + at + " = " + one + ";\n";
    packedElements[buffer] = one + ".at[k]";
  }
  for (Value buffer : tile.buffers) {
    const std::string name = nameOf(buffer), one = "v" + std::to_string(numbers++);
    places.push_back("(size_t)" + name);
    shared += tileDeclaration(typeOf(buffer), one);
    turned += tileStores(typeOf(buffer), one, name, rows);
    packedElements[buffer] = one + "[k].at[g + r]";
  }
  // Text of the body, which the printer writes where it is.
  auto bodyOf = [&]() -> FailureOr<std::string> {
    const size_t start = text.size();
    ++depth;
    const LogicalResult printed = printBlock(*loop.getBody());
    printCarried(loop.getRegionIterArgs(), loop.getYieldedValues());
    --depth;
    std::string body = text.substr(start);
    text.resize(start);
    return failed(printed) ? FailureOr<std::string>(failure()) : FailureOr(std::move(body));
  };
  const std::string i = define(loop.getInductionVar());
  FailureOr<std::string> inTile = bodyOf();
  packedElements.clear();
  FailureOr<std::string> alone = bodyOf();
  if (failed(inTile) || failed(alone))
    return failure();
  line() << tilesText(places, rows, tile.columns, upper);
  line() << tileLoopText(lower, step, tile.columns) << shared
         << tileRowsText(declared, ahead,
                         loads + "#pragma unroll\n    for (int k = 0; k < " + width +
                             "; ++k) {\n    const index " + i +
                             " = ((first + g + r) * across + pack_column) * " + width + " + k;\n" +
                             *inTile + "    }\n" + stores)
         << turned;
  line() << "}\n";
  line() << "for (index " << i << " = tiles * " << TurnedTile::kRows * packed.width << " + "
         << lower << "; " << i << " < " << upper << "; " << i << " += " << step << ") {\n"
         << *alone;
  line() << "}\n";
  return success();
}
