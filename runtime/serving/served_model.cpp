// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names and shapes as the Open Inference Protocol has them.
#include "runtime/serving/served_model.h"

#include "runtime/training/text_tensors.h"
#include "runtime/untrusted/outlets.h"

#include <set>

namespace mpc::serving {

namespace {
struct ProtocolType {
  mpc_rt_dtype_t dtype;
  const char *name;
};
} // namespace

static constexpr ProtocolType protocolTypes[] = {
    {MPC_RT_FLOAT32, "FP32"},  {MPC_RT_BFLOAT16, "BF16"}, {MPC_RT_FLOAT16, "FP16"},
    {MPC_RT_FLOAT64, "FP64"},  {MPC_RT_INT8, "INT8"},     {MPC_RT_UINT8, "UINT8"},
    {MPC_RT_INT16, "INT16"},   {MPC_RT_UINT16, "UINT16"}, {MPC_RT_INT32, "INT32"},
    {MPC_RT_UINT32, "UINT32"}, {MPC_RT_INT64, "INT64"},   {MPC_RT_UINT64, "UINT64"},
    {MPC_RT_BOOL, "BOOL"}};

const char *protocolName(mpc_rt_dtype_t dtype) {
  for (const ProtocolType &type : protocolTypes)
    if (type.dtype == dtype)
      return type.name;
  return "unknown";
}

std::optional<mpc_rt_dtype_t> protocolDtype(const std::string &name) {
  for (const ProtocolType &type : protocolTypes)
    if (name == type.name)
      return type.dtype;
  return std::nullopt;
}

int ServedModel::findOutput(const std::string &wanted) const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == wanted || "out" + std::to_string(i) == wanted)
      return static_cast<int>(i);
  return -1;
}

data::Result<ServedModel> describeServed(const training::Session &session) {
  data::Result<const mpc_rt_entry_info_t *> found = session.requireEntry("predict");
  if (!found)
    return found.failure();
  const mpc_rt_entry_info_t &entry = **found;
  for (const bool isOutput : {false, true})
    for (uint32_t i = 0, count = isOutput ? entry.output_count : entry.input_count; i < count; ++i)
      if (training::isText(session.executable(), entry, isOutput, i))
        return data::Failure(session.path() + ": the " + (isOutput ? "output" : "input") + " '" +
                             (isOutput ? entry.outputs : entry.inputs)[i].name +
                             "' is text, which the server does not send or take; expected "
                             "numbers; use mpc-run predict, Python or the C API");
  ServedModel model;
  model.name = session.executable().model_name;
  model.path = session.path();
  model.signature = session.signature(entry);
  model.entry = static_cast<uint32_t>(&entry - session.executable().entries);
  model.fixedBatch = session.fixedBatch(entry);
  model.joinsRows = true;
  auto describe = [&](const mpc_rt_tensor_info_t &tensor, std::string name) {
    ServedTensor served{std::move(name), tensor.dtype, {}};
    served.shape.assign(tensor.dims, tensor.dims + tensor.rank);
    const int64_t rows = model.fixedBatch ? model.fixedBatch : MPC_RT_DYNAMIC;
    model.joinsRows &= tensor.rank > 0 && tensor.dims[0] == rows;
    return served;
  };
  for (uint32_t i = 0; i < entry.input_count; ++i)
    model.inputs.push_back(describe(entry.inputs[i], entry.inputs[i].name));
  const std::vector<std::string> own = session.outputNames();
  std::set<std::string> taken;
  for (uint32_t i = 0; i < entry.output_count; ++i)
    taken.insert(entry.outputs[i].name);
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    // The model's own name, where it is not that of another output.
    const bool hasOwn = i < own.size() && !own[i].empty() && taken.insert(own[i]).second;
    model.outputs.push_back(describe(entry.outputs[i], hasOwn ? own[i] : entry.outputs[i].name));
    if (const mpc_rt_tensor_form_t *form = mpc_rt_find_form(
            &session.executable(), model.entry, /*is_output=*/1, i, MPC_RT_FORM_BOUNDED)) {
      model.outputs.back().shape[form->axis] = -1;
      model.joinsRows = false;
    }
  }
  return model;
}

} // namespace mpc::serving
