// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As cuda_runtime_api.h beside it.
#ifndef MPC_TEST_FAKECUDA_TOOLKIT_LIBRARY_TYPES_H
#define MPC_TEST_FAKECUDA_TOOLKIT_LIBRARY_TYPES_H

typedef enum libraryPropertyType_t {
  MAJOR_VERSION,
  MINOR_VERSION,
  PATCH_LEVEL
} libraryPropertyType;

#endif
