// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions by cuDNN's graph API, where that library is there and has an engine for them.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_GRAPH_CONVOLVER_H
#define MPC_RUNTIME_DRIVERS_CUDA_GRAPH_CONVOLVER_H

#include "runtime/drivers/cuda/convolution_plan.h"
#include "runtime/drivers/cuda/cudnn_handle.h"
#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/drivers/cuda/scratch.h"

#include <map>
#include <string>
#include <vector>

namespace mpc::rt::cuda {

class GraphConvolver {
public:
  GraphConvolver(DeviceSession &session, KernelTable &kernels, Scratch &scratch,
                 dnn::SessionHandle &handle, bool tf32)
      : session(session), kernels(kernels), scratch(scratch), handle(handle), tf32(tf32) {}
  ~GraphConvolver();
  GraphConvolver(const GraphConvolver &) = delete;
  GraphConvolver &operator=(const GraphConvolver &) = delete;

  // A checked convolution with work to do. `engine` becomes the name of what computes it; empty
  // when the library does not: nothing has happened then.
  mpc_rt_status_t convolve(const Convolution &c, uint32_t id, const void *lhs, const void *rhs,
                           const void *bias, void *out, const char *layer, std::string &engine);

private:
  struct Entry {
    Convolution shape;
    dnn::ConvolutionAlignments alignments{};
    std::unique_ptr<dnn::ConvolutionPlan> plan; // null: none
    bool wasRun = false;
  };
  struct Operands {
    const void *lhs, *rhs, *bias;
    void *out;
  };
  void makePlan(Entry &entry, const Operands &operands, const char *layer);
  // Takes the first engine of those that are ready that none clearly beats: the heuristics can be
  // far off, as for gradients of filters over three channels in float16. Small convolutions keep
  // the first one.
  void takeFastest(Entry &entry, const Operands &operands, const char *layer);
  bool keepsNaN(const Entry &entry, const Operands &operands, const char *layer);
  // `code` is cuDNN's status.
  mpc_rt_status_t issue(const Entry &entry, const Operands &operands, const char *layer, int &code);
  // The matrix [rows, columns] as [columns, rows].
  mpc_rt_status_t transpose(mpc_rt_dtype_t dtype, const void *from, void *to, int64_t rows,
                            int64_t columns);
  void retire(Entry &entry);
  mpc_rt_status_t finish(const Convolution &c, const void *bias, void *out);

  DeviceSession &session;
  KernelTable &kernels;
  Scratch &scratch;
  dnn::SessionHandle &handle;
  bool tf32;
  std::map<std::pair<uint32_t, int64_t>, Entry> entries; // by id and batch
  // Plans that others took the place of: what waits on the stream, and recorded steps, still run
  // their kernels. A few at most: alignments only change while memory grows.
  std::vector<std::unique_ptr<dnn::ConvolutionPlan>> retired;
};

} // namespace mpc::rt::cuda

#endif
