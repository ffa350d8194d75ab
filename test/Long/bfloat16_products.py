# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes TensorFlow's products of bfloat16 numbers the same on every CPU.

With AVX-512 TensorFlow adds the terms in float32 and rounds the sum once, as it does on GPUs. Without, it rounds on the
way: a matrix product is 4e-3 away (root mean square), an einsum over 1024 numbers 2e-2, as much as the tolerances of whole
models. Where a product shows that, the operations are replaced by those of float32 with the result, and in training the
gradients, rounded to bfloat16.
"""

import functools

import numpy
import tensorflow as tf

OPERATIONS = [(tf, "matmul"), (tf, "einsum"), (tf, "tensordot"), (tf.nn, "convolution"), (tf.nn, "depthwise_conv2d"), (tf.nn, "conv_transpose")]


def with_float32_sums(operation):
    def widened(value):
        if isinstance(value, (list, tuple)):
            return type(value)(widened(element) for element in value)
        return tf.cast(value, tf.float32) if getattr(value, "dtype", None) == tf.bfloat16 else value

    @functools.wraps(operation)
    def call(*operands, **options):
        every = tf.nest.flatten([operands, options])
        tensors = [value for value in every if getattr(value, "dtype", None) == tf.bfloat16]
        if not tensors:
            return operation(*operands, **options)
        result = operation(*map(widened, operands), **{name: widened(value) for name, value in options.items()})
        return tf.cast(result, tf.bfloat16)

    return call


def rounds_once():
    """Whether this TensorFlow, on this CPU, rounds only the sums."""
    numbers = numpy.random.RandomState(0)
    left, right = (tf.cast(numbers.randn(64, 64), tf.bfloat16) for _ in range(2))
    once = tf.cast(tf.matmul(tf.cast(left, tf.float32), tf.cast(right, tf.float32)), tf.bfloat16)
    # Another order of float32's sums moves a few of the 4096 to the neighbour.
    return all(numpy.count_nonzero((product != once).numpy()) < 40 for product in (tf.matmul(left, right), tf.einsum("ab,bc->ac", left, right)))


def round_once():
    """Replaces the operations if they do not; called before models are made."""
    if rounds_once():
        return
    for module, name in OPERATIONS:
        setattr(module, name, with_float32_sums(getattr(module, name)))
    assert rounds_once()
    print("TensorFlow's products of bfloat16 are summed in float32, as with AVX-512")
