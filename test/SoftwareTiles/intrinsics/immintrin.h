// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands before the compiler's own header where sources are built for software tiles: the names of
// the intrinsics that only a CPU with AMX runs mean functions of software.h. One that is not here
// fails to compile, since these sources are built without -mamx-*.
#ifndef MPC_TEST_SOFTWARETILES_INTRINSICS_IMMINTRIN_H
#define MPC_TEST_SOFTWARETILES_INTRINSICS_IMMINTRIN_H

#include_next <immintrin.h>

#include "test/SoftwareTiles/software.h"

#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbssd

#define _tile_loadconfig mpc::tiles::loadConfiguration
#define _tile_storeconfig mpc::tiles::storeConfiguration
#define _tile_release mpc::tiles::release
#define _tile_zero mpc::tiles::zero
#define _tile_loadd mpc::tiles::load
#define _tile_stream_loadd mpc::tiles::load
#define _tile_stored mpc::tiles::store
#define _tile_dpbf16ps mpc::tiles::multiplyBFloat16
#define _tile_dpbssd mpc::tiles::multiplyInt8
#define _mm512_cvtne2ps_pbh mpc::tiles::roundToBFloat16

#endif
