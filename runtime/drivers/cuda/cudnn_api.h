// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of cuDNN's backend graph API that is used, found by name. Numbers are those of
// cudnn_graph.h of cuDNN 9; test/FakeCuda/cudnn_numbers_test.cpp compares them where the header is.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CUDNN_API_H
#define MPC_RUNTIME_DRIVERS_CUDA_CUDNN_API_H

#include "runtime/drivers/cuda/cuda_api.h"

namespace mpc::rt::cuda::dnn {

using Handle = struct OpaqueDnn *;
using Descriptor = void *; // cudnnBackendDescriptor_t

enum Status : int { success = 0 }; // cudnnStatus_t
// cudnnDataType_t.
enum DataType : int { float32 = 0, float16 = 2, int32 = 4, bfloat16 = 9, boolean = 11 };
enum ConvolutionMode : int { crossCorrelation = 1 }; // cudnnConvolutionMode_t
// cudnnPointwiseMode_t.
enum PointwiseMode : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  reluForward = 100,
  isGreaterOrEqual = 303,
  generateIndex = 501,
  binarySelect = 601
};
enum ReduceOperator : int { sum = 0, maximum = 3 };                  // cudnnReduceTensorOp_t
enum NanPropagation : int { propagateNaN = 1 };                      // cudnnNanPropagation_t
enum HeuristicMode : int { modeB = 1, modeFallback = 2, modeA = 3 }; // cudnnBackendHeurMode_t

// cudnnBackendDescriptorType_t.
enum DescriptorType : int {
  pointwiseDescriptor = 0,
  convolutionDescriptor = 1,
  engineDescriptor = 2,
  engineConfigDescriptor = 3,
  heuristicDescriptor = 4,
  planDescriptor = 5,
  forwardOperation = 10,
  filterGradientOperation = 11,
  dataGradientOperation = 12,
  pointwiseOperation = 13,
  graphDescriptor = 15,
  variantPackDescriptor = 16,
  tensorDescriptor = 17,
  matmulDescriptor = 18,
  matmulOperation = 19,
  reductionDescriptor = 21,
  reductionOperation = 22,
  reshapeOperation = 31
};

// cudnnBackendAttributeName_t.
enum Attribute : int {
  pointwiseKind = 0,
  pointwiseMathType = 1,
  pointwiseNanPropagation = 2,
  pointwiseAxis = 9,
  convolutionMathType = 100,
  convolutionKind = 101,
  convolutionDilations = 102,
  convolutionStrides = 103,
  convolutionPostPaddings = 104,
  convolutionPrePaddings = 105,
  convolutionSpatialDims = 106,
  heuristicMode = 200,
  heuristicGraph = 201,
  heuristicResults = 202,
  configEngine = 300,
  planHandle = 400,
  planConfig = 401,
  planWorkspaceBytes = 402,
  forwardAlpha = 700,
  forwardBeta = 701,
  forwardConvolution = 702,
  forwardFilter = 703,
  forwardInput = 704,
  forwardOutput = 705,
  dataGradientAlpha = 706,
  dataGradientBeta = 707,
  dataGradientConvolution = 708,
  dataGradientFilter = 709,
  dataGradientInput = 710,  // what is computed: dx
  dataGradientOutput = 711, // dy
  filterGradientAlpha = 712,
  filterGradientBeta = 713,
  filterGradientConvolution = 714,
  filterGradientFilter = 715, // what is computed: dw
  filterGradientInput = 716,
  filterGradientOutput = 717, // dy
  pointwiseDescription = 750,
  pointwiseX = 751,
  pointwiseB = 752,
  pointwiseY = 753,
  pointwisePredicate = 758,
  graphHandle = 800,
  graphOperations = 801,
  tensorAlignment = 900,
  tensorDataType = 901,
  tensorExtents = 902,
  tensorStrides = 903,
  tensorId = 906,
  tensorIsVirtual = 907,
  tensorIsByValue = 908,
  packIds = 1000,
  packPointers = 1001,
  packWorkspace = 1003,
  engineIndex = 1301,
  engineNumericalNote = 1303,
  matmulMathType = 1500,
  matmulA = 1520,
  matmulB = 1521,
  matmulC = 1522,
  matmulDescription = 1523,
  reductionKind = 1600,
  reductionMathType = 1601,
  reductionX = 1610,
  reductionY = 1611,
  reductionDescription = 1612,
  reshapeX = 2200,
  reshapeY = 2201
};

// cudnnBackendAttributeType_t.
enum AttributeType : int {
  typeHandle = 0,
  typeDataType = 1,
  typeBoolean = 2,
  typeInt64 = 3,
  typeFloat = 4,
  typePointer = 6,
  typeConvolutionMode = 7,
  typeHeuristicMode = 8,
  typeNanPropagation = 10,
  typeNumericalNote = 11,
  typePointwiseMode = 14,
  typeDescriptor = 15,
  typeReduceOperator = 18
};

// cudnnBackendNumericalNote_t.
enum NumericalNote : int {
  tensorCore = 0,
  downConvertInputs = 1,
  reducedPrecisionReduction = 2,
  fft = 3,
  nondeterministic = 4,
  winograd = 5,
  winogradTile4x4 = 6,
  winogradTile6x6 = 7,
  winogradTile13x13 = 8
};

#define MPC_CUDNN_FUNCTIONS(FUNCTION)                                                              \
  FUNCTION(size_t, getVersion, "cudnnGetVersion", ())                                              \
  FUNCTION(const char *, getErrorString, "cudnnGetErrorString", (int status))                      \
  FUNCTION(int, create, "cudnnCreate", (Handle * handle))                                          \
  FUNCTION(int, destroy, "cudnnDestroy", (Handle handle))                                          \
  FUNCTION(int, setStream, "cudnnSetStream", (Handle handle, Stream stream))                       \
  FUNCTION(int, createDescriptor, "cudnnBackendCreateDescriptor",                                  \
           (DescriptorType type, Descriptor * descriptor))                                         \
  FUNCTION(int, destroyDescriptor, "cudnnBackendDestroyDescriptor", (Descriptor descriptor))       \
  FUNCTION(int, finalize, "cudnnBackendFinalize", (Descriptor descriptor))                         \
  FUNCTION(int, setAttribute, "cudnnBackendSetAttribute",                                          \
           (Descriptor descriptor, Attribute name, AttributeType type, int64_t count,              \
            const void *values))                                                                   \
  FUNCTION(int, getAttribute, "cudnnBackendGetAttribute",                                          \
           (Descriptor descriptor, Attribute name, AttributeType type, int64_t room,               \
            int64_t *count, void *values))                                                         \
  FUNCTION(int, execute, "cudnnBackendExecute",                                                    \
           (Handle handle, Descriptor plan, Descriptor variantPack))

struct Api {
#define MPC_CUDNN_FIELD(result, field, symbol, parameters) result(*field) parameters;
  MPC_CUDNN_FUNCTIONS(MPC_CUDNN_FIELD)
#undef MPC_CUDNN_FIELD
};

// Null when the library is missing; `problem` then says what to do.
const Api *api(const char *&problem) noexcept;

} // namespace mpc::rt::cuda::dnn

#endif
