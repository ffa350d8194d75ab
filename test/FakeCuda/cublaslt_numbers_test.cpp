// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers, structs and functions that runtime/drivers/cuda/cublaslt_api.h declares are those of
// cuBLASLt's own header. Compiled where a CUDA toolkit is; nothing runs.
#include "runtime/drivers/cuda/cublaslt_api.h"
#include "test/FakeCuda/alike_functions.h"

#include <cstddef>
#include <cublasLt.h>

namespace {

namespace lt = mpc::rt::cuda::lt;

#define MPC_SAME(ours, theirs)                                                                     \
  static_assert(static_cast<int>(lt::ours) == static_cast<int>(theirs), #theirs)
MPC_SAME(r32f, CUDA_R_32F);
MPC_SAME(r64f, CUDA_R_64F);
MPC_SAME(r16f, CUDA_R_16F);
MPC_SAME(r8i, CUDA_R_8I);
MPC_SAME(r32i, CUDA_R_32I);
MPC_SAME(r16bf, CUDA_R_16BF);
MPC_SAME(r8fE4M3, CUDA_R_8F_E4M3);
MPC_SAME(r8fE5M2, CUDA_R_8F_E5M2);
MPC_SAME(compute32f, CUBLAS_COMPUTE_32F);
MPC_SAME(compute64f, CUBLAS_COMPUTE_64F);
MPC_SAME(compute32i, CUBLAS_COMPUTE_32I);
MPC_SAME(compute32fTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
MPC_SAME(transA, CUBLASLT_MATMUL_DESC_TRANSA);
MPC_SAME(transB, CUBLASLT_MATMUL_DESC_TRANSB);
MPC_SAME(epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
MPC_SAME(biasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
MPC_SAME(auxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
MPC_SAME(auxLeading, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
MPC_SAME(batchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
MPC_SAME(batchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
MPC_SAME(workspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
MPC_SAME(reductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
MPC_SAME(alignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
MPC_SAME(alignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
MPC_SAME(alignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
MPC_SAME(alignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
MPC_SAME(epilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
MPC_SAME(epilogueRelu, CUBLASLT_EPILOGUE_RELU);
MPC_SAME(epilogueBias, CUBLASLT_EPILOGUE_BIAS);
MPC_SAME(epilogueReluMask, CUBLASLT_EPILOGUE_RELU_AUX);
MPC_SAME(epilogueReluDerivative, CUBLASLT_EPILOGUE_DRELU);
MPC_SAME(epilogueGelu, CUBLASLT_EPILOGUE_GELU);
MPC_SAME(epilogueGeluKept, CUBLASLT_EPILOGUE_GELU_AUX);
MPC_SAME(epilogueGeluDerivative, CUBLASLT_EPILOGUE_DGELU);
MPC_SAME(epilogueColumnSums, CUBLASLT_EPILOGUE_BGRADA);
// They are put together with a bias as flags.
MPC_SAME(epilogueRelu | lt::epilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);
MPC_SAME(epilogueReluMask | lt::epilogueBias, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
MPC_SAME(epilogueGelu | lt::epilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS);
MPC_SAME(epilogueGeluKept | lt::epilogueBias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
MPC_SAME(majorVersion, MAJOR_VERSION);
MPC_SAME(minorVersion, MINOR_VERSION);
MPC_SAME(patchLevel, PATCH_LEVEL);
MPC_SAME(none, CUBLAS_OP_N);
MPC_SAME(transpose, CUBLAS_OP_T);
MPC_SAME(configReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
MPC_SAME(reduceNothing, CUBLASLT_REDUCTION_SCHEME_NONE);
MPC_SAME(reduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
#undef MPC_SAME

static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
#define MPC_SAME_PLACE(ours, theirs)                                                               \
  static_assert(                                                                                   \
      offsetof(lt::Heuristic, ours) == offsetof(cublasLtMatmulHeuristicResult_t, theirs), #theirs)
MPC_SAME_PLACE(algorithm, algo);
MPC_SAME_PLACE(workspaceBytes, workspaceSize);
MPC_SAME_PLACE(state, state);
MPC_SAME_PLACE(wavesCount, wavesCount);
#undef MPC_SAME_PLACE

#define MPC_ALIKE(field, theirs)                                                                   \
  static_assert(mpc::test::IsAlike<decltype(lt::Api::field), decltype(&(theirs))>::value, #theirs)
MPC_ALIKE(create, cublasLtCreate);
MPC_ALIKE(destroy, cublasLtDestroy);
MPC_ALIKE(descCreate, cublasLtMatmulDescCreate);
MPC_ALIKE(descDestroy, cublasLtMatmulDescDestroy);
MPC_ALIKE(descSet, cublasLtMatmulDescSetAttribute);
MPC_ALIKE(layoutCreate, cublasLtMatrixLayoutCreate);
MPC_ALIKE(layoutDestroy, cublasLtMatrixLayoutDestroy);
MPC_ALIKE(layoutSet, cublasLtMatrixLayoutSetAttribute);
MPC_ALIKE(preferenceCreate, cublasLtMatmulPreferenceCreate);
MPC_ALIKE(preferenceDestroy, cublasLtMatmulPreferenceDestroy);
MPC_ALIKE(preferenceSet, cublasLtMatmulPreferenceSetAttribute);
MPC_ALIKE(property, cublasLtGetProperty);
MPC_ALIKE(algorithmCheck, cublasLtMatmulAlgoCheck);
MPC_ALIKE(configGet, cublasLtMatmulAlgoConfigGetAttribute);
MPC_ALIKE(heuristic, cublasLtMatmulAlgoGetHeuristic);
MPC_ALIKE(matmul, cublasLtMatmul);
#undef MPC_ALIKE

} // namespace
