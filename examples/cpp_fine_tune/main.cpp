// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fine-tunes a compiled model: loads it and its weights, freezes all layers but the last, trains on
// new data, writes the weights for mpc-convert, which puts them back into a .keras file.
//
//   mpcc blobs.json -o blobs.mpc
//   cpp_fine_tune blobs.mpc tuned.safetensors predictions/
//   mpc-convert tuned.safetensors --model blobs.json -o tuned.keras
#include "mpc/model.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int64_t kBatch = 64, kFeatures = 4, kClasses = 3;
constexpr int kSteps = 200;

/// New data: the classes lie around other corners than those that the model may have learned.
struct Batch {
  std::vector<float> x = std::vector<float>(kBatch * kFeatures);
  std::vector<int32_t> y = std::vector<int32_t>(kBatch);
  std::vector<float> weights = std::vector<float>(kBatch, 1);
};

class Data {
public:
  Batch next() {
    Batch batch;
    for (int64_t i = 0; i < kBatch; ++i) {
      const size_t row = static_cast<size_t>(i);
      batch.y[row] = static_cast<int32_t>(uniform() * kClasses);
      for (int64_t j = 0; j < kFeatures; ++j)
        batch.x[row * kFeatures + static_cast<size_t>(j)] =
            (j == batch.y[row] + 1 ? 1.0f : 0.0f) + uniform() - 0.5f;
    }
    return batch;
  }

private:
  float uniform() {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 16777216.0f;
  }
  uint32_t state = 5;
};

int fail(const mpc::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: cpp_fine_tune MODEL WEIGHTS-OUT TRAINED-LAYER/\n");
    return 2;
  }
  mpc::Result<mpc::Model> model = mpc::Model::load(argv[1]);
  if (!model)
    return fail(model.error());
  mpc::Result<mpc::Context> context = model->createContext();
  if (!context)
    return fail(context.error());
  if (mpc::Result<bool> loaded = context->loadInitial(); !loaded)
    return fail(loaded.error());

  const std::string trained = argv[3];
  const std::vector<mpc::GradientInfo> gradients = model->gradients();
  size_t frozen = 0;
  for (const mpc::GradientInfo &gradient : gradients)
    frozen += gradient.name.substr(0, trained.size()) != trained;
  std::printf("%zu of %zu variables are frozen\n", frozen, gradients.size());

  Data data;
  float first = 0, loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    Batch batch = data.next();
    std::vector<float> predictions(kBatch * kClasses);
    mpc::Status forward =
        context->forward({mpc::view(batch.x, {kBatch, kFeatures}), mpc::view(batch.y, {kBatch}),
                          mpc::view(batch.weights, {kBatch})},
                         {mpc::scalar(loss), mpc::view(predictions, {kBatch, kClasses})});
    if (!forward)
      return fail(forward.error());
    if (mpc::Status backward = context->backward(); !backward)
      return fail(backward.error());
    if (mpc::Result<bool> finite = context->unscaleGradients(); !finite)
      return fail(finite.error());
    // A frozen variable has a gradient of zeros.
    for (uint32_t i = 0; i < gradients.size(); ++i)
      if (gradients[i].name.substr(0, trained.size()) != trained) {
        mpc::Result<mpc::Span<float>> values = context->gradient(i);
        if (!values)
          return fail(values.error());
        for (float &value : *values)
          value = 0;
      }
    if (mpc::Result<mpc::Applied> applied = context->applyGradients(); !applied)
      return fail(applied.error());
    if (step == 0)
      first = loss;
  }
  std::printf("loss %.4f, then %.4f\n", static_cast<double>(first), static_cast<double>(loss));
  if (mpc::Status saved = context->save(argv[2]); !saved)
    return fail(saved.error());
  return loss < first ? 0 : 1;
}
