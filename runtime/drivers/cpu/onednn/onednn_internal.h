// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Definitions that the files talking to oneDNN share. Other files must not see them: the 2.x and
// 3.x APIs differ.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_INTERNAL_H
#define MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_INTERNAL_H

#include "runtime/base/fork_watch.h"
#include "runtime/drivers/cpu/onednn/onednn.h"
#include "runtime/drivers/cpu/onednn/onednn_library.h"

#include <dnnl.hpp>

#include <new>

namespace mpc::rt::onednn {

// Stands where primitives are made. No process forks meanwhile: oneDNN locks its cache.
struct Making {
  Making() { loadToMake(); }
  ForkBarrier barrier;
};

dnnl::engine &engine();
// In-order CPU streams hold no state: one per thread costs nothing and needs no lock.
dnnl::stream &stream();

inline dnnl::memory::data_type typeOf(Element element) {
  switch (element) {
  case Element::bfloat16:
    return dnnl::memory::data_type::bf16;
  case Element::int8:
    return dnnl::memory::data_type::s8;
  default:
    return dnnl::memory::data_type::f32;
  }
}

// The type of sums.
inline dnnl::memory::data_type sumTypeOf(Element element) {
  return element == Element::int8 ? dnnl::memory::data_type::s32 : dnnl::memory::data_type::f32;
}

inline void check(dnnl_status_t status, const char *what) {
  if (status != dnnl_success)
    throw dnnl::error(status, what);
}

inline dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

inline void setHandle(const dnnl::memory &object, void *data) {
  check(dnnl_memory_set_data_handle(object.get(), data), "setting a oneDNN buffer");
}

inline dnnl::memory empty(const dnnl::memory::desc &layout) {
  return dnnl::memory(layout, engine(), DNNL_MEMORY_NONE);
}

} // namespace mpc::rt::onednn

#endif
