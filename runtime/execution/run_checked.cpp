// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs on typed views: everything that could be wrong with a caller's buffers is said here, by
// name, before any generated code sees them.
#include "runtime/base/dtype.h"
#include "runtime/base/rounding.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/execution/entries_of_shapes.h"

#include <cstring>
#include <string>

using namespace mpc::rt;

namespace {

struct Checker {
  const mpc_rt_executable_t &executable;
  const mpc_rt_entry_info_t &info;
  const char *entry = info.name;
  int64_t batch = -1; // not known yet

  mpc_rt_status_t shape(const char *kind, const mpc_rt_tensor_info_t &want,
                        const mpc_rt_buffer_t &have) {
    if (have.dtype != want.dtype)
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "%s: %s '%s' has dtype %s; expected %s; convert it first", entry, kind, want.name,
                  dtypeName(have.dtype), dtypeName(want.dtype));
    bool same = have.rank == want.rank;
    for (uint32_t i = 0; same && i < want.rank; ++i)
      same = want.dims[i] == MPC_RT_DYNAMIC ? have.dims[i] >= 0 : have.dims[i] == want.dims[i];
    if (!same)
      return fail(MPC_RT_INVALID_ARGUMENT, "%s: %s '%s' has shape %s; expected %s", entry, kind,
                  want.name,
                  shapeText(have.dims, have.rank > MPC_RT_MAX_RANK ? 0 : have.rank).c_str(),
                  expectedShapes(want).c_str());
    uint64_t elements = 0;
    if (!countElements(have.dims, have.rank, elements) || elements > (uint64_t{1} << 44))
      return fail(MPC_RT_INVALID_ARGUMENT, "%s: %s '%s' of shape %s is too large", entry, kind,
                  want.name, shapeText(have.dims, have.rank).c_str());
    if (!have.data && elements)
      return fail(MPC_RT_INVALID_ARGUMENT, "%s: %s '%s' is null", entry, kind, want.name);
    if (want.rank == 0 || want.dims[0] != MPC_RT_DYNAMIC)
      return MPC_RT_OK;
    if (batch >= 0 && have.dims[0] != batch)
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "%s: %s '%s' has %lld rows; expected %lld as the inputs before it", entry, kind,
                  want.name, static_cast<long long>(have.dims[0]), static_cast<long long>(batch));
    batch = have.dims[0];
    return MPC_RT_OK;
  }

  /// An input may have the shapes of every entry that computes the same.
  std::string expectedShapes(const mpc_rt_tensor_info_t &want) const {
    for (uint32_t i = 0; i < info.input_count; ++i)
      if (&want == &info.inputs[i])
        return describeShapes(executable, info, i);
    return shapeText(want.dims, want.rank);
  }

  /// Outside [0, limit)? Unsigned comparison catches negatives.
  template <typename Type> static bool isOutside(Type value, int64_t limit) {
    return static_cast<uint64_t>(static_cast<int64_t>(value)) >= static_cast<uint64_t>(limit);
  }
  /// The whole part of a floating value counts; NaN is outside.
  static bool isOutside(float value, int64_t limit) {
    return isOutside(static_cast<double>(value), limit);
  }
  static bool isOutside(double value, int64_t limit) {
    return !(value > -1.0 && value < static_cast<double>(limit));
  }

  /// `read` makes a number of an element.
  template <typename Type, typename Read>
  mpc_rt_status_t range(const mpc_rt_tensor_info_t &want, const mpc_rt_buffer_t &have, Read read) {
    uint64_t count = 0;
    countElements(have.dims, have.rank, count);
    auto *values = static_cast<const Type *>(have.data);
    uint64_t bad = 0;
    while (bad < count && !isOutside(read(values[bad]), want.index_limit))
      ++bad;
    if (bad == count)
      return MPC_RT_OK;
    uint64_t rows = have.rank ? static_cast<uint64_t>(have.dims[0]) : 1;
    std::string value = std::to_string(read(values[bad]));
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: input '%s' row %llu has the value %s; expected 0 to %lld; remap the ids or "
                "enlarge the layer",
                entry, want.name, static_cast<unsigned long long>(bad / (count / rows)),
                value.c_str(), static_cast<long long>(want.index_limit - 1));
  }
  template <typename Type>
  mpc_rt_status_t range(const mpc_rt_tensor_info_t &want, const mpc_rt_buffer_t &have) {
    return range<Type>(want, have, [](Type value) { return value; });
  }

  mpc_rt_status_t values(const mpc_rt_tensor_info_t &want, const mpc_rt_buffer_t &have) {
    if (want.index_limit <= 0)
      return MPC_RT_OK;
    switch (want.dtype) {
    case MPC_RT_FLOAT32:
      return range<float>(want, have);
    case MPC_RT_FLOAT64:
      return range<double>(want, have);
    case MPC_RT_FLOAT16:
      return range<uint16_t>(want, have, [](uint16_t bits) { return widenFloat16(bits); });
    case MPC_RT_BFLOAT16:
      return range<uint16_t>(want, have, [](uint16_t bits) { return widenBFloat16(bits); });
    case MPC_RT_INT8:
      return range<int8_t>(want, have);
    case MPC_RT_UINT8:
      return range<uint8_t>(want, have);
    case MPC_RT_INT16:
      return range<int16_t>(want, have);
    case MPC_RT_UINT16:
      return range<uint16_t>(want, have);
    case MPC_RT_INT32:
      return range<int32_t>(want, have);
    case MPC_RT_UINT32:
      return range<uint32_t>(want, have);
    case MPC_RT_INT64:
      return range<int64_t>(want, have);
    case MPC_RT_UINT64:
      return range<uint64_t>(want, have);
    default:
      return MPC_RT_OK;
    }
  }
};

} // namespace

mpc_rt_status_t mpc::rt::runChecked(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                                    const mpc_rt_buffer_t *inputs, const mpc_rt_buffer_t *outputs,
                                    const DeviceTensors *onDevice) {
  return guard(entry.name, [&]() -> mpc_rt_status_t {
    Checker checker{context.executable(), entry};
    std::vector<const void *> from(entry.input_count);
    std::vector<void *> to(entry.output_count);
    for (uint32_t i = 0; i < entry.input_count; ++i) {
      if (auto status = checker.shape("input", entry.inputs[i], inputs[i]))
        return status;
      from[i] = inputs[i].data;
    }
    for (uint32_t i = 0; i < entry.output_count; ++i) {
      if (auto status = checker.shape("output", entry.outputs[i], outputs[i]))
        return status;
      to[i] = outputs[i].data;
    }
    for (uint32_t i = 0; i < entry.input_count; ++i)
      if (auto status = checker.values(entry.inputs[i], inputs[i]))
        return status;
    // A model without a dynamic dimension has one sample per call.
    int64_t batch = checker.batch < 0 ? 1 : checker.batch;
    return runContext(context, entry, from.data(), to.data(), batch, onDevice);
  });
}

extern "C" mpc_rt_status_t mpc_rt_context_run_checked(mpc_rt_context_t *context, uint32_t entry,
                                                      const mpc_rt_buffer_t *inputs,
                                                      uint32_t input_count,
                                                      const mpc_rt_buffer_t *outputs,
                                                      uint32_t output_count) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_run_checked: context is null");
  const mpc_rt_entry_info_t *info =
      findEntry(*context, entry, inputs, input_count, outputs, output_count);
  if (!info)
    return MPC_RT_INVALID_ARGUMENT;
  return guard(info->name, [&] {
    const mpc_rt_entry_info_t &chosen =
        entryForShapes(context->executable(), *info, [&](uint32_t input) {
          return ShapeView{inputs[input].dims, inputs[input].rank};
        });
    return runChecked(*context, chosen, inputs, outputs, /*onDevice=*/nullptr);
  });
}
