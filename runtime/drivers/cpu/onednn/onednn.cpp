// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneDNN 2.6 behind onednn.h. Primitives are made for concrete shapes: run-time dimensions fall
// back to a kernel that is several times slower. Scratchpads are ours, so that they are counted and
// their pages stay warm.
#include "runtime/drivers/cpu/onednn/onednn_internal.h"
#include "runtime/drivers/cpu/onednn/onednn_library.h"

#include <cstdio>
#include <cstring>
#include <map>

namespace mpc::rt::onednn {

using dnnl::memory;

dnnl::engine &engine() {
  load();
  static dnnl::engine shared(dnnl::engine::kind::cpu, 0);
  return shared;
}

dnnl::stream &stream() {
  static thread_local dnnl::stream own(engine());
  return own;
}

bool hasNativeBFloat16() { return isa().bfloat16; }
bool packsBFloat16WithVectors() { return isa().avx512; }
bool hasExactInt8() { return isa().vnni; }
bool hasAmx() { return isa().amx; }

bool multipliesTerms(Element element, int64_t k) {
  const int64_t group = element == Element::int8 ? 4 : 2, tile = 16 * group;
  return element == Element::float32 || !hasAmx() || k % tile <= tile - group;
}

const char *version() {
  static char text[32];
  static const bool written = [] {
    load();
    const dnnl_version_t *v = dnnl_version();
    return std::snprintf(text, sizeof(text), "%d.%d.%d", v->major, v->minor, v->patch) > 0;
  }();
  return written ? text : "";
}

// ---- Packed weights -----------------------------------------------------------------------------

struct PackedLayout::Implementation {
  struct Packing {
    dnnl::reorder primitive;
    memory from, to, scratchpad;
  };
  int64_t k, n;
  memory::desc layout;
  std::map<std::pair<Element, bool>, Packing> packings;
};

PackedLayout::PackedLayout(int64_t k, int64_t n, Element element)
    : implementation(new Implementation{k, n, {}, {}}) {
  const Making making;
  // Any row count gives the same layout; this one is large enough for the blocked kernels.
  constexpr int64_t canonicalRows = 256;
  auto type = typeOf(element);
  dnnl::matmul::primitive_desc canonical(
      {memory::desc({canonicalRows, k}, type, memory::format_tag::ab),
       memory::desc({k, n}, type, memory::format_tag::any),
       memory::desc({canonicalRows, n}, sumTypeOf(element), memory::format_tag::ab)},
      userScratchpad(), engine());
  implementation->layout = canonical.weights_desc();
}

PackedLayout::~PackedLayout() = default;

uint64_t PackedLayout::bytes() const { return implementation->layout.get_size(); }

void PackedLayout::pack(const void *from, Element fromElement, bool transposed, void *to,
                        Buffer &scratch) {
  auto found = implementation->packings.find({fromElement, transposed});
  if (found == implementation->packings.end()) {
    const Making making;
    memory::desc plain({implementation->k, implementation->n}, typeOf(fromElement),
                       transposed ? memory::format_tag::ba : memory::format_tag::ab);
    dnnl::reorder::primitive_desc descriptor(engine(), plain, engine(), implementation->layout,
                                             userScratchpad());
    Implementation::Packing packing{dnnl::reorder(descriptor), empty(plain),
                                    empty(implementation->layout),
                                    empty(descriptor.scratchpad_desc())};
    found =
        implementation->packings.emplace(std::make_pair(fromElement, transposed), packing).first;
  }
  auto &packing = found->second;
  reserve(scratch, packing.scratchpad.get_desc().get_size());
  setHandle(packing.from, const_cast<void *>(from));
  setHandle(packing.scratchpad, scratch.data());
  // Zeroes the padding of the layout, which kernels read.
  check(dnnl_memory_set_data_handle_v2(packing.to.get(), to, stream().get()),
        "setting a oneDNN buffer");
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, packing.from.get()},
                                 {DNNL_ARG_TO, packing.to.get()},
                                 {DNNL_ARG_SCRATCHPAD, packing.scratchpad.get()}};
  check(dnnl_primitive_execute(packing.primitive.get(), stream().get(), 3, arguments),
        "packing weights with oneDNN");
}

// ---- Products -----------------------------------------------------------------------------------

struct Product::Implementation {
  dnnl::matmul primitive;
  memory lhs, rhs, bias, out, scratchpad;
  uint64_t scratchBytes = 0;
  bool hasBias = false;
  char name[48] = {};
};

Product::Product(const ProductShape &shape) : implementation(new Implementation) {
  const Making making;
  bool flat = shape.batch == 1;
  auto describe = [&](int64_t rows, int64_t columns, memory::data_type type,
                      const ProductShape::Strides &strides) {
    return flat ? memory::desc({rows, columns}, type, memory::dims{strides.row, strides.column})
                : memory::desc({shape.batch, rows, columns}, type,
                               memory::dims{strides.batch, strides.row, strides.column});
  };
  auto lhs = describe(shape.m, shape.k, typeOf(shape.element), shape.lhs);
  auto rhs = shape.packed ? shape.packed->implementation->layout
                          : describe(shape.k, shape.n, typeOf(shape.element), shape.rhs);
  auto out =
      describe(shape.m, shape.n, shape.isRounded ? typeOf(shape.element) : sumTypeOf(shape.element),
               shape.out);
  auto bias =
      memory::desc(flat ? memory::dims{1, shape.n} : memory::dims{1, 1, shape.n},
                   memory::data_type::f32, flat ? memory::format_tag::ab : memory::format_tag::abc);

  auto attributes = userScratchpad();
  if (shape.accumulate) {
    dnnl::post_ops operations;
    operations.append_sum(1.0f);
    attributes.set_post_ops(operations);
  }
  auto descriptor =
      shape.bias ? dnnl::matmul::desc(lhs, rhs, bias, out) : dnnl::matmul::desc(lhs, rhs, out);
  dnnl::matmul::primitive_desc primitive(descriptor, attributes, engine());

  auto &own = *implementation;
  own.primitive = dnnl::matmul(primitive);
  own.lhs = empty(lhs);
  own.rhs = empty(rhs);
  own.bias = empty(bias);
  own.out = empty(out);
  own.scratchpad = empty(primitive.scratchpad_desc());
  own.scratchBytes = primitive.scratchpad_desc().get_size();
  own.hasBias = shape.bias;
  std::strncpy(own.name, primitive.impl_info_str(), sizeof(own.name) - 1);
}

Product::~Product() = default;

const char *Product::kernel() const { return implementation->name; }
bool Product::isFast() const { return std::strncmp(implementation->name, "ref", 3) != 0; }

uint64_t Product::scratchBytes() const { return implementation->scratchBytes; }

void Product::run(const void *lhs, const void *rhs, const float *bias, void *out, Buffer &scratch) {
  auto &own = *implementation;
  reserve(scratch, own.scratchBytes);
  setHandle(own.lhs, const_cast<void *>(lhs));
  setHandle(own.rhs, const_cast<void *>(rhs));
  setHandle(own.out, out);
  setHandle(own.scratchpad, scratch.data());
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, own.lhs.get()},
                                  {DNNL_ARG_WEIGHTS, own.rhs.get()},
                                  {DNNL_ARG_DST, own.out.get()},
                                  {DNNL_ARG_SCRATCHPAD, own.scratchpad.get()}};
  int count = 4;
  if (own.hasBias) {
    setHandle(own.bias, const_cast<float *>(bias));
    arguments[count++] = {DNNL_ARG_BIAS, own.bias.get()};
  }
  check(dnnl_primitive_execute(own.primitive.get(), stream().get(), count, arguments),
        "a matrix product with oneDNN");
}

} // namespace mpc::rt::onednn
