// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention by cuDNN's fused engines, where that library is there and has one.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_GRAPH_ATTENDER_H
#define MPC_RUNTIME_DRIVERS_CUDA_GRAPH_ATTENDER_H

#include "runtime/drivers/attention.h"
#include "runtime/drivers/cuda/cudnn_handle.h"
#include "runtime/drivers/cuda/engine_plan.h"
#include "runtime/drivers/cuda/scratch.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace mpc::rt::cuda {

class GraphAttender {
public:
  GraphAttender(Scratch &scratch, dnn::SessionHandle &handle) : scratch(scratch), handle(handle) {}
  ~GraphAttender() { handle.drain(); }
  GraphAttender(const GraphAttender &) = delete;
  GraphAttender &operator=(const GraphAttender &) = delete;

  // Checked attention of some samples. `engine` becomes the name of what computes it; empty when
  // the library does not: nothing has happened then.
  mpc_rt_status_t attend(const Attention &a, uint32_t id, const AttentionOperands &operands,
                         const char *layer, std::string &engine);
  mpc_rt_status_t attendGradient(const Attention &a, uint32_t id,
                                 const AttentionGradientOperands &operands, const char *layer,
                                 std::string &engine);

private:
  // A graph and its engine. The scalars are read when it is executed.
  struct Entry {
    explicit Entry(const dnn::Api &library) : description(library), plan(library) {}
    Attention shape;
    dnn::Descriptions description;
    dnn::EnginePlan plan;
    bool works = false, wasRun = false;
    float scale = 1, one = 1, masked = 0;
  };
  // The parts are the id, the batch, and whether it is the derivative.
  using Key = std::tuple<uint32_t, int64_t, bool>;
  using Addresses = std::vector<std::pair<int64_t, void *>>;
  bool isWanted(const Attention &a, const Addresses &addresses);
  Entry &entryFor(const Attention &a, const Key &key);
  mpc_rt_status_t execute(Entry &entry, Addresses &addresses, uint8_t *workspace, const char *layer,
                          std::string &engine);

  Scratch &scratch;
  dnn::SessionHandle &handle;
  std::map<Key, std::unique_ptr<Entry>> entries;
};

} // namespace mpc::rt::cuda

#endif
