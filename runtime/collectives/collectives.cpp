// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-rt/collectives.h.
#include "mpc-rt/collectives.h"

#include "runtime/base/status.h"
#include "runtime/collectives/combine.h"
#include "runtime/collectives/communicator.h"
#include "runtime/collectives/mpi_transport.h"
#include "runtime/collectives/nccl_transport.h"

#include <cstdlib>
#include <cstring>
#include <new>

using namespace mpc::rt;

namespace {

constexpr double defaultTimeoutSeconds = 300;

double timeoutOf(const mpc_rt_communicator_options_t &options) {
  if (options.timeout_seconds > 0)
    return options.timeout_seconds;
  const char *text = std::getenv("MPC_COLLECTIVES_TIMEOUT");
  char *end = nullptr;
  const double seconds = text ? std::strtod(text, &end) : 0;
  return seconds > 0 && end && !*end ? seconds : defaultTimeoutSeconds;
}

mpc_rt_status_t makeTransport(const mpc_rt_communicator_options_t &options,
                              std::unique_ptr<Transport> &transport) {
  const char *driver = options.driver;
  const char *variable = std::getenv("MPC_COLLECTIVES");
  if (!driver && variable && *variable)
    driver = variable;
  if (!driver)
    driver = options.mpi_communicator || isStartedByMpi() ? "mpi" : "self";
  const bool isNccl = std::strcmp(driver, "nccl") == 0;
  const bool isStarted = options.mpi_communicator || isStartedByMpi();
  if (std::strcmp(driver, "mpi") == 0 || (isNccl && isStarted))
    if (auto status = makeMpiTransport(timeoutOf(options), options.mpi_communicator, transport))
      return status;
  if (isNccl && transport && transport->size() > 1)
    return makeNcclTransport(timeoutOf(options), std::move(transport), transport);
  if (transport)
    return MPC_RT_OK;
  if (!isNccl && std::strcmp(driver, "self") != 0)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "there are no collectives \"%s\"; \"mpi\", \"nccl\" and \"self\" are", driver);
  transport = std::make_unique<SelfTransport>();
  return MPC_RT_OK;
}

} // namespace

void mpc_rt_communicator_options_init(mpc_rt_communicator_options_t *options) {
  *options = {};
  options->struct_size = sizeof *options;
}

mpc_rt_status_t mpc_rt_communicator_create(const mpc_rt_communicator_options_t *options,
                                           mpc_rt_communicator_t **communicator) {
  return guard("mpc_rt_communicator_create", [&]() -> mpc_rt_status_t {
    mpc_rt_communicator_options_t used;
    mpc_rt_communicator_options_init(&used);
    if (!communicator)
      return fail(MPC_RT_INVALID_ARGUMENT, "communicator is null");
    if (options) {
      if (options->struct_size < sizeof used)
        return fail(MPC_RT_INVALID_ARGUMENT,
                    "options->struct_size is %u; call mpc_rt_communicator_options_init first",
                    options->struct_size);
      used = *options;
    }
    std::unique_ptr<Transport> transport;
    if (auto status = makeTransport(used, transport))
      return status;
    *communicator = new mpc_rt_communicator_t(std::move(transport));
    return MPC_RT_OK;
  });
}

void mpc_rt_communicator_release(mpc_rt_communicator_t *communicator) { delete communicator; }

uint32_t mpc_rt_communicator_rank(const mpc_rt_communicator_t *communicator) {
  return communicator->communicator.rank();
}

uint32_t mpc_rt_communicator_size(const mpc_rt_communicator_t *communicator) {
  return communicator->communicator.size();
}

const char *mpc_rt_communicator_driver(const mpc_rt_communicator_t *communicator) {
  return communicator->communicator.name();
}

mpc_rt_status_t mpc_rt_communicator_all_reduce(mpc_rt_communicator_t *communicator,
                                               mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction,
                                               void *data, size_t count) {
  return guard("mpc_rt_communicator_all_reduce", [&]() -> mpc_rt_status_t {
    if (!communicator || (!data && count))
      return fail(MPC_RT_INVALID_ARGUMENT, "all_reduce: an argument is null");
    if (!canCombine(dtype) || uint32_t(reduction) > MPC_RT_REDUCTION_SUM_BEFORE)
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "all_reduce: dtype %d or reduction %d is not known; float32, float64, int32 and "
                  "int64 have sums, maxima and minima",
                  int(dtype), int(reduction));
    return communicator->communicator.allReduce({dtype, reduction}, data, count);
  });
}

mpc_rt_status_t mpc_rt_communicator_broadcast(mpc_rt_communicator_t *communicator, void *data,
                                              size_t bytes, uint32_t root) {
  return guard("mpc_rt_communicator_broadcast", [&]() -> mpc_rt_status_t {
    if (!communicator || (!data && bytes))
      return fail(MPC_RT_INVALID_ARGUMENT, "broadcast: an argument is null");
    if (root >= communicator->communicator.size())
      return fail(MPC_RT_INVALID_ARGUMENT, "broadcast: there is no rank %u; there are %u", root,
                  communicator->communicator.size());
    return communicator->communicator.broadcast(data, bytes, root);
  });
}

mpc_rt_status_t mpc_rt_communicator_barrier(mpc_rt_communicator_t *communicator) {
  int32_t nothing = 0;
  return mpc_rt_communicator_all_reduce(communicator, MPC_RT_INT32, MPC_RT_REDUCTION_SUM, &nothing,
                                        1);
}

void mpc_rt_communicator_record(mpc_rt_communicator_t *communicator) {
  if (communicator)
    communicator->communicator.log().open();
}

const char *mpc_rt_communicator_events(mpc_rt_communicator_t *communicator) {
  if (!communicator)
    return "";
  (void)guard("mpc_rt_communicator_events", [&]() -> mpc_rt_status_t {
    communicator->events = communicator->communicator.log().lines();
    return MPC_RT_OK;
  });
  return communicator->events.c_str();
}

void mpc_rt_part_rows(int64_t rows, uint32_t part, uint32_t parts, int64_t *first, int64_t *count) {
  int64_t begin = 0;
  while (parts > 1) {
    const uint32_t lower = parts / 2;
    const int64_t lowerRows = rows * lower / parts;
    const bool isLower = part < lower;
    if (!isLower) {
      begin += lowerRows;
      part -= lower;
    }
    rows = isLower ? lowerRows : rows - lowerRows;
    parts = isLower ? lower : parts - lower;
  }
  *first = begin;
  *count = rows;
}

void mpc_rt_communicator_abort(mpc_rt_communicator_t *communicator, int32_t code) {
  if (communicator)
    communicator->communicator.endJob(code);
}
