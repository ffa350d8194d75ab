// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneDNN 2.6 behind onednn_convolution.h.
#include "runtime/drivers/cpu/onednn/onednn_convolution.h"
#include "runtime/drivers/cpu/onednn/onednn_internal.h"

#include <cstring>
#include <vector>

namespace mpc::rt::onednn {

using dnnl::memory;

class FilterLayout {
public:
  explicit FilterLayout(const memory::desc &layout) : layout(layout) {}
  memory::desc layout;
};

struct FilterLayouts::Implementation {
  std::vector<std::unique_ptr<FilterLayout>> known;

  const FilterLayout *find(const memory::desc &layout) {
    for (auto &candidate : known)
      if (candidate->layout == layout)
        return candidate.get();
    known.push_back(std::make_unique<FilterLayout>(layout));
    return known.back().get();
  }
};

FilterLayouts::FilterLayouts() : implementation(new Implementation) {}
FilterLayouts::~FilterLayouts() = default;

namespace {

// The last `spatial` of the extents.
memory::dims spatialDims(const Convolution &c, const Convolution::Extents &extents) {
  return {extents.end() - c.spatial, extents.end()};
}

// [batch, channels, extents...] as oneDNN counts dimensions, stored channels last.
memory::desc imageDesc(const Convolution &c, int64_t batch, int64_t channels,
                       const Convolution::Extents &extents, memory::data_type type) {
  memory::dims dims{batch, channels};
  for (int64_t extent : spatialDims(c, extents))
    dims.push_back(extent);
  constexpr memory::format_tag tags[] = {memory::format_tag::nwc, memory::format_tag::nhwc,
                                         memory::format_tag::ndhwc};
  return memory::desc(dims, type, tags[c.spatial - 1]);
}

memory::dims filterDims(const Convolution &c) {
  memory::dims dims;
  if (c.groups > 1)
    dims.push_back(c.groups);
  dims.push_back(c.filters / c.groups);
  dims.push_back(c.channels / c.groups);
  for (int64_t extent : spatialDims(c, c.kernel))
    dims.push_back(extent);
  return dims;
}

// Row-major [kernel..., channels / groups, filters]; the filters of a group are neighbours.
memory::desc plainFilterDesc(const Convolution &c, memory::data_type type) {
  memory::dims strides;
  if (c.groups > 1)
    strides.push_back(c.filters / c.groups);
  strides.push_back(1);
  strides.push_back(c.filters);
  memory::dims kernel = spatialDims(c, c.kernel), spatial(kernel.size());
  int64_t stride = c.channels / c.groups * c.filters;
  for (size_t d = kernel.size(); d-- > 0; stride *= kernel[d])
    spatial[d] = stride;
  strides.insert(strides.end(), spatial.begin(), spatial.end());
  return memory::desc(filterDims(c), type, strides);
}

// One convolution as oneDNN is told of it.
struct Description {
  Description(const Convolution &c, int64_t batch, Element element, Element result, bool addBias);

  dnnl::convolution_forward::desc forwardWith(const memory::desc &weights) const;
  // The backward primitives want a forward one as a hint.
  dnnl::convolution_forward::primitive_desc hint() const;

  static constexpr auto algorithm = dnnl::algorithm::convolution_direct;
  bool forward, toImages, toFilter, addBias;
  memory::data_type narrow;
  memory::desc images, outputs, bias, plainFilter;
  memory::dims filter, strides, dilations, low, high;

  // A filter in the layout that the primitive prefers.
  memory::desc anyFilter(memory::data_type type) const {
    return memory::desc(filter, type, memory::format_tag::any);
  }
};

Description::Description(const Convolution &c, int64_t batch, Element element, Element result,
                         bool addBias)
    : forward(c.direction == MPC_RT_CONVOLUTION_FORWARD),
      toImages(c.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT),
      toFilter(c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT), addBias(addBias),
      narrow(typeOf(element)), filter(filterDims(c)), strides(spatialDims(c, c.strides)),
      dilations(spatialDims(c, c.dilations)), low(spatialDims(c, c.low)),
      high(spatialDims(c, c.high)) {
  constexpr auto wide = memory::data_type::f32;
  images = imageDesc(c, batch, c.channels, c.images, toImages ? typeOf(result) : narrow);
  outputs = imageDesc(c, batch, c.filters, c.outputs, forward ? typeOf(result) : narrow);
  plainFilter = plainFilterDesc(c, toFilter ? wide : narrow);
  bias = memory::desc({c.filters}, wide, memory::format_tag::a);
  for (auto &dilation : dilations)
    --dilation; // oneDNN counts the skipped elements
}

dnnl::convolution_forward::desc Description::forwardWith(const memory::desc &weights) const {
  auto kind = forward ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
  return addBias ? dnnl::convolution_forward::desc(kind, algorithm, images, weights, bias, outputs,
                                                   strides, dilations, low, high)
                 : dnnl::convolution_forward::desc(kind, algorithm, images, weights, outputs,
                                                   strides, dilations, low, high);
}

dnnl::convolution_forward::primitive_desc Description::hint() const {
  return {forwardWith(anyFilter(narrow)), engine()};
}

struct Reorder {
  dnnl::reorder primitive;
  memory from, to, scratchpad;

  Reorder() = default;
  Reorder(const memory::desc &source, const memory::desc &target)
      : from(empty(source)), to(empty(target)) {
    const Making making;
    dnnl::reorder::primitive_desc descriptor(engine(), source, engine(), target, userScratchpad());
    primitive = dnnl::reorder(descriptor);
    scratchpad = empty(descriptor.scratchpad_desc());
  }
  void run(const void *source, void *target, Buffer &scratch) {
    reserve(scratch, scratchpad.get_desc().get_size());
    setHandle(from, const_cast<void *>(source));
    setHandle(scratchpad, scratch.data());
    // Zeroes the padding of the layout, which kernels read.
    check(dnnl_memory_set_data_handle_v2(to.get(), target, stream().get()),
          "setting a oneDNN buffer");
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()},
                                   {DNNL_ARG_TO, to.get()},
                                   {DNNL_ARG_SCRATCHPAD, scratchpad.get()}};
    check(dnnl_primitive_execute(primitive.get(), stream().get(), 3, arguments),
          "reordering a filter with oneDNN");
  }
};

} // namespace

struct ConvolutionPrimitive::Implementation {
  mpc_rt_convolution_direction_t direction;
  dnnl::primitive primitive;
  memory images, filter, outputs, bias, scratchpad;
  memory::desc plainFilter;
  bool addBias = false, plain = false;
  const FilterLayout *layout = nullptr;
  Reorder reorder; // between the plain filter and the primitive's
  char name[48] = {};

  // If the number of channels is odd, the kernels named brgconv and those with tiles multiply the
  // first channel of the next pixel by zero, which gives NaN if it is infinite.
  template <typename Descriptor> static void leavePairs(Descriptor &descriptor) {
    auto pairs = [](const char *name) {
      return std::strncmp(name, "brgconv", 7) == 0 || std::strstr(name, "amx");
    };
    while (pairs(descriptor.impl_info_str()))
      if (!descriptor.next_impl())
        throw dnnl::error(dnnl_unimplemented, "no kernel for an odd number of channels");
  }
  template <typename Descriptor> void take(const Descriptor &descriptor) {
    scratchpad = empty(descriptor.scratchpad_desc());
    std::strncpy(name, descriptor.impl_info_str(), sizeof(name) - 1);
  }

  // Each makes the primitive, and returns the layout that it has the filter in.
  memory::desc makeForward(const Description &d, const memory::desc &filter, bool hasOddChannels) {
    dnnl::convolution_forward::primitive_desc descriptor(d.forwardWith(filter), userScratchpad(),
                                                         engine());
    if (hasOddChannels)
      leavePairs(descriptor);
    primitive = dnnl::convolution_forward(descriptor);
    take(descriptor);
    return descriptor.weights_desc();
  }
  memory::desc makeInputGradient(const Description &d, const memory::desc &filter) {
    const auto hint = d.hint();
    dnnl::convolution_backward_data::primitive_desc descriptor(
        {d.algorithm, d.images, filter, d.outputs, d.strides, d.dilations, d.low, d.high},
        userScratchpad(), engine(), hint);
    primitive = dnnl::convolution_backward_data(descriptor);
    take(descriptor);
    return descriptor.weights_desc();
  }
  memory::desc makeFilterGradient(const Description &d, const memory::desc &filter) {
    const auto hint = d.hint();
    dnnl::convolution_backward_weights::primitive_desc descriptor(
        {d.algorithm, d.images, filter, d.outputs, d.strides, d.dilations, d.low, d.high},
        userScratchpad(), engine(), hint);
    primitive = dnnl::convolution_backward_weights(descriptor);
    take(descriptor);
    return descriptor.diff_weights_desc();
  }
};

ConvolutionPrimitive::ConvolutionPrimitive(const Convolution &c, int64_t batch, Element element,
                                           Element result, bool addBias, FilterLayouts &layouts,
                                           const ConvolutionPrimitive *like)
    : implementation(new Implementation) {
  const Making making;
  auto &own = *implementation;
  own.direction = c.direction;
  own.addBias = addBias;
  const Description d(c, batch, element, result, addBias);
  own.plainFilter = d.plainFilter;
  auto filter = like ? like->implementation->filter.get_desc()
                     : d.anyFilter(d.toFilter ? memory::data_type::f32 : d.narrow);
  try {
    const bool hasOddChannels = element == Element::bfloat16 && c.channels / c.groups % 2;
    auto weights = d.forward    ? own.makeForward(d, filter, hasOddChannels)
                   : d.toImages ? own.makeInputGradient(d, filter)
                                : own.makeFilterGradient(d, filter);
    own.plain = weights == own.plainFilter;
    if (!own.plain)
      own.reorder =
          d.toFilter ? Reorder(weights, own.plainFilter) : Reorder(own.plainFilter, weights);
    own.layout = own.plain ? nullptr : layouts.implementation->find(weights);
    own.filter = empty(weights);
  } catch (const dnnl::error &error) {
    if (error.status != dnnl_unimplemented)
      throw;
    implementation.reset();
    return;
  }
  own.images = empty(d.images);
  own.outputs = empty(d.outputs);
  own.bias = empty(d.bias);
}

ConvolutionPrimitive::~ConvolutionPrimitive() = default;

bool ConvolutionPrimitive::isSupported() const { return implementation != nullptr; }
const char *ConvolutionPrimitive::kernel() const { return implementation->name; }
const FilterLayout *ConvolutionPrimitive::filterLayout() const { return implementation->layout; }
uint64_t ConvolutionPrimitive::filterBytes() const {
  return implementation->filter.get_desc().get_size();
}

void ConvolutionPrimitive::packFilter(const void *from, void *to, Buffer &scratch) const {
  implementation->reorder.run(from, to, scratch);
}

void ConvolutionPrimitive::reserveFor(Buffer &scratch, Buffer &filterScratch) const {
  auto &own = *implementation;
  if (own.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT && !own.plain)
    reserve(filterScratch, filterBytes());
  reserve(scratch, own.scratchpad.get_desc().get_size());
}

void ConvolutionPrimitive::run(const void *lhs, const void *rhs, const float *bias, void *out,
                               Buffer &scratch, Buffer &filterScratch) {
  auto &own = *implementation;
  bool toFilter = own.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  bool toImages = own.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT;
  void *target = out;
  reserveFor(scratch, filterScratch);
  if (toFilter && !own.plain)
    target = filterScratch.data();
  setHandle(own.scratchpad, scratch.data());
  setHandle(own.images, toImages ? target : const_cast<void *>(lhs));
  setHandle(own.filter, toFilter ? target : const_cast<void *>(rhs));
  setHandle(own.outputs, toFilter   ? const_cast<void *>(rhs)
                         : toImages ? const_cast<void *>(lhs)
                                    : target);
  dnnl_exec_arg_t arguments[5] = {
      {toImages ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, own.images.get()},
      {toFilter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, own.filter.get()},
      {toImages || toFilter ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, own.outputs.get()},
      {DNNL_ARG_SCRATCHPAD, own.scratchpad.get()}};
  int count = 4;
  if (own.addBias) {
    setHandle(own.bias, const_cast<float *>(bias));
    arguments[count++] = {DNNL_ARG_BIAS, own.bias.get()};
  }
  check(dnnl_primitive_execute(own.primitive.get(), stream().get(), count, arguments),
        "a convolution with oneDNN");
  if (toFilter && !own.plain)
    own.reorder.run(target, out, scratch);
}

} // namespace mpc::rt::onednn
