// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers and functions that runtime/drivers/cuda/cudnn_api.h declares are those of cuDNN's own
// header. Compiled where that header is (scripts/build --with-cuda brings it); nothing runs.
#include "runtime/drivers/cuda/cudnn_api.h"

#include <cudnn_graph.h>
#include <type_traits>

namespace {

namespace dnn = mpc::rt::cuda::dnn;

#define MPC_SAME(ours, theirs)                                                                     \
  static_assert(static_cast<int>(dnn::ours) == static_cast<int>(theirs), #theirs)
MPC_SAME(modeA, CUDNN_HEUR_MODE_A);
MPC_SAME(modeFallback, CUDNN_HEUR_MODE_FALLBACK);
MPC_SAME(modeB, CUDNN_HEUR_MODE_B);
MPC_SAME(propagateNaN, CUDNN_PROPAGATE_NAN);
MPC_SAME(reluForward, CUDNN_POINTWISE_RELU_FWD);
MPC_SAME(add, CUDNN_POINTWISE_ADD);
MPC_SAME(crossCorrelation, CUDNN_CROSS_CORRELATION);
MPC_SAME(bfloat16, CUDNN_DATA_BFLOAT16);
MPC_SAME(float16, CUDNN_DATA_HALF);
MPC_SAME(float32, CUDNN_DATA_FLOAT);
MPC_SAME(success, CUDNN_STATUS_SUCCESS);
MPC_SAME(pointwiseDescriptor, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
MPC_SAME(convolutionDescriptor, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
MPC_SAME(engineDescriptor, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
MPC_SAME(engineConfigDescriptor, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
MPC_SAME(heuristicDescriptor, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
MPC_SAME(planDescriptor, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
MPC_SAME(forwardOperation, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
MPC_SAME(filterGradientOperation, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
MPC_SAME(dataGradientOperation, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
MPC_SAME(pointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
MPC_SAME(graphDescriptor, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
MPC_SAME(variantPackDescriptor, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
MPC_SAME(tensorDescriptor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
MPC_SAME(pointwiseKind, CUDNN_ATTR_POINTWISE_MODE);
MPC_SAME(pointwiseMathType, CUDNN_ATTR_POINTWISE_MATH_PREC);
MPC_SAME(pointwiseNanPropagation, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION);
MPC_SAME(convolutionMathType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
MPC_SAME(convolutionKind, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
MPC_SAME(convolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
MPC_SAME(convolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
MPC_SAME(convolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
MPC_SAME(convolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
MPC_SAME(convolutionSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
MPC_SAME(heuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE);
MPC_SAME(heuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
MPC_SAME(heuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
MPC_SAME(configEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
MPC_SAME(planHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
MPC_SAME(planConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
MPC_SAME(planWorkspaceBytes, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
MPC_SAME(forwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
MPC_SAME(forwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
MPC_SAME(forwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
MPC_SAME(forwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
MPC_SAME(forwardInput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
MPC_SAME(forwardOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
MPC_SAME(dataGradientAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
MPC_SAME(dataGradientBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
MPC_SAME(dataGradientConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
MPC_SAME(dataGradientFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
MPC_SAME(dataGradientInput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
MPC_SAME(dataGradientOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
MPC_SAME(filterGradientAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
MPC_SAME(filterGradientBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
MPC_SAME(filterGradientConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
MPC_SAME(filterGradientFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
MPC_SAME(filterGradientInput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
MPC_SAME(filterGradientOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
MPC_SAME(pointwiseDescription, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
MPC_SAME(pointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
MPC_SAME(pointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
MPC_SAME(pointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
MPC_SAME(graphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
MPC_SAME(graphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
MPC_SAME(tensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
MPC_SAME(tensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE);
MPC_SAME(tensorExtents, CUDNN_ATTR_TENSOR_DIMENSIONS);
MPC_SAME(tensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
MPC_SAME(tensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
MPC_SAME(tensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
MPC_SAME(packIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
MPC_SAME(packPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
MPC_SAME(packWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
MPC_SAME(engineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
MPC_SAME(engineNumericalNote, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
MPC_SAME(typeHandle, CUDNN_TYPE_HANDLE);
MPC_SAME(typeDataType, CUDNN_TYPE_DATA_TYPE);
MPC_SAME(typeBoolean, CUDNN_TYPE_BOOLEAN);
MPC_SAME(typeInt64, CUDNN_TYPE_INT64);
MPC_SAME(typeFloat, CUDNN_TYPE_FLOAT);
MPC_SAME(typePointer, CUDNN_TYPE_VOID_PTR);
MPC_SAME(typeConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
MPC_SAME(typeHeuristicMode, CUDNN_TYPE_HEUR_MODE);
MPC_SAME(typeNanPropagation, CUDNN_TYPE_NAN_PROPOGATION);
MPC_SAME(typeNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE);
MPC_SAME(typePointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
MPC_SAME(typeDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
MPC_SAME(tensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
MPC_SAME(downConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
MPC_SAME(reducedPrecisionReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
MPC_SAME(fft, CUDNN_NUMERICAL_NOTE_FFT);
MPC_SAME(nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
MPC_SAME(winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);
MPC_SAME(winogradTile4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4);
MPC_SAME(winogradTile6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
MPC_SAME(winogradTile13x13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
#undef MPC_SAME

// As many parameters of the same sizes: enumerations and opaque pointers stand for each other.
template <typename Ours, typename Theirs> struct IsAlike : std::false_type {};
template <typename R1, typename... P1, typename R2, typename... P2>
struct IsAlike<R1 (*)(P1...), R2 (*)(P2...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(P1) == sizeof...(P2))
      return sizeof(R1) == sizeof(R2) && ((sizeof(P1) == sizeof(P2)) && ...);
    else
      return false;
  }();
};
#define MPC_ALIKE(field, theirs)                                                                   \
  static_assert(IsAlike<decltype(dnn::Api::field), decltype(&(theirs))>::value, #theirs)
MPC_ALIKE(getVersion, cudnnGetVersion);
MPC_ALIKE(getErrorString, cudnnGetErrorString);
MPC_ALIKE(create, cudnnCreate);
MPC_ALIKE(destroy, cudnnDestroy);
MPC_ALIKE(setStream, cudnnSetStream);
MPC_ALIKE(createDescriptor, cudnnBackendCreateDescriptor);
MPC_ALIKE(destroyDescriptor, cudnnBackendDestroyDescriptor);
MPC_ALIKE(finalize, cudnnBackendFinalize);
MPC_ALIKE(setAttribute, cudnnBackendSetAttribute);
MPC_ALIKE(getAttribute, cudnnBackendGetAttribute);
MPC_ALIKE(execute, cudnnBackendExecute);
#undef MPC_ALIKE

} // namespace
