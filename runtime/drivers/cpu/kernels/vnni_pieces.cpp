// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernels/vnni_tiles.h"

#include "runtime/drivers/cpu/kernels/int8_pieces.h"

namespace mpc::rt {

static void shift(const int8_t *numbers, int64_t count, uint8_t *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<uint8_t>(numbers[i] ^ Vnni::shift);
}

const Int8PieceKernel vnniPieces = {{sizeof(uint8_t), shift},
                                    PieceProduct<Vnni>::weightBytes,
                                    PieceProduct<Vnni>::packWeights,
                                    PieceProduct<Vnni>::multiply,
                                    PieceProduct<Vnni>::multiplyAndRequantize};

} // namespace mpc::rt
