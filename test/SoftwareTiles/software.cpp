// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/SoftwareTiles/software.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace mpc::tiles {
namespace {

constexpr int tileCount = 8, mostRows = 16, mostRowBytes = 64;

// As LDTILECFG reads it.
struct Configuration {
  uint8_t palette = 0, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(Configuration) == 64);

[[noreturn]] void fault(const char *instruction, const char *what) {
  std::fprintf(stderr, "software tiles: %s: %s\n", instruction, what);
  std::abort();
}

struct alignas(64) Tile {
  uint32_t words[mostRows][mostRowBytes / 4];
};

// Palette 0: tiles are not configured.
struct State {
  Configuration configuration;
  Tile tiles[tileCount] = {};

  // A thread that ends in between has left a kernel without its `leave`.
  ~State() {
    if (configuration.palette)
      fault("end of a thread", "tiles are configured; expected TILERELEASE before");
  }
  int64_t rows(int tile) const { return configuration.rows[tile]; }
  int64_t rowBytes(int tile) const { return configuration.rowBytes[tile]; }
};

thread_local State state;
std::atomic<bool> permitted{false};
std::atomic<uint64_t> products{0};

void checkPermission(const char *instruction) {
  if (!permitted.load(std::memory_order_relaxed))
    fault(instruction, "tiles were not requested of Linux (ARCH_REQ_XCOMP_PERM)");
}

void checkTile(const char *instruction, int tile) {
  checkPermission(instruction);
  if (!state.configuration.palette)
    fault(instruction, "tiles are not configured; expected LDTILECFG before");
  if (tile < 0 || tile >= tileCount)
    fault(instruction, "there are 8 tiles");
  if (!state.configuration.rows[tile])
    fault(instruction, "the configuration does not have the tile");
}

bool anySet(const void *from, const void *to) {
  for (const auto *at = static_cast<const uint8_t *>(from); at < to; ++at)
    if (*at)
      return true;
  return false;
}

// The instruction neither reads nor writes MXCSR: denormals are zeros, rounding is to nearest even,
// nothing is raised. Compilers do not know that arithmetic depends on it; what `memory` says keeps
// a call in its place.
class NoDenormals {
public:
  NoDenormals() : saved(_mm_getcsr()) { set(0x9fc0); }
  ~NoDenormals() { set(saved); }
  NoDenormals(const NoDenormals &) = delete;
  NoDenormals &operator=(const NoDenormals &) = delete;

private:
  static void set(unsigned word) { __asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory"); }
  const unsigned saved;
};

// Both halves of a pair are summed apart, from zero, and added to the tile at the end.
__attribute__((target("avx512f"), noinline)) void addProducts(Tile &sums, int64_t rows,
                                                              __mmask16 columns, const Tile &lhs,
                                                              int64_t pairs, const Tile &rhs) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  for (int64_t row = 0; row < rows; ++row) {
    __m512 even = _mm512_setzero_ps(), odd = even;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const __m512i left = _mm512_set1_epi32(static_cast<int>(lhs.words[row][pair]));
      const __m512i right = _mm512_load_si512(rhs.words[pair]);
      even = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(left, 16)),
                             _mm512_castsi512_ps(_mm512_slli_epi32(right, 16)), even);
      odd = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(left, upper)),
                            _mm512_castsi512_ps(_mm512_and_si512(right, upper)), odd);
    }
    const __m512 before = _mm512_load_ps(sums.words[row]);
    _mm512_store_ps(sums.words[row],
                    _mm512_maskz_add_ps(columns, before, _mm512_add_ps(even, odd)));
  }
}

// All products want this of their tiles.
void beginProduct(const char *instruction, int sums, int lhs, int rhs) {
  for (int tile : {sums, lhs, rhs}) {
    checkTile(instruction, tile);
    if (state.rowBytes(tile) % 4)
      fault(instruction, "a tile has rows that are not whole numbers of 32 bits");
  }
  if (sums == lhs || sums == rhs || lhs == rhs)
    fault(instruction, "the three tiles are not different ones");
  if (state.rows(sums) != state.rows(lhs) || state.rowBytes(sums) != state.rowBytes(rhs) ||
      state.rowBytes(lhs) != state.rows(rhs) * 4)
    fault(instruction, "the tiles' shapes do not belong together");
  products.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

void permit() { permitted = true; }

void loadConfiguration(const void *from) {
  checkPermission("LDTILECFG");
  Configuration next;
  std::memcpy(&next, from, sizeof(next));
  state.configuration = {};
  std::memset(state.tiles, 0, sizeof(state.tiles));
  if (next.palette == 0)
    return;
  if (next.palette != 1)
    fault("LDTILECFG", "there is no palette but 1");
  if (next.startRow)
    fault("LDTILECFG", "a row to go on with, which is the kernel's business");
  if (anySet(next.reserved, next.rowBytes) || anySet(next.rowBytes + tileCount, next.rows) ||
      anySet(next.rows + tileCount, &next + 1))
    fault("LDTILECFG", "reserved bytes are not zero");
  for (int tile = 0; tile < tileCount; ++tile)
    if (next.rows[tile] > mostRows || next.rowBytes[tile] > mostRowBytes ||
        !next.rows[tile] != !next.rowBytes[tile])
      fault("LDTILECFG", "a tile has up to 16 rows of up to 64 bytes, or neither");
  state.configuration = next;
}

void storeConfiguration(void *to) {
  checkPermission("STTILECFG");
  std::memcpy(to, &state.configuration, sizeof(state.configuration));
}

void release() {
  checkPermission("TILERELEASE");
  state.configuration = {};
  std::memset(state.tiles, 0, sizeof(state.tiles));
}

void zero(int tile) {
  checkTile("TILEZERO", tile);
  std::memset(&state.tiles[tile], 0, sizeof(Tile));
}

void load(int tile, const void *from, size_t stride) {
  checkTile("TILELOADD", tile);
  zero(tile);
  for (int64_t row = 0; row < state.rows(tile); ++row)
    std::memcpy(state.tiles[tile].words[row],
                static_cast<const uint8_t *>(from) + row * static_cast<int64_t>(stride),
                static_cast<size_t>(state.rowBytes(tile)));
}

void store(int tile, void *to, size_t stride) {
  checkTile("TILESTORED", tile);
  for (int64_t row = 0; row < state.rows(tile); ++row)
    std::memcpy(static_cast<uint8_t *>(to) + row * static_cast<int64_t>(stride),
                state.tiles[tile].words[row], static_cast<size_t>(state.rowBytes(tile)));
}

void multiplyBFloat16(int sums, int lhs, int rhs) {
  beginProduct("TDPBF16PS", sums, lhs, rhs);
  const NoDenormals without;
  addProducts(state.tiles[sums], state.rows(sums),
              static_cast<__mmask16>((1u << state.rowBytes(sums) / 4) - 1), state.tiles[lhs],
              state.rowBytes(lhs) / 4, state.tiles[rhs]);
}

void multiplyInt8(int sums, int lhs, int rhs) {
  beginProduct("TDPBSSD", sums, lhs, rhs);
  const auto byteOf = [](uint32_t word, int i) {
    return static_cast<int32_t>(static_cast<int8_t>(word >> (8 * i)));
  };
  for (int64_t row = 0; row < state.rows(sums); ++row)
    for (int64_t four = 0; four < state.rows(rhs); ++four)
      for (int64_t column = 0; column < state.rowBytes(sums) / 4; ++column)
        for (int i = 0; i < 4; ++i)
          state.tiles[sums].words[row][column] +=
              static_cast<uint32_t>(byteOf(state.tiles[lhs].words[row][four], i) *
                                    byteOf(state.tiles[rhs].words[four][column], i));
}

uint64_t countProducts() { return products.load(); }

} // namespace mpc::tiles
