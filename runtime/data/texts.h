// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays of texts: whether they are some, how wide, and as other programs write them.
#ifndef MPC_RUNTIME_DATA_TEXTS_H
#define MPC_RUNTIME_DATA_TEXTS_H

#include "runtime/data/array.h"

namespace mpc::data {

/// The first text that has a place that is no code point, or one behind its end; a failure says so.
Status checkTexts(const Array &texts, const std::string &place);

/// A copy of the texts with room for `width` code points each; a failure names the first that has
/// more (`label`: the input).
Result<Array> fitTexts(const Array &texts, int64_t width, const std::string &label);

/// The text at `index` in UTF-8.
std::string textAt(const Array &texts, int64_t index);

} // namespace mpc::data
#endif
