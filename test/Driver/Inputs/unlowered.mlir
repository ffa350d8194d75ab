// An op that the phase kernels never makes, and code generation does not know.
func.func @stray(%values: vector<4xf32>, %start: f32) -> f32 {
  %sum = vector.multi_reduction <add>, %values, %start [0] : vector<4xf32> to f32
  return %sum : f32
}
