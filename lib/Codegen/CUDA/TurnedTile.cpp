// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Codegen/CUDA/TurnedTile.h"
#include "lib/Codegen/CUDA/ElementAccess.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mpc/Analysis/TurnedPlace.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpc;
using llvm::formatv;

std::optional<TurnedTile> mpc::findTurnedTile(Block &body, Value i) {
  TurnedTile tile;
  for (auto store : body.getOps<memref::StoreOp>()) {
    const auto place = findTurnedPlace(store, i);
    if (!place)
      continue;
    const bool isFirst = tile.buffers.empty();
    const bool isKnown = isa<BlockArgument>(place->rows) || getConstantIntValue(place->rows);
    if (!isKnown || bytesOf(store.getMemRefType()) != 1 ||
        place->columns % TurnedTile::kColumns != 0 ||
        (!isFirst && (tile.rows != place->rows || tile.columns != place->columns)))
      return std::nullopt;
    tile.buffers.push_back(store.getMemRef());
    tile.columns = place->columns;
    tile.rows = place->rows;
  }
  return tile.buffers.empty() ? std::nullopt : std::optional(tile);
}

std::string mpc::tilesText(ArrayRef<std::string> places, StringRef rows, int64_t columns,
                           StringRef count) {
  constexpr unsigned kNumbers = TurnedTile::kRows * TurnedTile::kColumns;
  return formatv(
             "const index tiles = ({0}) % 16 == 0 && {1} % {2} == 0 && {1} * {3}ll == {4} ? {4} "
             "/ {5} : 0;\n",
             llvm::join(places, " | "), rows, TurnedTile::kRows, columns, count, kNumbers)
      .str();
}

std::string mpc::tileLoopText(StringRef first, StringRef step, int64_t columns) {
  return formatv("for (index j = {0}; j < tiles; j += {1}) {{\n"
                 "    const index across = {2}, first = divided(j, across) * {3};\n"
                 "    const index pack_column = j % across;\n",
                 first, step, columns / TurnedTile::kColumns, TurnedTile::kRows)
      .str();
}

std::string mpc::tileRowsText(StringRef declared, StringRef ahead, StringRef step) {
  return formatv("#pragma unroll\n"
                 "    for (int g = 0; g < {0}; g += {1}) {{\n"
                 "{2}"
                 "#pragma unroll\n"
                 "      for (int r = 0; r < {1}; ++r) {{\n"
                 "{3}"
                 "      }\n"
                 "#pragma unroll\n"
                 "      for (int r = 0; r < {1}; ++r) {{\n"
                 "{4}"
                 "      }\n"
                 "    }\n",
                 TurnedTile::kRows, TurnedTile::kRowsAtOnce, declared, ahead, step)
      .str();
}

static std::string columnType(StringRef type) {
  return formatv("pack<{0}, {1}>", type, TurnedTile::kRows).str();
}

std::string mpc::tileDeclaration(StringRef type, StringRef name) {
  return formatv("    {0} {1}[{2}];\n", columnType(type), name, TurnedTile::kColumns).str();
}

std::string mpc::tileStores(StringRef type, StringRef name, StringRef to, StringRef rows) {
  return formatv("#pragma unroll\n"
                 "    for (int k = 0; k < {0}; ++k)\n"
                 "      *({1} *)({2} + (pack_column * {0} + k) * {3} + first) = {4}[k];\n",
                 TurnedTile::kColumns, columnType(type), to, rows, name)
      .str();
}
