// An op that the phase kernels never makes, and code generation does not know.
func.func @stray(%count: index) {
  scf.forall (%i) in (%count) {
  }
  return
}
