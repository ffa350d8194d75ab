// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of elements: one element is a function, which threads call for packs of neighbours, for
// rows of packs, or for tiles of what is turned.
#include "lib/Codegen/CUDA/KernelPrinter.h"
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "lib/Codegen/CUDA/TurnedTile.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

LogicalResult KernelPrinter::printElements(bool asStage) {
  // A stage's name differs: a kernel may be printed as both.
  std::string one = (kernel.getSymName() + (asStage ? "_body" : "") + "_element").str();
  std::string list = parameters(/*ofElement=*/true);
  SmallVector<std::string> neighbours;
  if (access->column)
    names[access->column] = "column";
  if (access->row)
    names[access->row] = "row";
  for (memref::LoadOp load : access->neighbours) {
    auto place = element(load.getMemRef(), load.getIndices());
    if (failed(place))
      return load.emitOpError("has a stride that is not known at compile time");
    std::string name = "b" + std::to_string(neighbours.size());
    neighbours.push_back(*place);
    names[load.getResult()] = name;
    list += "const " + cudaStorageType(load.getType()) + " &" + name + ", ";
  }
  os << "static __device__ inline void " << one << "(" << list << "const index i"
     << (access->row ? ", const index row" : "") << (access->column ? ", const index column" : "")
     << ") {\n";
  depth = 1;
  if (failed(printBlock(kernel.getBody().front())))
    return failure();
  os << "}\n";

  printStart(asStage);
  const std::string width = std::to_string(access->width);
  auto packOf = [&](Type type) { return "pack<" + cudaStorageType(type) + ", " + width + ">"; };
  SmallVector<std::string> places;
  const bool takesRows = access->sharesNeighbours() && !asStage; // stages have few elements
  const std::string rowsOfTurned = access->turnedRows ? nameOf(access->turnedRows) : "";
  const bool takesTiles = !rowsOfTurned.empty();
  const std::string ahead =
      takesTiles ? "(first + g + r) * across + pack_column" : "(row + r) * across + j % across";
  std::string loads, stores, ofPack, ofRest;
  RowsOfThread text;
  for (auto [i, argument, buffer] :
       llvm::enumerate(kernel.getArguments().drop_back(2), access->buffers)) {
    std::string a = "a" + std::to_string(i), p = "p" + std::to_string(i);
    if (buffer.isTurned) {
      const std::string type =
          cudaStorageType(cast<MemRefType>(argument.getType()).getElementType());
      places.push_back("(size_t)" + a);
      text.shared += tileDeclaration(type, p);
      text.turned += tileStores(type, p, a, rowsOfTurned);
      ofPack += p + "[k].at[g + r], ";
      ofRest += a + "[column * " + rowsOfTurned + " + row], ";
      continue;
    }
    if (buffer.isElement) {
      std::string pack = packOf(cast<MemRefType>(argument.getType()).getElementType());
      places.push_back("(size_t)" + a);
      const std::string from = "((const " + pack + " *)" + a + ")";
      loads += "    " + pack + " " + p +
               (!buffer.isRead            ? ";\n"
                : takesRows || takesTiles ? " = all" + p + "[r];\n"
                                          : " = " + from + "[i];\n");
      if (buffer.isRead) {
        text.declared += "      " + pack + " all" + p + "[" +
                         (takesTiles ? std::to_string(TurnedTile::kRowsAtOnce) : "at_once") +
                         "];\n";
        text.ahead += "          all" + p + "[r] = " + from + "[" + ahead + "];\n";
      }
      if (buffer.isWritten)
        stores += "    ((" + pack + " *)" + a + ")[i] = " + p + ";\n";
    }
    ofPack += (buffer.isElement ? p + ".at[k]" : a) + ", ";
    ofRest += (buffer.isElement ? a + "[i]" : a) + ", ";
  }
  for (auto [j, load] : llvm::enumerate(access->neighbours)) {
    std::string pack = packOf(load.getType()), b = "b" + std::to_string(j);
    if (std::string a = "(size_t)" + nameOf(load.getMemRef()); !llvm::is_contained(places, a))
      places.push_back(a);
    text.shared +=
        "    const " + pack + " " + b + " = *(const " + pack + " *)&" + neighbours[j] + ";\n";
    ofPack += b + ".at[k], ";
    ofRest += neighbours[j] + ", ";
  }
  auto rows = [&](const std::string &first) {
    std::string extent = std::to_string(access->extent), text;
    if (access->row)
      text += "    const index row = " + first + " / " + extent + ";\n";
    if (access->column)
      text += "    const index column = " + first + " % " + extent + ";\n";
    return text;
  };
  const std::string atRow = !access->row ? ""
                            : takesTiles ? ", first + g + r"
                            : takesRows  ? ", row + r"
                                         : ", row";
  text.step = loads + "#pragma unroll\n    for (int k = 0; k < " + width + "; ++k)\n      " + one +
              "(" + ofPack + "i * " + width + " + k" + atRow +
              (access->column ? ", column + k" : "") + ");\n" + stores;
  if (takesTiles)
    os << "  " << tilesText(places, rowsOfTurned, access->extent, "count");
  else
    os << "  const index packs = (" << llvm::join(places, " | ") << ") % 16 == 0 ? count / "
       << width << " : 0;\n";
  if (takesTiles)
    printTiles(text, asStage);
  else if (takesRows)
    printRowsOfThread(text);
  else
    os << "  for (index i = " << firstOf("first_index", asStage)
       << "; i < packs; i += index_step()) {\n"
       << rows("(unsigned long long)(i * " + width + ")") << text.shared << text.step << "  }\n";
  const std::string done = takesTiles
                               ? "tiles * " + std::to_string(TurnedTile::kRows * access->width)
                           : takesRows ? "rows * " + std::to_string(access->extent)
                                       : "packs * " + width;
  os << "  for (index i = " << done << " + " << firstOf("first_index", asStage)
     << "; i < count; i += index_step())" << (access->column ? " {" : "") << "\n"
     << rows("(unsigned long long)i") << "    " << one << "(" << ofRest << "i"
     << (access->row ? ", row" : "") << (access->column ? ", column" : "") << ");\n"
     << (access->column ? "  }\n" : "") << "}\n";
  return success();
}

void KernelPrinter::printRowsOfThread(const RowsOfThread &text) {
  os << "  const index across = " << access->extent / access->width
     << ", rows = packs / across, depth = rows_of_thread(packs);\n"
     << "  const index tiles = divided(rows + depth - 1, depth) * across;\n"
     << "  const int at_once = " << TurnedTile::kRowsAtOnce << ";\n"
     << "  for (index j = first_index(); j < tiles; j += index_step()) {\n"
     << "    const index first = j / across * depth, column = j % across * " << access->width
     << ";\n"
     << "    const index end = first + depth < rows ? first + depth : rows;\n"
     << text.shared << "    for (index row = first; row < end; row += at_once) {\n"
     << text.declared << "#pragma unroll\n      for (int r = 0; r < at_once; ++r)\n"
     << "        if (row + r < end) {\n"
     << text.ahead << "        }\n"
     << "#pragma unroll\n      for (int r = 0; r < at_once; ++r)\n"
     << "        if (row + r < end) {\n"
     << "    const index i = (row + r) * across + j % across;\n"
     << text.step << "        }\n    }\n  }\n";
}

void KernelPrinter::printTiles(const RowsOfThread &text, bool asStage) {
  os << "  " << tileLoopText(firstOf("first_index", asStage), "index_step()", access->extent)
     << "    const index column = pack_column * " << access->width << ";\n"
     << text.shared
     << tileRowsText(text.declared, text.ahead,
                     "    const index i = (first + g + r) * across + pack_column;\n" + text.step)
     << text.turned << "  }\n";
}
