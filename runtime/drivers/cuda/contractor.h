// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `contract` service on a GPU: cuBLASLt, with plans per descriptor and batch.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CONTRACTOR_H
#define MPC_RUNTIME_DRIVERS_CUDA_CONTRACTOR_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cuda/algorithm_cache.h"
#include "runtime/drivers/cuda/cublaslt_api.h"
#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/drivers/kernel_log.h"

#include <array>
#include <map>
#include <tuple>
#include <vector>

namespace mpc::rt::cuda {

// The owner of a product: ids of contractions, convolutions and attentions count apart.
enum class ProductKind { contraction, convolution, attention };

// A plan belongs to one of these: kind, id of the descriptor, batch, product or piece among those
// of the descriptor.
using ProductKey = std::tuple<ProductKind, uint32_t, int64_t, int>;

// cuBLASLt's number of a dtype; false when it has none.
bool dataType(mpc_rt_dtype_t dtype, lt::DataType &type);

class Contractor {
public:
  Contractor(DeviceSession &session, KernelTable &kernels, KernelLog &log, bool tf32)
      : session(session), kernels(kernels), log(log), tf32(tf32),
        workspace(session, Memory::Kind::device) {}
  ~Contractor();
  Contractor(const Contractor &) = delete;
  Contractor &operator=(const Contractor &) = delete;

  // Opens the library and takes its workspace.
  mpc_rt_status_t open();
  // A checked contraction. What cuBLASLt does not do beside the product, kernels of the artifact
  // do.
  mpc_rt_status_t contract(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call);
  // A checked product. What cuBLASLt does not take, a kernel of the artifact does.
  mpc_rt_status_t multiply(const ProductKey &key, const Contraction &shape, const void *lhs,
                           const void *rhs, const void *bias, void *out, const char *layer);
  // Whether cuBLASLt multiplies these floating dtypes.
  static bool takes(mpc_rt_dtype_t lhs, mpc_rt_dtype_t rhs, mpc_rt_dtype_t out,
                    mpc_rt_dtype_t bias);
  // Whether it multiplies these integers.
  static bool takesIntegers(const Contraction &shape);
  // Whether it multiplies these codes of float8, on a GPU that has such Tensor Cores.
  static bool takesFloat8(const Contraction &shape);
  // Whether it multiplies this product at all.
  static bool takesProduct(const Contraction &shape);
  uint64_t bytes() const { return workspace.size(); }

private:
  // Everything of a product but its addresses.
  struct Plan {
    Contraction shape;
    lt::MatmulDesc desc = nullptr;
    lt::Layout a = nullptr, b = nullptr, d = nullptr;
    lt::Heuristic choice = {};
    uint32_t epilogue = lt::epilogueDefault; // what the product does; kernels do the rest
    lt::DataType factors = lt::r32f;         // type of the sums' factors
    std::array<uint32_t, 4> alignments = {}; // of lhs, rhs, out and sums, in bytes

    bool does(lt::Epilogue part) const { return (epilogue & part) == part; }
  };
  struct Operands {
    const void *lhs, *rhs, *bias;
    void *out;
    ReluBits bits;
    GeluArguments gelu = {};
    void *sums = nullptr; // of the columns of rhs
  };
  // Describes the product without an epilogue, anew.
  mpc_rt_status_t describe(Plan &plan, const char *layer) const;
  // The algorithm of a described plan: what was chosen before for such a product, else what the
  // library's heuristic says.
  mpc_rt_status_t choose(Plan &plan, const char *layer);
  // A description and an algorithm with as much in the epilogue as the library has and does as it
  // should.
  mpc_rt_status_t chooseEpilogue(Plan &plan, const Operands &operands, const char *layer);
  mpc_rt_status_t setEpilogue(Plan &plan, uint32_t epilogue, const Operands &operands,
                              const char *layer) const;
  // Sets the memory that an epilogue reads or writes beside the result: bits of relu, or arguments
  // of gelu.
  mpc_rt_status_t setBeside(const Plan &plan, const Operands &operands, const char *layer) const;
  mpc_rt_status_t setSums(const Plan &plan, const Operands &operands, const char *layer) const;
  // These properties are documented nowhere, so that they are tried with the product itself
  // (epilogue_trials.cpp): whether relu leaves NaN as it is, which bits it makes, and what it makes
  // of those that it is given; what gelu and its derivative make of numbers where approximations
  // differ; whether sums of columns are those of all rows, as they are in memory
  // (column_sums_trial.cpp).
  bool keepsNaN(const Plan &plan, Operands operands);
  bool makesBits(const Plan &plan, Operands operands);
  bool followsBits(const Plan &plan, Operands operands);
  bool appliesGelu(const Plan &plan, Operands operands);
  bool appliesGeluGradient(const Plan &plan, Operands operands);
  bool sumsColumns(const Plan &plan, Operands operands);
  // The trial of sums writes its right operand so, whose rows repeat before the last one.
  bool writeRows(const Plan &plan, const Memory &rhs, const std::vector<uint8_t> &repeated,
                 const std::vector<uint8_t> &last) const;
  // Whether the library's derivative of relu costs less than a kernel behind the product: for some
  // dtypes it has none in its products and passes over the result with a slow one
  // (epilogue_times.cpp).
  bool isWorthwhile(const Plan &plan, const Operands &operands, const char *layer);
  bool issueKnown(const Plan &plan, Operands operands, const std::vector<double> &first);
  bool readBack(void *host, const void *device, uint64_t bytes);
  // The product, into `kept` where gelu is left to a kernel, and nothing behind it.
  mpc_rt_status_t product(const ProductKey &key, const Contraction &shape, const Operands &operands,
                          uint32_t &epilogue, const char *layer);
  mpc_rt_status_t issue(const Plan &plan, const Operands &operands, const char *layer) const;
  std::string keyOf(const Plan &plan) const;
  bool chooseKnown(Plan &plan, const std::string &key) const;
  int askHeuristic(Plan &plan, int &found) const;
  // Kernels compute the parts that `epilogue` does not have.
  mpc_rt_status_t finish(const Contraction &shape, const Operands &operands, uint32_t epilogue);
  mpc_rt_status_t byKernel(const Contraction &shape, const Operands &operands);
  mpc_rt_status_t check(int result, const char *layer, const char *what) const;
  void release(Plan &plan) const;

  DeviceSession &session;
  KernelTable &kernels;
  KernelLog &log;
  bool tf32;
  const lt::Api *blas = nullptr;
  lt::Handle handle = nullptr;
  Memory workspace;
  AlgorithmCache algorithms;
  std::map<ProductKey, Plan> plans;
};

} // namespace mpc::rt::cuda

#endif
