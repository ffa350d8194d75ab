// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes that are written column after column, where others are row after row. A thread takes so
// many rows of a few columns that it writes 16 bytes at once: byte by byte each would be a sector
// of its own.
#ifndef MPC_LIB_CODEGEN_CUDA_TURNEDTILE_H
#define MPC_LIB_CODEGEN_CUDA_TURNEDTILE_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <optional>
#include <string>

namespace mpc {

struct TurnedTile {
  static constexpr unsigned kRows = 16, kColumns = 4;
  /// So many rows are under way at once: a row's store might be what the next one loads.
  static constexpr unsigned kRowsAtOnce = 4;

  llvm::SmallVector<mlir::Value> buffers; ///< arguments of the kernel
  int64_t columns = 0;                    ///< a multiple of kColumns
  mlir::Value rows;                       ///< a constant, or an argument of the kernel
};

/// The matrix that the ops of `body` write so as iteration `i`. None where there is none, or more
/// than one.
std::optional<TurnedTile> findTurnedTile(mlir::Block &body, mlir::Value i);

/// "const index tiles = ...", 0 where a tile would not be whole: `places` are addresses, `count`
/// says how many elements there are.
std::string tilesText(llvm::ArrayRef<std::string> places, llvm::StringRef rows, int64_t columns,
                      llvm::StringRef count);
/// The start of the loop over tiles: "for (index j = ...; ...) {", with the first row and column.
std::string tileLoopText(llvm::StringRef first, llvm::StringRef step, int64_t columns);
/// The loop over the rows of a tile, kRowsAtOnce at once: `declared` for these, `ahead` to load row
/// `r` of them, `step` what then happens in row `row + g + r`.
std::string tileRowsText(llvm::StringRef declared, llvm::StringRef ahead, llvm::StringRef step);
/// The columns of a buffer's tile, `name`, and their stores to the buffer `to`.
std::string tileDeclaration(llvm::StringRef type, llvm::StringRef name);
std::string tileStores(llvm::StringRef type, llvm::StringRef name, llvm::StringRef to,
                       llvm::StringRef rows);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_TURNEDTILE_H
