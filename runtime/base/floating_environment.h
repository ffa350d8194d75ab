// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The SSE control word. Inside a run denormals are flushed (FTZ) and read as zero (DAZ), as
// TensorFlow computes; the caller's word comes back afterwards.
#ifndef MPC_RUNTIME_BASE_FLOATING_ENVIRONMENT_H
#define MPC_RUNTIME_BASE_FLOATING_ENVIRONMENT_H

#include <xmmintrin.h>

namespace mpc::rt {

constexpr unsigned flushToZeroBit = 1u << 15;
constexpr unsigned denormalsAreZeroBit = 1u << 6;
// Round to nearest, every exception masked, whatever the caller had.
constexpr unsigned computingControlWord = 0x1f80u | flushToZeroBit | denormalsAreZeroBit;

class FlushDenormals {
public:
  FlushDenormals() : saved(_mm_getcsr()) { _mm_setcsr(computingControlWord); }
  ~FlushDenormals() { _mm_setcsr(saved); }
  FlushDenormals(const FlushDenormals &) = delete;
  FlushDenormals &operator=(const FlushDenormals &) = delete;
  unsigned callers() const { return saved; }

private:
  unsigned saved;
};

// Denormals are numbers, for what counts them inside a run.
class KeepDenormals {
public:
  KeepDenormals() : saved(_mm_getcsr()) {
    _mm_setcsr(computingControlWord & ~(flushToZeroBit | denormalsAreZeroBit));
  }
  ~KeepDenormals() { _mm_setcsr(saved); }
  KeepDenormals(const KeepDenormals &) = delete;
  KeepDenormals &operator=(const KeepDenormals &) = delete;

private:
  unsigned saved;
};

} // namespace mpc::rt

#endif
