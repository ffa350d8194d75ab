// The machine code of a library with tanh and softmax, per level: vectors as wide as the level has,
// and nothing from libm.
// RUN: rm -rf %t && mpcc --compile-from=fusion %s --name=m -o %t
// RUN: llvm-nm -D --undefined-only %t/libm.so | FileCheck %s --check-prefix=SYMBOLS
// RUN: llvm-objdump -d --no-show-raw-insn %t/libm.so | FileCheck %s

// SYMBOLS-NOT: {{expf|tanhf}}

// tanh and softmax are one kernel: divisions are vectors, x log2(e) rounds to n, which becomes an
// exponent, and nothing but the zeros of a block's sums is a call; v2 has no instruction that multiplies and adds, nor
// calls a function that does.
// CHECK-LABEL: <kernel_predict.v2>:
// CHECK-NOT: call{{q?}} {{.*}}<{{(exp|tanh|log|fma)}}
// CHECK: divps {{.*}}%xmm
// CHECK: pslld $0x17, %xmm
// CHECK-LABEL: <kernel_predict.v3>:
// CHECK: vfmadd{{.*}}ps {{.*}}%ymm
// CHECK: vdivps {{.*}}%ymm
// CHECK: vpslld $0x17, %ymm
// The largest value of a row is found in vectors, too.
// The version for CPUs with AVX512-BF16 is the same code by another name.
// CHECK-LABEL: <kernel_predict.v4{{(.bf16)?}}>:
// CHECK: vfmadd{{.*}}ps {{.*}}%zmm
// CHECK: vdivps {{.*}}%zmm
// CHECK: vmaxps {{.*}}%zmm
// CHECK: vpslld $0x17, %zmm
// CHECK-LABEL: <mpc_rt_executable_query>:
func.func @predict(%x: tensor<?x64xf32> {mpc.input = "x"}) -> (tensor<?x64xf32> {mpc.output = "out0"}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  %0 = mpc.tanh %x : tensor<?x64xf32>
  %1 = mpc.softmax %0 {axis = 1 : i64} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
