// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The patterns of convert-mpc-to-linalg, one function per family of ops.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_PATTERNS_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_PATTERNS_H

#include "mlir/Transforms/DialectConversion.h"

namespace mpc {

void populateAttentionPatterns(const mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns);
void populateCastPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateContextPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
void populateContractPatterns(const mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns, bool shortProducts,
                              bool turnedOperands);
void populateConvolutionPatterns(const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);
void populateElementwisePatterns(const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns);
void populateFiniteTestPatterns(const mlir::TypeConverter &converter,
                                mlir::RewritePatternSet &patterns, bool byProducts);
void populateIndexingPatterns(const mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
void populateMovementPatterns(const mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
void populateNormalizationPatterns(const mlir::TypeConverter &converter,
                                   mlir::RewritePatternSet &patterns);
void populateOptimizerStepPatterns(const mlir::TypeConverter &converter,
                                   mlir::RewritePatternSet &patterns);
void populatePoolPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateQuantizationPatterns(const mlir::TypeConverter &converter,
                                  mlir::RewritePatternSet &patterns);
void populateRandomPatterns(const mlir::TypeConverter &converter,
                            mlir::RewritePatternSet &patterns);
void populateReducePatterns(const mlir::TypeConverter &converter,
                            mlir::RewritePatternSet &patterns);
void populateResamplePatterns(const mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
void populateScanPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateSelectionPatterns(const mlir::TypeConverter &converter,
                               mlir::RewritePatternSet &patterns);
void populateSoftmaxPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
void populateTrainingPatterns(const mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCTOLINALG_PATTERNS_H
