// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/integer_convolution.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

int64_t filterDepth(const Convolution &c) { return Convolution::product(c.kernel) * c.channels; }

// Few samples are shared by threads, or such a number that would leave one idle.
int64_t partsOfSample(const ThreadTeam &team, const Convolution &c) {
  const int64_t threads = team.threads();
  return c.batch % threads == 0 || c.batch >= 8 * threads ? 1 : threads;
}

void copyNumbers(const int8_t *numbers, int64_t count, uint8_t *to) {
  std::memcpy(to, numbers, static_cast<size_t>(count));
}

// Each thread copies a part of a sample, and reads the copy while it is in its cache.
class IntegerWindows final : public ImageProduct {
public:
  IntegerWindows(ThreadTeam &team, const Int8PieceKernel &kernel, const Convolution &shape)
      : team(team), kernel(kernel), shape(shape),
        image(shape, kernel.form, partsOfSample(team, shape)) {
    int64_t places = 0;
    for (int64_t part = 0; part < image.parts(); ++part)
      places = std::max(places, image.places(part));
    for (unsigned slot = 0; slot < team.threads(); ++slot) {
      workspaces.emplace_back();
      rt::reserve(workspaces.back().copy, static_cast<uint64_t>(image.bytes()));
      workspaces.back().windows.resize(static_cast<size_t>(places));
    }
  }

  const void *filterLayout() const override {
    static const char joined = 0, apart = 0;
    return shape.dilations[2] == 1 ? &joined : &apart;
  }
  uint64_t filterBytes() const override { return kernel.weightBytes(pieces({}), shape.filters); }
  void packFilter(const void *filter, void *to) const override {
    kernel.packWeights(team, pieces({}), shape.filters, static_cast<const int8_t *>(filter),
                       static_cast<int8_t *>(to));
  }
  void run(const void *lhs, const void *packedFilter, const float * /*bias*/,
           const ConvolutionResult &result, int64_t samples) override;
  bool reserveParts() override {
    for (Workspace &own : workspaces)
      rt::reserve(own.sums,
                  own.windows.size() * static_cast<size_t>(shape.filters) * sizeof(int32_t));
    return true;
  }
  uint64_t bytes() const override {
    uint64_t total = 0;
    for (const Workspace &own : workspaces)
      total += own.copy.size() + own.sums.size() + own.windows.size() * sizeof(own.windows[0]);
    return total;
  }

private:
  // The memory of one thread.
  struct Workspace {
    Buffer copy, sums; // sums: of a part that a kernel consumes
    std::vector<const uint8_t *> windows;
  };
  Int8Pieces pieces(const std::vector<const uint8_t *> &windows) const {
    const std::vector<int64_t> &offsets = image.pieceOffsets();
    return {windows.data(), offsets.data(), static_cast<int64_t>(offsets.size()),
            image.pieceLength()};
  }

  ThreadTeam &team;
  const Int8PieceKernel &kernel;
  const Convolution shape;
  const BorderedImage image;
  std::vector<Workspace> workspaces;
};

void IntegerWindows::run(const void *lhs, const void *packedFilter, const float *,
                         const ConvolutionResult &result, int64_t samples) {
  constexpr double fewOperations = 1 << 19; // not worth a second thread
  const int64_t threads = shape.operations() < fewOperations ? 1 : team.threads();
  const bool requantizes = result.isRequantized() && kernel.multiplyAndRequantize;
  const RequantizedSums to =
      requantizes ? result.kernel->requantized(shape.filters) : RequantizedSums{};
  team.shareOut(samples * image.parts(), threads, [&](Turns &turns) {
    Workspace &own = workspaces[turns.slot()];
    const Int8Pieces rows = pieces(own.windows);
    int64_t known = -1; // whose windows are found
    for (int64_t i; turns.take(i);) {
      const int64_t sample = i / image.parts(), part = i % image.parts();
      image.copy(static_cast<const int8_t *>(lhs) + sample * shape.imageElements(), part,
                 own.copy.data());
      if (part != known)
        image.findWindows(part, own.copy.data(), own.windows.data());
      known = part;
      const int64_t begin =
          sample * shape.outputElements() + image.firstPlace(part) * shape.filters;
      if (requantizes) {
        kernel.multiplyAndRequantize(rows, image.places(part), shape.filters,
                                     static_cast<const int8_t *>(packedFilter),
                                     to.from((result.first + begin) / shape.filters, 0));
        continue;
      }
      uint8_t *sums = result.values ? result.at(begin) : own.sums.data();
      kernel.multiply(rows, image.places(part), shape.filters,
                      static_cast<const int8_t *>(packedFilter), reinterpret_cast<int32_t *>(sums));
      result.finish(sums, begin, begin + image.places(part) * shape.filters);
    }
  });
}

// Windows of some samples as rows of a matrix.
class IntegerColumns final : public ImageProduct {
public:
  IntegerColumns(ThreadTeam &team, const Int8Kernel *kernel, bool avx2, const Convolution &shape)
      : team(team), kernel(kernel), avx2(avx2), shape(shape),
        image(shape, {sizeof(int8_t), copyNumbers}, /*parts=*/1) {
    constexpr int64_t mostBytes = 1 << 20;
    const int64_t places = Convolution::product(shape.outputs);
    block = std::clamp<int64_t>(mostBytes / (places * filterDepth(shape)), 1, shape.batch);
    copyBytes = alignUp(static_cast<uint64_t>(image.bytes()));
    rt::reserve(copies, copyBytes * static_cast<uint64_t>(block));
    rt::reserve(rows, static_cast<uint64_t>(block * places * filterDepth(shape)));
    windows.resize(static_cast<size_t>(block * places));
    if (kernel)
      rt::reserve(scratch, kernel->scratchBytes(product(block), team.threads()));
  }

  const void *filterLayout() const override { return kernel; }
  uint64_t filterBytes() const override { return kernel->weightBytes(product(1)); }
  void packFilter(const void *filter, void *to) const override {
    kernel->packWeights(team, product(1), static_cast<const int8_t *>(filter),
                        static_cast<int8_t *>(to));
  }
  void run(const void *lhs, const void *filter, const float * /*bias*/,
           const ConvolutionResult &result, int64_t samples) override;
  uint64_t bytes() const override {
    return copies.size() + rows.size() + scratch.size() + windows.size() * sizeof(windows[0]);
  }

private:
  Contraction product(int64_t samples) const {
    Contraction c;
    c.batch = 1;
    c.m = samples * Convolution::product(shape.outputs);
    c.n = shape.filters;
    c.k = filterDepth(shape);
    c.lhs = c.rhs = MPC_RT_INT8;
    c.out = c.bias = MPC_RT_INT32;
    return c;
  }
  void gather(const int8_t *images, int64_t samples);

  ThreadTeam &team;
  const Int8Kernel *kernel; // or null
  const bool avx2;
  const Convolution shape;
  const BorderedImage image;
  int64_t block = 1; // samples
  uint64_t copyBytes = 0;
  Buffer copies, rows, scratch;
  std::vector<const uint8_t *> windows;
};

void IntegerColumns::gather(const int8_t *images, int64_t samples) {
  const int64_t places = Convolution::product(shape.outputs), depth = filterDepth(shape);
  const std::vector<int64_t> &offsets = image.pieceOffsets();
  team.forRange(samples, 1, [&](int64_t begin, int64_t end) {
    for (int64_t sample = begin; sample < end; ++sample) {
      uint8_t *copy = copies.data() + static_cast<uint64_t>(sample) * copyBytes;
      const uint8_t **own = windows.data() + sample * places;
      image.copy(images + sample * shape.imageElements(), /*part=*/0, copy);
      image.findWindows(/*part=*/0, copy, own);
      uint8_t *row = rows.data() + sample * places * depth;
      for (int64_t place = 0; place < places; ++place)
        for (const int64_t offset : offsets) {
          std::memcpy(row, own[place] + offset, static_cast<size_t>(image.pieceLength()));
          row += image.pieceLength();
        }
    }
  });
}

void IntegerColumns::run(const void *lhs, const void *filter, const float *,
                         const ConvolutionResult &result, int64_t samples) {
  const auto *weights = static_cast<const int8_t *>(filter);
  for (int64_t first = 0; first < samples; first += block) {
    const int64_t count = std::min(block, samples - first);
    gather(static_cast<const int8_t *>(lhs) + first * shape.imageElements(), count);
    const auto *matrix = reinterpret_cast<const int8_t *>(rows.data());
    const ConvolutionResult part = result.from(first * shape.outputElements());
    auto *target = static_cast<int32_t *>(part.values);
    if (kernel)
      kernel->multiply(team, product(count), matrix, weights, scratch.data(), target);
    else
      contractInt8(team, avx2, product(count), matrix, weights, target);
    part.finishAll(team, count * shape.outputElements());
  }
}

} // namespace

std::unique_ptr<ImageProduct> makeIntegerWindows(ThreadTeam &team, const Int8PieceKernel &kernel,
                                                 const Convolution &shape) {
  return std::make_unique<IntegerWindows>(team, kernel, shape);
}

std::unique_ptr<ImageProduct> makeIntegerColumns(ThreadTeam &team, const Int8Kernel *kernel,
                                                 bool avx2, const Convolution &shape) {
  return std::make_unique<IntegerColumns>(team, kernel, avx2, shape);
}

} // namespace mpc::rt
