// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every op of the mpc dialect, by family.
include "dialects/mpc/IR/MpcElementwiseOps.td"
include "dialects/mpc/IR/MpcTensorOps.td"
include "dialects/mpc/IR/MpcScanOps.td"
include "dialects/mpc/IR/MpcWindowOps.td"
include "dialects/mpc/IR/MpcAttentionOps.td"
include "dialects/mpc/IR/MpcIndexingOps.td"
include "dialects/mpc/IR/MpcNormalizationOps.td"
include "dialects/mpc/IR/MpcQuantizationOps.td"
include "dialects/mpc/IR/MpcContextOps.td"
include "dialects/mpc/IR/MpcStructureOps.td"
include "dialects/mpc/IR/MpcTraceOps.td"
include "dialects/mpc/IR/MpcTrainingOps.td"
