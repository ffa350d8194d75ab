// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How oneDNN does one contraction: in which blocks, and what is packed and widened before.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_LIBRARY_PLAN_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_LIBRARY_PLAN_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/onednn/onednn.h"

#include <map>
#include <memory>
#include <tuple>

namespace mpc::rt {

// `block` rows (or matrices, when batched) at a time.
struct LibraryPlan {
  Contraction shape;
  onednn::Element element = onednn::Element::float32;
  bool batched = false;
  bool widenLhs = false;       // lhs blocks are converted to float32 first
  bool widenRhs = false;       // rhs is converted to float32 as a whole, unpacked
  bool throughScratch = false; // the product goes to a float32 block, the epilogue to out
  bool roundsSums = false;     // oneDNN stores bfloat16, where the epilogue is applied
  bool epilogue = false;
  bool addBias = false;         // by oneDNN itself
  bool findLargest = false;     // while a block of the result is in cache
  bool launches = false;        // a kernel on each block of it
  int64_t units = 0, block = 0; // rows or matrices
  std::shared_ptr<onednn::PackedLayout> packed;
  std::unique_ptr<onednn::Product> body, tail; // null of empty sums

  int64_t unitRows() const { return batched ? shape.m : 1; }
  // The sums of a block go to a buffer.
  bool buffersSums() const { return throughScratch || (shape.k == 0 && shape.accumulate); }
};

// A plan depends on these, too, not on the shape alone.
struct LibraryPlanUse {
  bool keepsWeights, findsLargest, launches;
};

class LibraryPlanner {
public:
  LibraryPlanner(unsigned threads, bool nativeBFloat16)
      : threads(threads), nativeBFloat16(nativeBFloat16) {}

  std::unique_ptr<LibraryPlan> make(const Contraction &shape, const LibraryPlanUse &use);

private:
  void choose(LibraryPlan &plan, bool keepWeights);
  void chooseIntegers(LibraryPlan &plan, bool keepWeights);
  void chooseBlock(LibraryPlan &plan) const;
  void makeProducts(LibraryPlan &plan);
  std::unique_ptr<onednn::Product> makeProduct(const LibraryPlan &plan, int64_t units) const;
  std::shared_ptr<onednn::PackedLayout> layout(int64_t k, int64_t n, onednn::Element element);

  const int64_t threads;
  const bool nativeBFloat16;
  std::map<std::tuple<int64_t, int64_t, onednn::Element>, std::shared_ptr<onednn::PackedLayout>>
      layouts;
};

} // namespace mpc::rt

#endif
