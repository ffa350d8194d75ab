// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each optimizer's defaults are Keras's; objects in JSON files set the rest.
// RUN: rm -rf %t && mkdir -p %t
// RUN: mpcc %s --loss=mse --optimizer=sgd --compile-to=import | FileCheck %s --check-prefix=SGD
// SGD: mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.000000e+00 : f64, nesterov = false>) {learning_rate = 1.000000e-02 : f64}
// RUN: mpcc %s --loss=mse --optimizer=rmsprop --compile-to=import | FileCheck %s --check-prefix=RMSPROP
// RMSPROP: mpc.optimizer "rm_sprop" rule(#mpc.rmsprop<rho = 9.000000e-01 : f64, momentum = 0.000000e+00 : f64, epsilon = 9.99{{[0-9]*}}E-8 : f64, centered = false>) {learning_rate = 1.000000e-03 : f64}
// RUN: mpcc %s --loss=mse --optimizer=adam --learning-rate=0.25 --compile-to=import | FileCheck %s --check-prefix=ADAM
// ADAM: mpc.optimizer "adam" rule(#mpc.adam<beta_1 = 9.000000e-01 : f64, beta_2 = 0.99{{[0-9]*}} : f64, epsilon = 9.99{{[0-9]*}}E-8 : f64, amsgrad = false>) {learning_rate = 2.500000e-01 : f64}

// RUN: echo '{"module": "keras.optimizers", "class_name": "SGD", "config": {"name": "slow", "learning_rate": 0.5, "momentum": 0.75, "nesterov": true, "clipnorm": 2.0, "weight_decay": 0.125, "use_ema": true, "ema_momentum": 0.5, "ema_overwrite_frequency": 4, "gradient_accumulation_steps": 3, "loss_scale_factor": 64.0}, "registered_name": null}' > %t/all.json
// RUN: mpcc %s --loss=mse --optimizer=%t/all.json --compile-to=import | FileCheck %s --check-prefix=ALL
// ALL: mpc.optimizer "slow" rule(#mpc.sgd<momentum = 7.500000e-01 : f64, nesterov = true>)
// ALL-SAME: accumulation_steps = 3 : i64
// ALL-SAME: clipnorm = 2.000000e+00 : f64
// ALL-SAME: ema_momentum = 5.000000e-01 : f64
// ALL-SAME: ema_overwrite_frequency = 4 : i64
// ALL-SAME: learning_rate = 5.000000e-01 : f64
// ALL-SAME: static_scale = 6.400000e+01 : f64
// ALL-SAME: weight_decay = 1.250000e-01 : f64

// RUN: echo '{"class_name": "Adam", "config": {"learning_rate": {"class_name": "ExponentialDecay", "config": {"initial_learning_rate": 0.5, "decay_steps": 10, "decay_rate": 0.25, "staircase": true}}}}' > %t/schedule.json
// RUN: mpcc %s --loss=mse --optimizer=%t/schedule.json --compile-to=import | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: mpc.optimizer "adam" {{.*}}schedule = {class_name = "ExponentialDecay", decay_rate = 2.500000e-01 : f64, decay_steps = 10 : i64, initial_learning_rate = 5.000000e-01 : f64, staircase = true}
// RUN: echo '{"class_name": "Adam", "config": {"learning_rate": {"class_name": "MyDecay", "config": {}}}}' > %t/mine.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/mine.json --compile-to=import | FileCheck %s --check-prefix=MINE
// MINE: error: {{.*}}/mine.json: learning rate schedule 'MyDecay' is not supported; use a number or one of CosineDecay, CosineDecayRestarts, ExponentialDecay,
// RUN: echo '{"class_name": "Adam", "config": {"learning_rate": {"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.5, "decay_steps": 0}}}}' > %t/still.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/still.json --compile-to=import | FileCheck %s --check-prefix=STILL
// STILL: error: {{.*}}/still.json: learning rate schedule CosineDecay needs decay_steps > 0

// What would make the first step NaN is refused; rates below 0 ascend, as in Keras.
// RUN: mpcc %s --loss=mse --optimizer=sgd --learning-rate=-0.5 --compile-to=import | FileCheck %s --check-prefix=ASCENT
// ASCENT: {learning_rate = -5.000000e-01 : f64}
// RUN: echo '{"class_name": "Adam"}' > %t/bare.json
// RUN: mpcc %s --loss=mse --optimizer=%t/bare.json --learning-rate=0.5 --compile-to=import | FileCheck %s --check-prefix=BARE
// BARE: {learning_rate = 5.000000e-01 : f64}
// RUN: echo '{"class_name": "Adam", "config": {"learning_rate": NaN, "epsilon": Infinity}}' > %t/nan.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/nan.json --compile-to=import | FileCheck %s --check-prefix=NAN
// NAN: error: {{.*}}/nan.json: optimizer 'Adam' needs finite numbers as epsilon, learning_rate
// RUN: echo '{"class_name": "Adam", "config": {"learning_rate": "0.1"}}' > %t/text.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/text.json --compile-to=import | FileCheck %s --check-prefix=TEXT
// TEXT: error: {{.*}}/text.json: optimizer 'Adam' needs a number or a schedule as learning_rate
// Numbers as text, lists or truth values do not become defaults.
// RUN: echo '{"class_name": "ScheduleFreeAdamW", "config": {"warmup_steps": "ten", "beta_1": [0.9]}}' > %t/ten.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/ten.json --compile-to=import | FileCheck %s --check-prefix=TEN
// TEN: error: {{.*}}/ten.json: optimizer 'ScheduleFreeAdamW' needs one number as beta_1, warmup_steps
// RUN: echo '{"class_name": "SGD", "config": {"nesterov": "yes"}}' > %t/yes.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/yes.json --compile-to=import | FileCheck %s --check-prefix=YES
// YES: error: {{.*}}/yes.json: optimizer 'SGD' needs true or false as nesterov
// RUN: echo '{"class_name": "SGD", "config": {"momentum": 0.5, "nesterov": 1, "use_ema": null}}' > %t/truth.json
// RUN: mpcc %s --loss=mse --optimizer=%t/truth.json --compile-to=import | FileCheck %s --check-prefix=TRUTH
// TRUTH: rule(#mpc.sgd<momentum = 5.000000e-01 : f64, nesterov = true>)
// RUN: echo '{"class_name": "Adafactor", "config": {"relative_step": true}}' > %t/relative.json
// RUN: mpcc %s --loss=mse --optimizer=%t/relative.json --compile-to=import | FileCheck %s --check-prefix=RELATIVE
// RELATIVE: rule(#mpc.adafactor<
// RUN: echo '{"class_name": "Adam", "config": {"learning_rate": {"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.5, "decay_steps": 10, "alpha": "low"}}}}' > %t/low.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/low.json --compile-to=import | FileCheck %s --check-prefix=LOW
// LOW: error: {{.*}}/low.json: learning rate schedule CosineDecay needs one number as alpha
// RUN: echo '{"class_name": "LossScaleOptimizer", "config": {"initial_scale": "16", "inner_optimizer": {"class_name": "SGD", "config": {}}}}' > %t/scaletext.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/scaletext.json --compile-to=import | FileCheck %s --check-prefix=SCALETEXT
// SCALETEXT: error: {{.*}}/scaletext.json: LossScaleOptimizer needs one number as initial_scale
// RUN: echo '{"class_name": "Adam", "config": {"loss_scale_factor": 0}}' > %t/factor.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/factor.json --compile-to=import | FileCheck %s --check-prefix=FACTOR
// FACTOR: error: {{.*}}/factor.json: optimizer 'Adam' needs loss_scale_factor > 0
// RUN: echo '{"class_name": "Adam", "config": {"gradient_accumulation_steps": 1e30}}' > %t/many.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/many.json --compile-to=import | FileCheck %s --check-prefix=MANY
// MANY: error: {{.*}}/many.json: optimizer 'Adam' needs gradient_accumulation_steps >= 2
// RUN: echo '{"class_name": "Adam", "config": {"learning_rate": {"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.5, "decay_steps": 10, "alpha": NaN}}}}' > %t/alpha.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/alpha.json --compile-to=import | FileCheck %s --check-prefix=ALPHA
// ALPHA: error: {{.*}}/alpha.json: learning rate schedule CosineDecay needs finite numbers as alpha
// RUN: echo '{"class_name": "LossScaleOptimizer", "config": {"initial_scale": 0, "inner_optimizer": {"class_name": "SGD", "config": {}}}}' > %t/zero.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/zero.json --compile-to=import | FileCheck %s --check-prefix=ZERO
// ZERO: error: {{.*}}/zero.json: LossScaleOptimizer needs an initial_scale > 0, got 0
// RUN: echo '{"class_name": "LossScaleOptimizer", "config": {"dynamic_growth_steps": 1e30, "inner_optimizer": {"class_name": "SGD", "config": {}}}}' > %t/growth.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/growth.json --compile-to=import | FileCheck %s --check-prefix=GROWTH
// GROWTH: error: {{.*}}/growth.json: LossScaleOptimizer needs a whole dynamic_growth_steps
// RUN: %python -c "print('[' * 1000000)" > %t/deep.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/deep.json --compile-to=import | FileCheck %s --check-prefix=DEEP
// DEEP: error: {{.*}}deep.json: {{.*}}deep{{.*}}; expected a Keras-serialised object for --optimizer

// The other optimizers, with Keras's defaults.
// RUN: mpcc %s --loss=mse --optimizer=AdamW --compile-to=import | FileCheck %s --check-prefix=ADAMW
// ADAMW: mpc.optimizer "adam_w" rule(#mpc.adam<{{.*}}weight_decay = 4.000000e-03 : f64}
// RUN: mpcc %s --loss=mse --optimizer=Adagrad --compile-to=import | FileCheck %s --check-prefix=ADAGRAD
// ADAGRAD: rule(#mpc.adagrad<initial_accumulator_value = 1.000000e-01 : f64
// RUN: mpcc %s --loss=mse --optimizer=Ftrl --compile-to=import | FileCheck %s --check-prefix=FTRL
// FTRL: rule(#mpc.ftrl<learning_rate_power = -5.000000e-01 : f64, initial_accumulator_value = 1.000000e-01 : f64
// RUN: mpcc %s --loss=mse --optimizer=Muon --compile-to=import | FileCheck %s --check-prefix=MUON
// MUON: rule(#mpc.muon<{{.*}}ns_steps = 5{{.*}}rms_rate = 2.000000e-01 : f64{{.*}}weight_decay = 4.000000e-03 : f64}
// RUN: mpcc %s --loss=mse --optimizer=ScheduleFreeAdamW --compile-to=import | FileCheck %s --check-prefix=FREE
// FREE: mpc.optimizer "schedule_free_adam_w" rule(#mpc.schedule_free_adamw<beta_1 = 9.000000e-01 : f64, beta_2 = {{0.99[0-9]*}} : f64, epsilon = 1.000000e-08 : f64, warmup_steps = 0.000000e+00 : f64>) {learning_rate = 2.500000e-03 : f64}
// Patterns become the variables that they find.
// RUN: echo '{"class_name": "Muon", "config": {"exclude_layers": ["^dense"], "weight_decay": null, "rms_rate": null, "exclude_from_weight_decay": ["ker.el"]}}' > %t/muon.json
// RUN: mpcc %s --loss=mse --optimizer=%t/muon.json --compile-to=import | FileCheck %s --check-prefix=EXCLUDED
// EXCLUDED: excluded = ["dense/kernel"]
// EXCLUDED-SAME: undecayed = [@"dense/kernel"]}

// What Keras refuses.
// RUN: echo '{"class_name": "SGD", "config": {"clipnorm": 1.0, "clipvalue": 1.0}}' > %t/clips.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/clips.json --compile-to=import | FileCheck %s --check-prefix=CLIPS
// CLIPS: error: {{.*}}/clips.json: optimizer 'SGD' has more than one of clipnorm, clipvalue and global_clipnorm
// RUN: echo '{"class_name": "Adam", "config": {"learning_rat": 0.5, "beta1": 0.1}}' > %t/rat.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/rat.json --compile-to=import | FileCheck %s --check-prefix=RAT
// RAT: error: {{.*}}/rat.json: optimizer 'Adam' has no argument beta1, learning_rat
// RUN: echo '{"class_name": "SGD", "config": {"momentum": 1.5}}' > %t/momentum.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/momentum.json --compile-to=import | FileCheck %s --check-prefix=MOMENTUM
// MOMENTUM: error: {{.*}}/momentum.json: optimizer 'SGD' needs momentum in [0, 1]
// RUN: echo '{"class_name": "SGD", "config": {"gradient_accumulation_steps": 1}}' > %t/one.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/one.json --compile-to=import | FileCheck %s --check-prefix=ONE
// ONE: error: {{.*}}/one.json: optimizer 'SGD' needs gradient_accumulation_steps >= 2
// RUN: echo '{"class_name": "AdamW", "config": {"weight_decay": null}}' > %t/decay.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/decay.json --compile-to=import | FileCheck %s --check-prefix=DECAY
// DECAY: error: {{.*}}/decay.json: optimizer 'AdamW' needs a number as weight_decay
// RUN: echo '{"class_name": "Lion", "config": {"beta_1": 0}}' > %t/lion.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/lion.json --compile-to=import | FileCheck %s --check-prefix=LION
// LION: error: {{.*}}/lion.json: optimizer 'Lion' needs 0 < beta_1 <= 1
// RUN: echo '{"class_name": "ScheduleFreeAdamW", "config": {"beta_1": 0}}' > %t/free.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/free.json --compile-to=import | FileCheck %s --check-prefix=AVERAGE
// AVERAGE: error: {{.*}}/free.json: optimizer 'ScheduleFreeAdamW' needs beta_1 > 0, by which it divides

// A LossScaleOptimizer brings mpc.loss_scale; --loss-scale replaces or removes it; --learning-rate
// reaches the optimizer inside.
// RUN: echo '{"class_name": "LossScaleOptimizer", "config": {"initial_scale": 16.0, "dynamic_growth_steps": 5, "inner_optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.5}}}}' > %t/scaled.json
// RUN: mpcc %s --loss=mse --optimizer=%t/scaled.json --learning-rate=0.125 --compile-to=policy | FileCheck %s --check-prefix=SCALED
// SCALED-DAG: mpc.loss_scale initial(1.600000e+01) {growth_steps = 5 : i64}
// SCALED-DAG: mpc.optimizer "sgd" {{.*}}{learning_rate = 1.250000e-01 : f64}
// RUN: mpcc %s --loss=mse --optimizer=%t/scaled.json --loss-scale=none --compile-to=policy | FileCheck %s --check-prefix=UNSCALED
// UNSCALED-NOT: mpc.loss_scale
// UNSCALED: mpc.optimizer "sgd"
// RUN: mpcc %s --loss=mse --optimizer=%t/scaled.json --loss-scale=fixed:128 --compile-to=policy | FileCheck %s --check-prefix=FIXED
// FIXED: mpc.loss_scale initial(1.280000e+02)
// FIXED-NOT: mpc.loss_scale
// RUN: mpcc %s --loss=mse --optimizer=sgd --loss-scale=dynamic:8:3:1:64 --compile-to=policy | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: mpc.loss_scale initial(8.000000e+00) {growth_steps = 3 : i64, maximum = 6.400000e+01 : f64, minimum = 1.000000e+00 : f64}
// RUN: mpcc %s --loss=mse --optimizer=sgd --policy=mixed_float16 --compile-to=policy | FileCheck %s --check-prefix=AUTO
// AUTO: mpc.loss_scale initial(3.276800e+04) {growth_steps = 2000 : i64}
// RUN: mpcc %s --loss=mse --optimizer=sgd --policy=float16 --compile-to=policy 2>&1 | FileCheck %s --check-prefix=PURE --implicit-check-not="mpc.loss_scale"
// PURE: warning: {{.*}}optimizers.mlir: pure float16 trains without loss scaling, as in Keras: small gradients become 0
// Classes of Keras that mpc does not have are refused by their own names.
// RUN: echo '{"module": "keras.optimizers", "class_name": "MultiOptimizer", "config": {"optimizer_map": [[{"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.1}}, []]], "name": "multi_optimizer"}}' > %t/multi.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/multi.json --compile-to=import | FileCheck %s --check-prefix=MULTI
// MULTI: error: {{.*}}/multi.json: optimizer 'MultiOptimizer' is not supported; use one of adadelta, {{.*}}; --optimizer names another one than the file's

// RUN: echo '{"class_name": "LossScaleOptimizer", "config": {}}' > %t/empty.json
// RUN: %exits 1 mpcc %s --loss=mse --optimizer=%t/empty.json --compile-to=import | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: {{.*}}/empty.json: LossScaleOptimizer has no inner_optimizer

mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w) : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x4xf32>):
    %0 = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}
