// RUN: mpc-opt %s --convert-mpcrt-to-llvm --split-input-file --verify-diagnostics
// expected-error @+1 {{@predict is an entry (mpc.entry) and does not say how large its arena is; expected the integer mpcrt.arena_fixed}}
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %b: index {mpcrt.batch}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  return
}
// -----
// expected-error @+1 {{and must have one argument mpcrt.batch and one mpcrt.arena}}
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %b: index {mpcrt.batch}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  return
}
