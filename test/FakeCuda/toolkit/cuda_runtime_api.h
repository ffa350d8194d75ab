// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a CUDA toolkit that cuDNN's headers need, so that their numbers can be read without
// one.
#ifndef MPC_TEST_FAKECUDA_TOOLKIT_CUDA_RUNTIME_API_H
#define MPC_TEST_FAKECUDA_TOOLKIT_CUDA_RUNTIME_API_H

#include <stddef.h>

typedef struct CUstream_st *cudaStream_t;
typedef struct CUgraph_st *cudaGraph_t;

#endif
