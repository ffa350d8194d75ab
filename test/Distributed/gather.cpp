// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-test-gather LIB ROWS FILE [whole], run by mpirun: ranks whose contexts had a communicator
// from their creation on train a model with parts of variables. Behind every step all ranks predict
// the same, and read the same copies of weights, although a step ends before these are gathered.
// Before it is gathered a variable cannot be read; then every rank reads the same, and the first
// one saves what it has to FILE.
#include "mpc/model.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace {

int stop(mpc_rt_communicator_t *communicator, const char *what, const std::string &why) {
  std::fprintf(stderr, "%s: %s\n", what, why.c_str());
  mpc_rt_communicator_abort(communicator, 1);
  return 1;
}

// The variable of most elements.
std::string largestOf(const mpc_rt_executable_t &tables, size_t &elements) {
  std::string found;
  elements = 0;
  for (uint32_t i = 0; i != tables.variable_count; ++i) {
    const mpc_rt_variable_info_t &variable = tables.variables[i];
    size_t count = 1;
    for (uint32_t d = 0; d != variable.tensor.rank; ++d)
      count *= static_cast<size_t>(variable.tensor.dims[d]);
    if ((variable.flags & MPC_RT_VARIABLE_IN_PARTS) && count > elements) {
      elements = count;
      found = variable.tensor.name;
    }
  }
  return found;
}

// Whether all ranks have these bytes.
bool areEqual(mpc_rt_communicator_t *communicator, const void *own, size_t bytes) {
  std::vector<char> first(bytes);
  std::memcpy(first.data(), own, bytes);
  const bool isTold =
      mpc_rt_communicator_broadcast(communicator, first.data(), bytes, 0) == MPC_RT_OK;
  return isTold && std::memcmp(first.data(), own, bytes) == 0;
}

bool predictsTheSame(mpc_rt_communicator_t *communicator, mpc_rt_context_t *context,
                     const std::vector<float> &x, int64_t rows) {
  uint32_t predict = 0;
  if (mpc_rt_find_entry(mpc_rt_context_model(context), "predict", &predict) != MPC_RT_OK)
    return false;
  std::vector<float> classes(static_cast<size_t>(rows) * 3);
  const void *input = x.data();
  void *output = classes.data();
  return mpc_rt_context_run(context, predict, &input, &output, rows) == MPC_RT_OK &&
         areEqual(communicator, classes.data(), classes.size() * sizeof(float));
}

bool hasTheSameShadows(mpc_rt_communicator_t *communicator, mpc_rt_context_t *context) {
  const mpc_rt_executable_t &tables = *mpc_rt_model_executable(mpc_rt_context_model(context));
  for (uint32_t i = 0; i != tables.variable_count; ++i) {
    if (tables.variables[i].role != MPC_RT_ROLE_SHADOW)
      continue;
    size_t bytes = 0;
    const void *shadow = mpc_rt_context_variable(context, i, &bytes);
    if (!shadow || !areEqual(communicator, shadow, bytes))
      return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  mpc_rt_communicator_t *communicator = nullptr;
  if (argc < 4 || mpc_rt_communicator_create(nullptr, &communicator) != MPC_RT_OK)
    return stop(communicator, "ranks", mpc_rt_last_error());
  mpc::Result<mpc::Model> model = mpc::Model::load(argv[1]);
  if (!model)
    return stop(communicator, "the model", model.error().message);
  mpc::ContextOptions options;
  options.threads = 1;
  options.seed = 3;
  options.communicator = communicator;
  mpc::Result<mpc::Context> context = model->createContext(options);
  if (!context)
    return stop(communicator, "a context", context.error().message);

  // The rows of this rank, of rows that all draw: samples, labels and weights.
  const int64_t rows = std::atoll(argv[2]);
  std::mt19937 random(5);
  std::vector<float> x(static_cast<size_t>(rows) * 20), weights(static_cast<size_t>(rows), 1);
  std::vector<int32_t> y(static_cast<size_t>(rows));
  for (float &number : x)
    number = static_cast<float>(random() % 2000) / 1000 - 1;
  for (int32_t &label : y)
    label = static_cast<int32_t>(random() % 3);
  int64_t first = 0, count = 0;
  mpc_rt_part_rows(rows, mpc_rt_communicator_rank(communicator),
                   mpc_rt_communicator_size(communicator), &first, &count);
  const mpc_rt_executable_t &tables = *mpc_rt_model_executable(model->handle());
  uint32_t step = 0;
  if (mpc_rt_find_entry(model->handle(), "train_step", &step) != MPC_RT_OK)
    return stop(communicator, "train_step", mpc_rt_last_error());
  std::vector<double> results(tables.entries[step].output_count);
  std::vector<void *> outputs;
  for (double &result : results)
    outputs.push_back(&result);
  std::vector<const void *> inputs;
  for (uint32_t i = 0; i != tables.entries[step].input_count; ++i) {
    const mpc_rt_tensor_info_t &input = tables.entries[step].inputs[i];
    if (input.dtype == MPC_RT_INT32)
      inputs.push_back(y.data() + first);
    else
      inputs.push_back(input.rank == 2 ? x.data() + first * 20 : weights.data() + first);
  }
  for (int i = 0; i != 4; ++i) {
    if (mpc_rt_context_run(context->handle(), step, inputs.data(), outputs.data(), count) !=
        MPC_RT_OK)
      return stop(communicator, "a step", mpc_rt_last_error());
    if (i == 1 && !predictsTheSame(communicator, context->handle(), x, rows))
      return stop(communicator, "predictions", "differ between ranks");
    if (i >= 2 && !hasTheSameShadows(communicator, context->handle()))
      return stop(communicator, "copies of weights", "differ between ranks");
  }

  const bool isFirst = mpc_rt_communicator_rank(communicator) == 0;
  if (argc > 4 && std::strcmp(argv[4], "whole") == 0) { // a library without parts, to compare with
    if (isFirst)
      if (mpc::Status status = context->save(argv[3]); !status)
        return stop(communicator, "save", status.error().message);
    return 0;
  }
  size_t elements = 0;
  const std::string name = largestOf(tables, elements);
  const bool areSeveral = mpc_rt_communicator_size(communicator) > 1;
  if (areSeveral && context->getVariable<float>(name))
    return stop(communicator, "a part", "was read as a whole");
  if (mpc::Status status = context->gatherVariables(isFirst); !status)
    return stop(communicator, "gather", status.error().message);
  if (!isFirst && context->getVariable<float>(name))
    return stop(communicator, "a part", "was kept as a whole");
  if (isFirst)
    if (mpc::Status status = context->save(argv[3]); !status)
      return stop(communicator, "save", status.error().message);
  if (mpc::Status status = context->gatherVariables(); !status)
    return stop(communicator, "gather", status.error().message);
  mpc::Result<std::vector<float>> own = context->getVariable<float>(name);
  if (!own || own->size() != elements)
    return stop(communicator, name.c_str(), "is not whole");
  std::vector<float> expected = *own;
  if (mpc_rt_communicator_broadcast(communicator, expected.data(), elements * sizeof(float), 0))
    return stop(communicator, "broadcast", mpc_rt_last_error());
  if (std::memcmp(expected.data(), own->data(), elements * sizeof(float)) != 0)
    return stop(communicator, name.c_str(), "differs between ranks");
  if (isFirst)
    std::printf("%s of %zu elements is whole on %u ranks\n", name.c_str(), elements,
                mpc_rt_communicator_size(communicator));
  return 0;
}
