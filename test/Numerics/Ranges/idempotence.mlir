// RUN: mpc-opt %S/Inputs/small.mlir -o %t.plain
// RUN: mpc-opt %S/Inputs/small.mlir --mpc-analyze-ranges --mpc-analyze-ranges -o %t.twice 2> %t.remarks
// RUN: cmp %t.plain %t.twice
// RUN: mpc-opt %S/Inputs/small.mlir --mpc-analyze-ranges=certificate=%t.1 -o /dev/null
// RUN: mpc-opt %S/Inputs/small.mlir --mpc-analyze-ranges=certificate=%t.2 -o /dev/null
// RUN: cmp %t.1 %t.2
// The IR stays as it is, and the same IR gives the same certificate.
