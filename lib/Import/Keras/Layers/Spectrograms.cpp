// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing: STFTSpectrogram, whose kernels are weights, and MelSpectrogram,
// which has none (docs/decisions/0052).
#include "lib/Import/Common/Fourier.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/Spatial.h"
#include "mpc-rt/executable.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;

/// A string that None may stand for, which is no string then.
std::string getName(LayerBuilder &b, llvm::StringRef key, llvm::StringRef otherwise) {
  return b.layer.config.get(key) ? b.getString(key, "") : otherwise.str();
}

// ---- STFTSpectrogram ----------------------------------------------------------------------------

/// The initializer of the kernel of a new model (keras/src/initializers/constant_initializers.py,
/// STFT); nothing after an error.
InitializerAttr makeKernelInitializer(LayerBuilder &b, InitializerKind kind) {
  mpc_rt_window_t window = MPC_RT_WINDOW_NONE;
  const std::string name = getName(b, "window", "hann");
  // The names of scipy.signal.get_window.
  if (!name.empty()) {
    const auto found =
        llvm::StringSwitch<std::optional<mpc_rt_window_t>>(name)
            .Cases({"boxcar", "box", "ones", "rect", "rectangular"}, MPC_RT_WINDOW_BOXCAR)
            .Cases({"hann", "han"}, MPC_RT_WINDOW_HANN)
            .Cases({"hamming", "hamm", "ham"}, MPC_RT_WINDOW_HAMMING)
            .Cases({"blackman", "black", "blk"}, MPC_RT_WINDOW_BLACKMAN)
            .Cases({"nuttall", "nutl", "nut"}, MPC_RT_WINDOW_NUTTALL)
            .Cases({"blackmanharris", "blackharr", "bkh"}, MPC_RT_WINDOW_BLACKMAN_HARRIS)
            .Cases({"flattop", "flat", "flt"}, MPC_RT_WINDOW_FLATTOP)
            .Default(std::nullopt);
    if (!found) {
      b.error("'window' of STFTSpectrogram is '" + name +
              "'; expected none, boxcar, hann, hamming, blackman, nuttall, blackmanharris or "
              "flattop");
      return {};
    }
    window = *found;
  }
  uint32_t options = b.getFlag("periodic", false) ? MPC_RT_WINDOW_PERIODIC : 0;
  const std::string scaling = getName(b, "scaling", "density");
  if (!scaling.empty() && scaling != "density" && scaling != "spectrum") {
    b.error("'scaling' of STFTSpectrogram is '" + scaling + "'; expected density or spectrum");
    return {};
  }
  // Without a window Keras does not scale.
  if (window != MPC_RT_WINDOW_NONE && !scaling.empty())
    options |= scaling == "density" ? MPC_RT_WINDOW_DENSITY : MPC_RT_WINDOW_SPECTRUM;
  return InitializerAttr::get(b.builder.getContext(), kind,
                              b.builder.getF64FloatAttr(double(window)),
                              b.builder.getF64FloatAttr(double(options)));
}

struct Frames {
  int64_t length = 0, step = 0, bins = 0;
  std::string padding;

  static std::optional<Frames> read(LayerBuilder &b) {
    Frames frames;
    frames.length = b.getInteger("frame_length", 256);
    frames.step = b.getInteger("frame_step", frames.length / 2);
    const int64_t least =
        int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(frames.length, 1))));
    const int64_t transform = b.getInteger("fft_length", least);
    frames.padding = b.getString("padding", "valid");
    if (b.hasFailed())
      return std::nullopt;
    if (frames.length < 1 || frames.step < 1 || frames.step > frames.length ||
        transform < frames.length || transform > kMostSpatial) {
      b.error(
          "'frame_step', 'frame_length' and 'fft_length' of STFTSpectrogram must be positive and "
          "in ascending order");
      return std::nullopt;
    }
    if (frames.padding != "valid" && frames.padding != "same") {
      b.error("'padding' is '" + frames.padding + "'; expected valid or same");
      return std::nullopt;
    }
    frames.bins = transform / 2 + 1;
    return frames;
  }
};

/// Each frame of each channel times a kernel, [batch, frames, channels, bins].
Value convolve(LayerBuilder &b, Value signals, Value kernel, const Frames &frames) {
  const int64_t batch = b.shapeOf(signals)[0], extent = b.shapeOf(signals)[1],
                channels = b.shapeOf(signals)[2];
  auto [low, high] = frames.padding == "same" ? samePadding(extent, frames.length, frames.step)
                                              : std::pair<int64_t, int64_t>(0, 0);
  if (channels == 1) {
    Value y = b.make<ConvolutionOp>(
        signals, kernel, ConvolutionWindow{{frames.step}, {low}, {high}, {1}, /*groups=*/1});
    return b.makeReshape(y, {batch, b.shapeOf(y)[1], 1, frames.bins});
  }
  // The channels are a second spatial dimension, over which the kernel reaches one element.
  Value x = b.makeReshape(signals, {batch, extent, channels, 1});
  return b.make<ConvolutionOp>(
      x, b.makeReshape(kernel, {frames.length, 1, 1, frames.bins}),
      ConvolutionWindow{{frames.step, 1}, {low, 0}, {high, 0}, {1, 1}, /*groups=*/1});
}

Value importStft(LayerBuilder &b) {
  b.precision().refusals["bf16"] =
      "which a STFTSpectrogram layer does not take in Keras either; give it another "
      "policy, by a policy map for this layer alone";
  Value x = getImages(b, 1);
  auto format = getDataFormat(b);
  const std::string mode = b.getString("mode", "log");
  const bool expands = b.getFlag("expand_dims", false);
  auto frames = Frames::read(b);
  if (!x || !format || !frames || b.hasFailed())
    return {};
  if (!llvm::is_contained({"log", "magnitude", "psd", "real", "imag", "angle", "stft"}, mode))
    return b.error("'mode' of STFTSpectrogram is '" + mode +
                   "'; expected log, magnitude, psd, real, imag, angle or stft");
  x = toChannelsLast(b, *format, x);
  if (frames->padding == "valid" && b.shapeOf(x)[1] < frames->length)
    return b.error("frames of " + llvm::Twine(frames->length) + " elements do not fit into " +
                   llvm::Twine(b.shapeOf(x)[1]));
  auto transform = [&](llvm::StringRef name, InitializerKind kind) -> Value {
    VariableRequest request{name, {frames->length, 1, frames->bins}, "", "", ""};
    request.initializer = makeKernelInitializer(b, kind);
    Value kernel = request.initializer ? b.addVariable(request) : Value();
    return kernel ? convolve(b, x, kernel, *frames) : Value();
  };
  Value real, imaginary;
  if (mode != "imag" && !(real = transform("real_kernel", InitializerKind::FourierCosine)))
    return {};
  if (mode != "real" && !(imaginary = transform("imag_kernel", InitializerKind::FourierSine)))
    return {};

  Value y = real ? real : imaginary;
  if (mode == "angle") {
    y = b.make<Arctan2Op>(imaginary, real);
  } else if (mode == "stft") {
    y = b.make<ConcatenateOp>(mlir::ValueRange{real, imaginary}, int64_t(3));
  } else if (real && imaginary) {
    y = b.make<AddOp>(b.make<MultiplyOp>(real, real), b.make<MultiplyOp>(imaginary, imaginary));
    if (mode == "psd") {
      // The frequencies between the first and the last one stand for negative ones, too.
      llvm::SmallVector<double> times(size_t(frames->bins), 2.0);
      times.front() = times.back() = 1.0;
      y = b.make<MultiplyOp>(y, b.makeConstant({frames->bins}, times));
    } else {
      y = b.make<SqrtOp>(b.make<MaximumOp>(y, b.makeConstant(1e-7)));
      if (mode == "log")
        y = b.make<LogOp>(b.make<MaximumOp>(y, b.makeConstant(1e-7)));
    }
  }
  const int64_t batch = b.shapeOf(y)[0], places = b.shapeOf(y)[1], channels = b.shapeOf(y)[2],
                bins = b.shapeOf(y)[3];
  if (!expands)
    return fromChannelsLast(b, *format, b.makeReshape(y, {batch, places, channels * bins}));
  return b.make<TransposeOp>(y, *format == DataFormat::ChannelsLast
                                    ? llvm::ArrayRef<int64_t>{0, 1, 3, 2}
                                    : llvm::ArrayRef<int64_t>{0, 2, 1, 3});
}

// ---- MelSpectrogram -----------------------------------------------------------------------------

/// Weights of frequencies in bands, [bins, bands], in float32 by Keras's steps
/// (linear_to_mel_weight_matrix).
llvm::SmallVector<double> makeMelWeights(int64_t bins, int64_t bands, float samplingRate,
                                         float lowest, float highest) {
  auto mel = [](float hertz) { return 1127.0f * std::log(1.0f + hertz / 700.0f); };
  // tf.linspace: the ends are exact.
  auto between = [](float start, float stop, int64_t place, int64_t count) {
    if (place + 1 == count)
      return count > 1 ? stop : start;
    return start + (stop - start) / float(count - 1) * float(place);
  };
  const float low = mel(lowest), high = mel(highest);
  llvm::SmallVector<double> weights(size_t(bins * bands), 0.0);
  for (int64_t bin = 1; bin < bins; ++bin) { // HTK leaves out the mean
    const float place = mel(between(0.0f, samplingRate / 2.0f, bin, bins));
    for (int64_t band = 0; band < bands; ++band) {
      const float lower = between(low, high, band, bands + 2),
                  centre = between(low, high, band + 1, bands + 2),
                  upper = between(low, high, band + 2, bands + 2);
      const float weight = std::max(
          0.0f, std::min((place - lower) / (centre - lower), (upper - place) / (upper - centre)));
      weights[size_t(bin * bands + band)] = double(weight);
    }
  }
  return weights;
}

/// 10 log10(max(x, least) / max(|reference|, least)), not below `range` decibels under the largest
/// value of the whole batch.
Value makeDecibels(LayerBuilder &b, Value x, double least, double reference, double range) {
  auto decibels = [&](Value power) {
    Value logarithm = b.make<LogOp>(b.make<MaximumOp>(power, b.makeConstant(least)));
    return b.make<MultiplyOp>(b.make<DivideOp>(logarithm, b.makeConstant(std::log(10.0))),
                              b.makeConstant(10));
  };
  const double referred =
      10.0 * std::log10(std::max(std::fabs(double(float(reference))), double(float(least))));
  Value y = b.make<SubtractOp>(decibels(x), b.makeConstant(double(float(referred))));
  Value largest = b.makeReduce(ReduceKind::Max, y, {0, 1, 2}, /*keepDims=*/false);
  return b.make<MaximumOp>(y, b.make<SubtractOp>(largest, b.makeConstant(range)));
}

Value importMel(LayerBuilder &b) {
  b.precision().refusals["f64"] =
      "and a MelSpectrogram layer transforms in float32 here; give it float32, by a "
      "policy map for this layer alone";
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
  Value input = b.getFloatInput(/*castIntegers=*/true);
  ShortTimeFourier fourier;
  fourier.length = b.getInteger("fft_length", 2048);
  fourier.sequenceStride = b.getInteger("sequence_stride", 512);
  fourier.sequenceLength = b.getInteger("sequence_length", fourier.length);
  fourier.window = getName(b, "window", "hann");
  const double samplingRate = b.getNumber("sampling_rate", 16000),
               lowest = b.getNumber("min_freq", 20),
               highest = b.getNumber("max_freq", std::trunc(samplingRate / 2)),
               exponent = b.getNumber("mag_exp", 2), least = b.getNumber("min_power", 1e-10),
               reference = b.getNumber("ref_power", 1), range = b.getNumber("top_db", 80);
  const int64_t bands = b.getInteger("num_mel_bins", 128);
  const bool takesLogarithm = b.getFlag("power_to_db", true);
  if (!input || b.hasFailed())
    return {};
  if (b.rankOf(input) != 2)
    return b.error("MelSpectrogram takes a batch of signals, 2 dimensions, not " +
                   llvm::Twine(b.rankOf(input)));
  if (bands < 1 || bands > (1 << 16) || !(samplingRate > 0))
    return b.error("'num_mel_bins' and 'sampling_rate' of MelSpectrogram must be positive");
  if (!(highest > lowest && lowest > -700)) // the mel scale's pole
    return b.error("'max_freq' of MelSpectrogram must be above 'min_freq'");
  Spectrum spectrum = fourier.transform(b, b.makeCastTo(input, b.builder.getF32Type()));
  if (!spectrum)
    return {};
  Value y = b.make<AddOp>(b.make<MultiplyOp>(spectrum.real, spectrum.real),
                          b.make<MultiplyOp>(spectrum.imaginary, spectrum.imaginary));
  // The power of the magnitude, which is needed for other exponents alone: in Keras silence has no
  // finite derivative because of its root.
  if (exponent != 2)
    y = b.make<SqrtOp>(y);
  if (exponent != 2 && exponent != 1)
    y = b.make<PowerOp>(y, b.makeConstant(exponent));
  const int64_t bins = b.shapeOf(y).back();
  if (bins > (int64_t(1) << 24) / bands)
    return b.error("the matrix of " + llvm::Twine(bins) + " frequencies in " + llvm::Twine(bands) +
                   " bands is too large");
  Value weights =
      b.makeCastTo(b.makeConstant({bins, bands}, makeMelWeights(bins, bands, float(samplingRate),
                                                                float(lowest), float(highest))),
                   b.builder.getF32Type());
  y = b.make<ContractOp>(y, weights, llvm::ArrayRef<int64_t>{2}, llvm::ArrayRef<int64_t>{0});
  if (takesLogarithm)
    y = makeDecibels(b, y, least, reference, range);
  return b.makeCastLike(b.make<TransposeOp>(y, llvm::ArrayRef<int64_t>{0, 2, 1}), input);
}

constexpr LayerEntry kSpectrogramLayers[] = {
    {"MelSpectrogram", importMel},
    {"STFTSpectrogram", importStft},
};

} // namespace

llvm::ArrayRef<LayerEntry> spectrogramLayers() { return kSpectrogramLayers; }

} // namespace mpc::keras
