// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `contract` service on the CPU: plans per (descriptor, batch), packed weights, conversions of
// 16-bit operands, epilogues.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACTOR_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACTOR_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/blocked_product.h"
#include "runtime/drivers/cpu/integer_weights.h"
#include "runtime/drivers/cpu/kernel_choices.h"
#include "runtime/drivers/cpu/onednn.h"
#include "runtime/drivers/cpu/packed_weights.h"
#include "runtime/drivers/cpu/row_passes.h"
#include "runtime/drivers/cpu/thread_team.h"
#include "runtime/drivers/kernel_log.h"
#include "runtime/drivers/row_loop.h"

#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace mpc::rt {

class Contractor {
public:
  // `choices` decide where they have one, else rules; which kernels multiplied goes to `products`.
  // `nativeBFloat16`: bfloat16 operands go to oneDNN as they are, instead of through float32.
  // oneDNN can do both everywhere, which is how tests reach both.
  // `exactInt8`: oneDNN multiplies int8; without, a loop of our own.
  // `ownKernels`: micro-kernels where they are faster; without, oneDNN multiplies everything.
  Contractor(ThreadTeam &team, int isa, KernelChoices &choices, KernelLog &log,
             bool nativeBFloat16 = onednn::hasNativeBFloat16(),
             bool exactInt8 = onednn::hasExactInt8(), bool ownKernels = true);

  // `weightsConstant`: packed copies of variables may be kept until forgetWeights().
  void setWeightsConstant(bool constant) { state.constant = constant; }
  void forgetWeights() noexcept { state.version++; }

  // `byRows`: of a loop over rows, by the kernel that contractRows() takes.
  mpc_rt_status_t contract(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                           const void *bias, void *out, const ContractionExtras &extras,
                           int64_t batch, bool byRows = false);
  // Takes the memory that contract() will need, and computes nothing.
  mpc_rt_status_t reserveFor(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                             const void *bias, void *out, const ContractionExtras &extras,
                             int64_t batch);
  // As Driver::contractMaster.
  mpc_rt_status_t contractMaster(const mpc_rt_contract_t &descriptor, const void *lhs,
                                 const void *master, const void *bias, void *out, int64_t batch,
                                 bool &done);
  // Packed weights with scales per block.
  mpc_rt_status_t contractBlocks(const mpc_rt_contract_t &descriptor, const void *lhs,
                                 const void *rhs, const BlockScales &blocks, const void *bias,
                                 void *out, int64_t batch);
  // Whether the loop's products, none of which has more than `mostProducts` multiplications, are
  // computed rows at a time by threads of their own, with the kernels that contract() takes. Then
  // what they share (packed weights) is there when it returns.
  // Without `packs` it takes the memory for that alone.
  bool prepareRows(const RowLoop &loop, int64_t mostProducts, bool packs = true);
  // Of the loop that was prepared last; by any number of threads at once.
  void contractRows(uint32_t product, const void *lhs, void *out, int64_t begin,
                    int64_t end) const {
    const RowProduct &own = rowProducts[product];
    own.blocked->runRows(own.shape, lhs, own.packed, own.bias, out, begin, end);
  }
  uint64_t bytes() const noexcept;

  // Whether the kernel of that name runs here, beside oneDNN's.
  bool hasKernel(const std::string &name) const;
  // The choices are others.
  void forgetPlans() noexcept { plans.clear(); }

  // What multiplied at the descriptor's last call with this batch: "amx_bfloat16", or oneDNN's name
  // of its kernel; "" for loops without a plan.
  const char *kernelOf(const mpc_rt_contract_t &descriptor, int64_t batch) const noexcept;

private:
  // How one contraction is done: `block` rows (or matrices, when batched) at a time.
  struct Plan {
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
    std::unique_ptr<onednn::Product> body, tail;
    BlockedProduct *blocked = nullptr; // instead of all this
  };
  struct PlanKey {
    uint32_t id;
    bool constant, largest, launches, byRows;
    int64_t batch;
    bool operator==(const PlanKey &other) const {
      return id == other.id && constant == other.constant && largest == other.largest &&
             launches == other.launches && byRows == other.byRows && batch == other.batch;
    }
  };
  struct PlanKeyHash {
    size_t operator()(const PlanKey &key) const {
      return ((static_cast<size_t>(key.batch) * 2 + key.constant) * 2 + key.largest) *
                 0x9E3779B97F4A7C15u +
             key.id;
    }
  };
  // Of a loop whose rows are split.
  struct RowProduct {
    Contraction shape;
    const BlockedProduct *blocked = nullptr;
    const void *packed = nullptr; // rhs
    const float *bias = nullptr;
    Buffer ownRhs, ownBias; // what no variable keeps
  };
  // A variable, how it lies in memory, and the layout (or kernel) that it is packed for.
  using PackedKey = std::tuple<int32_t, bool, int64_t, int64_t, const void *>;

  bool prepareProduct(const RowLoop &loop, const mpc_rt_rows_product_t &product,
                      int64_t mostProducts, bool packs, RowProduct &prepared);
  // Notes what would multiply integers; nothing where their values decide.
  void listIntegers(const mpc_rt_contract_t &descriptor, const Contraction &shape, int64_t batch);
  void reserveRounded(const Contraction &c);
  void reserveBias(const Contraction &shape);
  void reserveBlocked(Plan &plan, const mpc_rt_contract_t &descriptor, void *out,
                      const ContractionExtras &extras);
  void reserveProducts(Plan &plan, const mpc_rt_contract_t &descriptor, void *out);
  bool isFewRows(const mpc_rt_contract_t &descriptor, const Contraction &shape) const;
  // `kernel` on the result may be null. `isMaster`: rhs is float32, to be rounded to what the shape
  // says.
  void contractRows(const Contraction &shape, const void *lhs, const void *rhs, const void *bias,
                    void *out, const ResultKernel *kernel, bool isMaster = false);
  bool takesInt8Kernel(const mpc_rt_contract_t &descriptor, const Contraction &shape) const;
  bool runsInt8Kernel(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                      int64_t batch) const;
  void multiplyInt8(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                    const int8_t *lhs, const int8_t *rhs, int32_t *out);
  // oneDNN's plan, if it multiplies int8 fast here.
  Plan *findInt8Plan(const mpc_rt_contract_t &descriptor, const Contraction &shape, int64_t batch);
  // The name of the kernel.
  const char *contractIntegers(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                               const void *lhs, const void *rhs, void *out, int64_t batch);
  // Floating rows by integer weights that are read as tiles.
  void contractTiles(const mpc_rt_contract_t &descriptor, const Contraction &shape, const void *lhs,
                     const void *rhs, const BlockScales *blocks, const void *bias, void *out);
  // The product with a copy of the weights in the type of lhs, from where the usual ways go on.
  mpc_rt_status_t contractCopy(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                               const void *lhs, const void *rhs, const BlockScales *blocks,
                               const void *bias, void *out, const ContractionExtras &extras,
                               int64_t batch);
  // The lhs in the dtype that is multiplied, where that is not how it lies in memory.
  const void *roundLhs(const Contraction &shape, const void *lhs);
  Plan &findPlan(const mpc_rt_contract_t &descriptor, const Contraction &shape, bool findLargest,
                 bool launches, int64_t batch, bool byRows = false);
  void choose(Plan &plan, bool keepWeights);
  void makeProducts(Plan &plan);
  std::unique_ptr<onednn::Product> makeProduct(const Plan &plan, int64_t units) const;
  std::shared_ptr<onednn::PackedLayout> layout(int64_t k, int64_t n, onednn::Element element);

  void execute(Plan &plan, const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
               const void *bias, void *out, const ContractionExtras &extras);
  // Bits of the rows [first, first + rows) of the result, which are at `values`.
  void applyBits(const Contraction &shape, const ReluBits &bits, int64_t first, void *values,
                 int64_t rows);
  uint32_t largestOf(mpc_rt_dtype_t dtype, const void *values, int64_t count);
  // The low bytes: as wide as an element.
  static void storeLargest(mpc_rt_dtype_t dtype, uint64_t bits, void *largest);
  // `out`, or memory for a result that its kernel consumes.
  void *placeOf(const Contraction &shape, void *out);
  // The product that could multiply this; null if oneDNN alone can.
  BlockedProduct *findBlocked(const Contraction &shape) const;
  std::unique_ptr<Plan> makePlan(const Contraction &shape, bool rhsKept, bool findLargest,
                                 bool launches, BlockedProduct *blocked);
  void list(const mpc_rt_contract_t &descriptor, const Contraction &shape, int64_t batch,
            const char *kernel) {
    log.note(descriptor.id, batch, descriptor.layer, shape, *kernel ? kernel : "loop");
  }
  // Runs the contraction by each kernel, into memory of its own, and keeps the fastest.
  void measure(const mpc_rt_contract_t &descriptor, const Contraction &shape, const void *lhs,
               const void *rhs, const void *bias, const ReluBits &bits, int64_t batch);
  // The same for int8.
  void measureIntegers(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                       const int8_t *lhs, const int8_t *rhs, int64_t batch);
  // Copies of a variable for kernels that were slower are for nobody.
  void dropPacked(int32_t variable);
  void executeBlocked(Plan &plan, const mpc_rt_contract_t &descriptor, const void *lhs,
                      const void *rhs, const void *bias, void *out,
                      const ContractionExtras &extras);
  // What nothing computes on the way, of the whole result and rhs.
  void finish(const Contraction &shape, const void *rhs, void *out,
              const ContractionExtras &extras);
  void sumColumns(const Contraction &shape, const void *rhs, void *sums);
  const void *prepareRhs(Plan &plan, int32_t variable, const void *rhs);
  // A variable as `product` reads it in every step of a loop.
  const void *packForSteps(int32_t variable, const Contraction &shape, BlockedProduct &product,
                           const void *rhs, bool packs);
  // The packed copy of a variable, if there is one. Otherwise null: `keep` then says whether the
  // copy that the caller makes is worth keeping.
  const void *findPacked(PackedWeights &entry, bool &keep);
  // Calls pack(to) on memory for `bytes`, the entry's if the copy is to be kept.
  template <typename Pack>
  const void *packInto(PackedWeights *entry, bool keep, uint64_t bytes, const Pack &pack);
  const void *prepareLhs(const Plan &plan, const void *lhs, int64_t first, int64_t units);
  const float *prepareBias(const Contraction &shape, const void *bias);
  // `sums` in float32, or null where `out` holds them rounded.
  void applyEpilogue(const Contraction &shape, const float *sums, const float *bias, void *out,
                     int64_t rows);
  void widen(mpc_rt_dtype_t dtype, const void *from, float *to, uint64_t count) {
    widenElements(team, kernels, dtype, from, to, static_cast<int64_t>(count));
  }

  ThreadTeam &team;
  const VectorKernels &kernels;
  KernelChoices &choices;
  KernelLog &log;
  bool nativeBFloat16, exactInt8, vectors256;
  const Int8Kernel *int8Kernel; // null: int8 is left to oneDNN and a plain loop
  WeightState state;
  IntegerWeights integerWeights;
  std::unordered_map<PlanKey, std::unique_ptr<Plan>, PlanKeyHash> plans;
  std::map<std::tuple<int64_t, int64_t, onednn::Element>, std::shared_ptr<onednn::PackedLayout>>
      layouts;
  std::map<PackedKey, PackedWeights> weights;
  const PackedWeights *packedOnceHolds = nullptr;
  Buffer lhsBlock, rhsWhole, packedOnce, sumBlock, biasWide, libraryScratch, consumedResult,
      lhsRounded;
  std::vector<RowProduct> rowProducts;
  std::unique_ptr<BlockedProduct> bfloat16Product, float32Product; // null: left to oneDNN
};

template <typename Pack>
const void *Contractor::packInto(PackedWeights *entry, bool keep, uint64_t bytes,
                                 const Pack &pack) {
  Buffer &target = keep ? entry->buffer : packedOnce;
  if (!keep)
    packedOnceHolds = nullptr; // until it is packed: that may fail
  reserve(target, bytes);
  pack(target.data());
  if (keep)
    entry->keptVersion = state.version;
  else
    packedOnceHolds = entry;
  return target.data();
}

// Products of int8 into int32: exact, sums wrap around. `avx2`: the CPU has it.
void contractInt8(ThreadTeam &team, bool avx2, const Contraction &shape, const int8_t *lhs,
                  const int8_t *rhs, int32_t *out);

// Products with a float64 operand or result: a plain blocked loop, sums in float64.
void contractFloat64(ThreadTeam &team, const Contraction &shape, const void *lhs, const void *rhs,
                     const void *bias, void *out);

} // namespace mpc::rt

#endif
